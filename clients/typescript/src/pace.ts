/** Pace of requests that makes the rest of a quota last until it is renewed. */
import { combined, type HeaderPairs } from './advice/fields.ts';
import { parseList } from './advice/list.ts';

/** Requests are paced when less than one part in this many is left of a quota. */
const PACED_PART = 10;

/** Interval between requests, as the `RateLimit` of a response suggests it. */
export interface Interval {
  readonly intervalMs: number;
  /** Time until the quota is renewed and the interval loses its meaning. */
  readonly windowMs: number;
}

/**
 * Longest interval of the limits that are nearly used up: `t / (r + 1)` for a limit with `r` of its
 * quota left for `t` seconds. The quota is in `RateLimit-Policy`, under the same name.
 */
export function paceInterval(headers: HeaderPairs): Interval | undefined {
  const limits = parseList(combined(headers, 'ratelimit') ?? '') ?? [];
  const policies = parseList(combined(headers, 'ratelimit-policy') ?? '') ?? [];
  const quotas = new Map<string, number>();
  for (const { name, integers } of policies) {
    // The first of equal names counts.
    if (!quotas.has(name)) quotas.set(name, integers.get('q') ?? 0);
  }
  let longest: Interval | undefined;
  for (const { name, integers } of limits) {
    const left = integers.get('r') ?? -1;
    const windowMs = (integers.get('t') ?? -1) * 1_000;
    const isPaced = left >= 0 && windowMs >= 0 && left * PACED_PART < (quotas.get(name) ?? 0);
    const intervalMs = Math.floor(windowMs / (left + 1));
    if (isPaced && intervalMs >= (longest?.intervalMs ?? 0)) longest = { intervalMs, windowMs };
  }
  return longest;
}
