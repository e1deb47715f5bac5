// Text of numbers, times and keys.

const NONE = '–';
const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const TENTHS = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const MOMENT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** Number with all digits, because operators compare them. */
function count(number) {
  return number == null ? NONE : WHOLE.format(number);
}

/** Rate per second, with one decimal if it is small. */
function rate(perSecond) {
  if (perSecond == null) return NONE;
  return perSecond > 0 && perSecond < 9.95 ? TENTHS.format(perSecond) : WHOLE.format(perSecond);
}

function share(part, all) {
  return all > 0 ? `${TENTHS.format((100 * part) / all)} %` : NONE;
}

function size(bytes) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; bytes >= 1024 && unit < units.length - 1; unit += 1) bytes /= 1024;
  return `${Number.isInteger(bytes) ? count(bytes) : TENTHS.format(bytes)} ${units[unit]}`;
}

/** Duration of a decision. */
function micros(us) {
  if (us == null) return NONE;
  if (us < 1) return `${count(us * 1_000)} ns`;
  if (us < 1_000) return `${us < 10 ? TENTHS.format(us) : count(us)} µs`;
  return us < 1_000_000 ? `${TENTHS.format(us / 1_000)} ms` : `${TENTHS.format(us / 1_000_000)} s`;
}

/** Time to wait, rounded up to seconds. */
function span(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const parts = [['day', 86_400], ['h', 3_600], ['min', 60], ['s', 1]];
  const first = parts.findIndex(([, length]) => seconds >= length);
  if (first < 0) return '0 s';
  const words = [];
  let rest = seconds;
  for (const [name, length] of parts.slice(first, first + 2)) {
    const many = Math.floor(rest / length);
    rest -= many * length;
    if (many) words.push(`${many} ${name === 'day' && many > 1 ? 'days' : name}`);
  }
  return words.join(' ');
}

function clock(ms) {
  return CLOCK.format(ms);
}

function moment(ms) {
  return ms == null ? NONE : MOMENT.format(ms);
}

/** Key as on the command line: `ip=203.0.113.7 org=acme`. */
function keyText(key) {
  const parts = Object.entries(key).map(([name, value]) => (value == null ? `no ${name}` : `${name}=${value}`));
  return parts.join(' ') || 'all requests together';
}

/** Attribute of a request: for a network, its first address. */
function requestValue(name, value) {
  return name === 'ip' ? value.replace(/\/\d+$/, '') : value;
}
