/** HTTP dates in the three forms of RFC 9110. `Date.parse` accepts far more. */

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const WEEK = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const SHORT_WEEK = WEEK.map((name) => name.slice(0, 3));

/** Names of days, in both lengths. */
export const DAYS: ReadonlySet<string> = new Set([...WEEK, ...SHORT_WEEK]);

const [DAY, SHORT_DAY, MONTH] = [WEEK, SHORT_WEEK, MONTHS].map((names) => names.join('|'));
const TIME = '(?<hour>[01][0-9]|2[0-3]):(?<minute>[0-5][0-9]):(?<second>[0-5][0-9])';
const FORMS = [
  // Wed, 18 Nov 2026 15:00:30 GMT
  `(?<name>${SHORT_DAY}), (?<day>[0-9]{2}) (?<month>${MONTH}) (?<year>[0-9]{4}) ${TIME} GMT`,
  // Wednesday, 18-Nov-26 15:00:30 GMT
  `(?<name>${DAY}), (?<day>[0-9]{2})-(?<month>${MONTH})-(?<year>[0-9]{2}) ${TIME} GMT`,
  // Wed Nov 18 15:00:30 2026
  `(?<name>${SHORT_DAY}) (?<month>${MONTH}) (?<day>[ 0-9][0-9]) ${TIME} (?<year>[0-9]{4})`,
].map((form) => new RegExp(`^${form}$`));

/**
 * HTTP date in Unix milliseconds. `undefined` if it has another form, does not exist, or is before
 * 1970.
 */
export function dateMs(text: string): number | undefined {
  for (const form of FORMS) {
    const parts = form.exec(text)?.groups;
    if (parts !== undefined) return existingMs(parts);
  }
  return undefined;
}

function existingMs({ name = '', day, month = '', year = '', hour, minute, second }: Record<string, string>) {
  const date = new Date(0);
  // `Date.UTC` takes the years 0 to 99 for those of the 20th century.
  date.setUTCFullYear(fullYear(year), MONTHS.indexOf(month), Number(day));
  const isCalendarDay = date.getUTCDate() === Number(day) && WEEK[date.getUTCDay()]?.startsWith(name);
  const timeMs = date.setUTCHours(Number(hour), Number(minute), Number(second));
  return isCalendarDay && timeMs >= 0 ? timeMs : undefined;
}

/** Year of four digits. Years of two digits are those from 1970 to 2069. */
function fullYear(year: string): number {
  if (year.length === 4) return Number(year);
  return Number(year) + (Number(year) < 70 ? 2_000 : 1_900);
}
