/** Retries for ky, by its own options and hooks. */
import { originOf, RetryPolicy, type ResponseHead, type RetryOptions } from './retry.ts';

/** Methods that are retried, in the spelling of ky. The policy knows which of them after a 503. */
const METHODS = ['get', 'head', 'options', 'trace', 'query', 'put', 'delete', 'post', 'patch'];

interface KyRequest {
  readonly url: string;
  readonly method: string;
  readonly signal: AbortSignal;
}

/** Options for `ky.create` and `ky.extend`. */
export interface KyOptions {
  retry: {
    limit: number;
    methods: string[];
    delay: () => number;
    shouldRetry: (state: { error: Error; retryCount: number }) => Promise<boolean>;
  };
  hooks: {
    beforeRequest: ((state: { request: KyRequest }) => Promise<void>)[];
    afterResponse: ((state: { request: KyRequest; response: ResponseHead }) => void)[];
  };
}

/**
 * Options for ky: refused requests are sent again, after the delay that the server demands and
 * jitter. Other errors are not retried.
 *
 * ky copies bodies before it sends them, so that those of streams can be sent again too.
 */
export function kyOptions(options: RetryOptions = {}): KyOptions {
  const policy = new RetryPolicy(options);
  return {
    retry: {
      limit: policy.settings.maxAttempts - 1,
      methods: METHODS,
      // The wait is over before ky asks for its delay.
      delay: () => 0,
      shouldRetry: async ({ error, retryCount }) => {
        const { request, response } = error as { request?: KyRequest; response?: ResponseHead };
        if (request === undefined || response === undefined) return false;
        const origin = originOf(request.url);
        const attempt = { method: request.method, replayable: true, attempt: retryCount - 1 };
        const next = policy.next(origin, response, attempt);
        if (next.stop) return false;
        await next.ready(request.signal);
        return true;
      },
    },
    hooks: {
      beforeRequest: [async ({ request }) => {
        const origin = originOf(request.url);
        policy.start(origin);
        await policy.ready(origin, request.signal);
      }],
      afterResponse: [({ request, response }) => policy.observe(originOf(request.url), response)],
    },
  };
}
