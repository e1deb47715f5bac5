/**
 * Advice after a response: wait, then send the request again, or stop.
 *
 * The rules are in `vectors/README.md`, with a file of vectors that implementations in other
 * languages share.
 */
import { demandMs } from './advice/delay.ts';
import type { HeaderPairs } from './advice/fields.ts';

/** Bound of the jitter, however many refusals came before. */
const MAX_JITTER_MS = 60_000;
/** Least base of the jitter: a server that demands no delay, or a short one, has clients too. */
const MIN_JITTER_MS = 1_000;
const IDEMPOTENT_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY', 'PUT', 'DELETE']);

/** Settings of {@link advice}. */
export interface RetrySettings {
  /**
   * Longest delay that a server may demand, 60 s by default. A longer one is a reason to stop: the
   * caller of the client has given up by then. Jitter comes on top.
   */
  readonly maxWaitMs: number;
  /** Number of times that a request is sent, the first one included. 5 by default. */
  readonly maxAttempts: number;
}

export const DEFAULT_SETTINGS: RetrySettings = { maxWaitMs: 60_000, maxAttempts: 5 };

/** Request and its response, as far as the advice depends on them. */
export interface Exchange {
  /** Status of the response. */
  readonly status: number;
  /** Headers of the response: a `Headers` object, or pairs of name and value. Names may repeat. */
  readonly headers: HeaderPairs;
  /** Method of the request. It has a case: `GET`, not `get`. */
  readonly method: string;
  /** Whether the request, with its body, can be sent again. */
  readonly replayable: boolean;
  /** Number of refusals in a row before this response: 0 after the first attempt. */
  readonly attempt: number;
  /** Time at which the response arrived, in Unix milliseconds. */
  readonly nowMs: number;
}

/** Reason not to send a request again. */
export type StopReason =
  /** The status is neither 429 nor 503. */
  | 'not_refused'
  /** The body cannot be sent again. */
  | 'not_replayable'
  /** The server is unavailable (503), and the method is not idempotent. */
  | 'not_idempotent'
  /** The server is unavailable (503) and does not say for how long. */
  | 'no_retry_after'
  /** The request was sent `maxAttempts` times. */
  | 'attempts_exhausted'
  /** The server demands a delay above `maxWaitMs`. */
  | 'wait_too_long'
  /** The origin had as many retries as its budget allows. Never a result of {@link advice}. */
  | 'budget_exhausted';

/** Wait before the next attempt: a delay and a random part of the jitter. */
export interface Backoff {
  /** Delay that the server demands; 0 if it demands none. No wait is shorter. */
  readonly delayMs: number;
  /** Largest jitter: that of a wait is a whole number from 0 to this, all equally likely. */
  readonly jitterMs: number;
  readonly stop?: never;
}

/** Advice not to send the request again. */
export interface Stop {
  readonly stop: StopReason;
}

/** Advice after a response. */
export type Advice = Backoff | Stop;

/** Advice after a response: how long to wait before the request is sent again, or why not to. */
export function advice(exchange: Exchange, settings: Partial<RetrySettings> = {}): Advice {
  const { maxWaitMs, maxAttempts } = { ...DEFAULT_SETTINGS, ...settings };
  const { status, headers, method, replayable, attempt, nowMs } = exchange;
  if (!isRefusal(status)) return { stop: 'not_refused' };
  if (!replayable) return { stop: 'not_replayable' };
  if (status === 503 && !isIdempotent(method)) return { stop: 'not_idempotent' };
  const delayMs = demandMs({ status, headers, nowMs });
  if (delayMs === undefined) return { stop: 'no_retry_after' };
  if (attempt + 1 >= maxAttempts) return { stop: 'attempts_exhausted' };
  if (delayMs > maxWaitMs) return { stop: 'wait_too_long' };
  return backoff(delayMs, attempt);
}

/** Backoff after a delay and a number of refusals before it. */
export function backoff(delayMs: number, attempt: number): Backoff {
  const jitterMs = Math.min(Math.max(delayMs, MIN_JITTER_MS) * 2 ** attempt, MAX_JITTER_MS);
  return { delayMs, jitterMs };
}

/** Wait with the jitter that follows from a random number, from 0 to below 1. */
export function waitMs({ delayMs, jitterMs }: Backoff, random: number): number {
  return delayMs + Math.floor(random * (jitterMs + 1));
}

/** Whether a status means that the server did not process the request and may do so later. */
export function isRefusal(status: number): boolean {
  return status === 429 || status === 503;
}

function isIdempotent(method: string): boolean {
  return IDEMPOTENT_METHODS.has(method);
}
