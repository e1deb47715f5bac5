/** `fetch` that retries refused requests. */
import type { StopReason } from './advice.ts';
import { isReplayable } from './replay.ts';
import { originOf, RetryPolicy, type RetryOptions } from './retry.ts';

/** The `fetch` of the platform, or anything that is called in the same way. */
export type Fetch = typeof globalThis.fetch;
type FetchInput = Parameters<Fetch>[0];
type FetchInit = Parameters<Fetch>[1];

const stopReasons = new WeakMap<Response, StopReason>();

/** Reason why a response of {@link withRetry} is final. */
export function stopReason(response: Response): StopReason | undefined {
  return stopReasons.get(response);
}

/**
 * `fetch` that sends refused requests again, after the delay that the server demands and jitter.
 *
 * The response is that of the last attempt, whatever its status: a 429 is never an error. A body
 * that cannot be read twice, such as a stream or that of a `Request`, is sent once. Errors of the
 * network are passed on. The signal of the request ends waits too.
 */
export function withRetry(fetch: Fetch, options: RetryOptions = {}): Fetch {
  const policy = new RetryPolicy(options);
  return async (input, init) => {
    const { origin, method, replayable, signal } = describe(input, init);
    policy.start(origin);
    await policy.ready(origin, signal);
    for (let attempt = 0; ; attempt += 1) {
      const response = await fetch(input, init);
      policy.observe(origin, response);
      const next = policy.next(origin, response, { method, replayable, attempt });
      if (next.stop) {
        stopReasons.set(response, next.stop);
        return response;
      }
      // A body that nobody reads would occupy its connection during the wait. If it is broken
      // already, that is no error of the next attempt.
      response.body?.cancel().catch(() => undefined);
      await next.ready(signal);
    }
  };
}

interface RequestDescription {
  readonly origin: string;
  readonly method: string;
  readonly replayable: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Description of a request by the arguments of `fetch`. */
function describe(input: FetchInput, init: FetchInit): RequestDescription {
  const request = typeof input === 'object' && 'method' in input ? input : undefined;
  const method = init?.method ?? request?.method ?? 'GET';
  const body = init?.body ?? requestBody(request);
  const signal = init?.signal === undefined ? request?.signal : init.signal;
  return {
    origin: originOf(request?.url ?? String(input)),
    method: normalizedMethod(method),
    replayable: isReplayable(body),
    signal: signal ?? undefined,
  };
}

/** Body of a request; anything that is not replayable where a browser does not tell. */
function requestBody(request: Request | undefined): unknown {
  if (request === undefined || request.method === 'GET' || request.method === 'HEAD') return undefined;
  return request.body === undefined ? request : request.body;
}

/** Method as `fetch` sends it: it writes these in upper case, and no others. */
function normalizedMethod(method: string): string {
  return /^(?:delete|get|head|options|post|put)$/i.test(method) ? method.toUpperCase() : method;
}
