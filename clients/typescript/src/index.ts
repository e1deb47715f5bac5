/**
 * Client side of rate limits: when to retry a refused request, for how long to wait, and when to
 * stop; and a client of the check API of Slidegate.
 */
export { advice, waitMs } from './advice.ts';
export type { Advice, Backoff, Exchange, RetrySettings, Stop, StopReason } from './advice.ts';
export type { HeaderPairs } from './advice/fields.ts';
export type { Environment } from './environment.ts';
export { stopReason, withRetry, type Fetch } from './fetch.ts';
export type { RetryOptions } from './retry.ts';
export { addAxiosRetry, type AxiosInstance } from './axios.ts';
export { CheckClient } from './check.ts';
export type {
  AllowedAnswer, BlockedAnswer, CallOptions, CheckAnswer, CheckClientOptions, CheckRequest,
  DeniedAnswer, Settlement,
} from './check.ts';
export { CheckError } from './check-error.ts';
export { kyOptions, type KyOptions } from './ky.ts';
export { pRetryOptions, type PRetryOptions, type PRetryPolicy } from './p-retry.ts';
