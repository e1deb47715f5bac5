/**
 * Delay that a server demands, read from the headers of a response. Whatever cannot be read is
 * ignored.
 */
import { DAYS, dateMs } from './date.ts';
import { combined, trim, type HeaderPairs } from './fields.ts';
import { parseList } from './list.ts';

/** Resets above this number of seconds are times, not delays: 32 years, or the year 2001. */
const MAX_RESET_DELAY_S = 1_000_000_000;

/** Response, as far as a delay depends on it, and the time at which it arrived. */
interface Arrival {
  readonly status: number;
  readonly headers: HeaderPairs;
  readonly nowMs: number;
}

/** Delay after a refusal. `undefined` after a 503 without `Retry-After`. */
export function demandMs({ status, headers, nowMs }: Arrival): number | undefined {
  const retryAfterMs = longest(members(combined(headers, 'retry-after')), (member) => (
    secondsMs(member) ?? untilMs(dateMs(member), nowMs)
  ));
  if (status === 503) return retryAfterMs;
  return retryAfterMs ?? rateLimitMs(headers) ?? resetMs(headers, nowMs) ?? 0;
}

/** Longest `t` of the items of `RateLimit` that have no quota left. */
function rateLimitMs(headers: HeaderPairs): number | undefined {
  const items = parseList(combined(headers, 'ratelimit') ?? '') ?? [];
  return longest(items, ({ integers }) => {
    const seconds = integers.get('t');
    const isUsable = integers.get('r') === 0 && seconds !== undefined && seconds >= 0;
    return isUsable ? seconds * 1_000 : undefined;
  });
}

/** Latest reset, by either name: a delay, or a time if the number is too large for a delay. */
function resetMs(headers: HeaderPairs, nowMs: number): number | undefined {
  const names = ['ratelimit-reset', 'x-ratelimit-reset'];
  return longest(names.flatMap((name) => members(combined(headers, name))), (member) => {
    const ms = secondsMs(member);
    return ms !== undefined && ms > MAX_RESET_DELAY_S * 1_000 ? untilMs(ms, nowMs) : ms;
  });
}

/** Longest delay of those that have one. */
function longest<T>(values: readonly T[], delayMs: (value: T) => number | undefined): number | undefined {
  let longestMs: number | undefined;
  for (const value of values) {
    const ms = delayMs(value);
    if (ms !== undefined && (longestMs === undefined || ms > longestMs)) longestMs = ms;
  }
  return longestMs;
}

/** Members of a value, separated by commas. The comma after the day of a date separates nothing. */
function members(value: string | undefined): string[] {
  const found: string[] = [];
  let day: string | undefined;
  for (const part of value?.split(',') ?? []) {
    const text: string = day === undefined ? part : `${day},${part}`;
    day = day === undefined && DAYS.has(trim(part)) ? part : undefined;
    if (day === undefined) found.push(trim(text));
  }
  return found;
}

/** Digits as a number of seconds, in milliseconds. Too many of them are infinitely many. */
function secondsMs(text: string): number | undefined {
  return /^[0-9]+$/.test(text) ? Number(text) * 1_000 : undefined;
}

function untilMs(timeMs: number | undefined, nowMs: number): number | undefined {
  return timeMs === undefined ? undefined : Math.max(timeMs - nowMs, 0);
}
