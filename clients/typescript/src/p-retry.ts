/** Retries for p-retry, by its own options. */
import { headerPairs } from './advice/fields.ts';
import { originOf, RetryPolicy, type RetryOptions } from './retry.ts';

/** Options of {@link pRetryOptions}. */
export interface PRetryPolicy extends RetryOptions {
  /** Method of the requests, `GET` by default. After a 503 only idempotent ones are sent again. */
  readonly method?: string;
  /** Signal that ends waits and attempts. */
  readonly signal?: AbortSignal;
}

/** Options for p-retry. */
export interface PRetryOptions {
  retries: number;
  minTimeout: number;
  shouldRetry: (context: { error: Error; attemptNumber: number }) => Promise<boolean>;
  signal?: AbortSignal;
}

/**
 * Options for p-retry: a function whose error has the refusal as its `response` is called again,
 * after the delay that the server demands and jitter. Other errors are not retried.
 *
 * Make the options once: all calls with them share a budget. p-retry does not report successes, so
 * that the budget counts only requests that were refused.
 */
export function pRetryOptions({ method = 'GET', signal, ...options }: PRetryPolicy = {}): PRetryOptions {
  const policy = new RetryPolicy(options);
  return {
    retries: policy.settings.maxAttempts - 1,
    // The wait is over before p-retry begins its own.
    minTimeout: 0,
    ...(signal && { signal }),
    shouldRetry: async ({ error, attemptNumber }) => {
      const { response } = error as { response?: { status: number; headers: object; url?: string } };
      if (response === undefined) return false;
      const head = { status: response.status, headers: headerPairs(response.headers) };
      const origin = originOf(response.url ?? '');
      if (attemptNumber === 1) policy.start(origin);
      policy.observe(origin, head);
      const next = policy.next(origin, head, { method, replayable: true, attempt: attemptNumber - 1 });
      if (next.stop) return false;
      await next.ready(signal);
      return true;
    },
  };
}
