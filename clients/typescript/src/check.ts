/**
 * Client of a Slidegate server: checks, settlements and refunds over its HTTP API.
 *
 * A denial is an answer, not an error: it is never retried here. With `maxAttempts` above 1, a
 * request whose response was lost, or was a 503, is sent again. A check then has an idempotency key
 * from its first attempt on, made here for this check alone, so that it is charged once. The server
 * remembers a key for the shortest window of the check, at most a minute, and at the cost of
 * memory: without retries there is none.
 */
import type { Operations } from './api.ts';
import { readText } from './body.ts';
import { CheckError } from './check-error.ts';
import { MAX_TIMER_MS } from './environment.ts';
import type { Fetch } from './fetch.ts';
import { originOf, RetryPolicy, type NextStep, type ResponseHead, type RetryOptions } from './retry.ts';

/** Longest response that is read. The largest answers of a server, with 32 limits, are shorter. */
const MAX_RESPONSE_BYTES = 2 ** 20;
const DEFAULT_TIMEOUT_MS = 1_000;
/** Statuses of an answer to a check, each with the only value that `allowed` has under it. */
const ALLOWED_BY_STATUS = new Map([[200, true], [403, false], [429, false]]);
/** Head that stands for a response that was lost: a 503 that demands no delay. */
const LOST_RESPONSE: ResponseHead = { status: 503, headers: [['retry-after', '0']] };

type Responses = { [Name in keyof Operations]: Operations[Name]['responses'] };

/** Request to check: its attributes, its cost, and how long the server may delay the answer. */
export type CheckRequest = Omit<Operations['check']['request'], 'idempotency_key'>;
/** Answer that a request may pass, and is charged. */
export type AllowedAnswer = Responses['check'][200] & { readonly allowed: true };
/** Answer that a limit denies a request. Nothing is charged. */
export type DeniedAnswer = Responses['check'][429] & { readonly allowed: false };
/** Answer that a rule blocks a request, whatever its limits. */
export type BlockedAnswer = Responses['check'][403] & { readonly allowed: false };
/** Answer to a check. Only a denial has `retry_after_ms`, and only a block has `rule`. */
export type CheckAnswer = AllowedAnswer | DeniedAnswer | BlockedAnswer;
/**
 * Answer to a settlement or a refund. With an `outcome` of `already_spent` the permit was used
 * before, possibly by an attempt whose response was lost.
 */
export type Settlement = Responses['settle'][200 | 409];

/** Options of a check client. */
export interface CheckClientOptions extends RetryOptions {
  /** Number of times that a request is sent, the first one included. 1 by default. */
  readonly maxAttempts?: number;
  /** Token that the server requires. */
  readonly token?: string;
  /** Longest time of an attempt, 1 s by default. A check with `wait_ms` has that on top. */
  readonly timeoutMs?: number;
  /** `fetch` that sends the requests; that of the platform by default. */
  readonly fetch?: Fetch;
}

/** Options of one call. */
export interface CallOptions {
  /** Signal that ends the call, with its reason. */
  readonly signal?: AbortSignal;
}

interface Call {
  readonly path: string;
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Response of which the body is read. */
interface Reply extends ResponseHead {
  readonly text: string;
}

/** Client of a Slidegate server. */
export class CheckClient {
  readonly #server: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  readonly #fetch: Fetch;
  readonly #policy: RetryPolicy;

  /** Client of the server at this address, such as `http://127.0.0.1:8080`. */
  constructor(server: string | URL, options: CheckClientOptions = {}) {
    const { token, timeoutMs = DEFAULT_TIMEOUT_MS, fetch = globalThis.fetch } = options;
    this.#server = new URL(server).href.replace(/\/$/, '');
    this.#headers = {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
    this.#timeoutMs = timeoutMs;
    this.#fetch = fetch;
    this.#policy = new RetryPolicy({ ...options, maxAttempts: options.maxAttempts ?? 1 });
  }

  /** Checks a request. A denial is an answer; what prevents an answer is a {@link CheckError}. */
  async check(request: CheckRequest, { signal }: CallOptions = {}): Promise<CheckAnswer> {
    const key = this.#policy.settings.maxAttempts > 1 ? { idempotency_key: randomKey() } : {};
    const timeoutMs = this.#timeoutMs + (request.wait_ms ?? 0);
    const body = JSON.stringify({ ...request, ...key });
    const reply = await this.#post({ path: '/v1/check', body, timeoutMs, signal });
    const answer = json(reply) as CheckAnswer;
    const allowed = ALLOWED_BY_STATUS.get(reply.status);
    if (allowed === undefined || answer.allowed !== allowed) throw CheckError.fromReply(reply);
    return answer;
  }

  /** Replaces the cost that was charged under a permit. */
  settle(permit: string, cost: number, { signal }: CallOptions = {}): Promise<Settlement> {
    return this.#usePermit('/v1/settle', { permit, cost }, signal);
  }

  /** Gives back what was charged under a permit. */
  refund(permit: string, { signal }: CallOptions = {}): Promise<Settlement> {
    return this.#usePermit('/v1/refund', { permit }, signal);
  }

  async #usePermit(path: string, request: object, signal: AbortSignal | undefined): Promise<Settlement> {
    const body = JSON.stringify(request);
    const reply = await this.#post({ path, body, timeoutMs: this.#timeoutMs, signal });
    const settlement = json(reply) as Settlement;
    if (settlement.outcome === undefined) throw CheckError.fromReply(reply);
    return settlement;
  }

  /** Sends a call until there is a response other than a 503, or the retry policy stops. */
  async #post(call: Call): Promise<Reply> {
    const origin = originOf(this.#server);
    this.#policy.start(origin);
    await this.#policy.ready(origin, call.signal);
    for (let attempt = 0; ; attempt += 1) {
      const result = await this.#attempt(call);
      const next = this.#next(origin, result, attempt);
      if (!next.stop) {
        await next.ready(call.signal);
      } else if (result instanceof CheckError) {
        throw result;
      } else {
        return result;
      }
    }
  }

  #next(origin: string, result: Reply | CheckError, attempt: number): NextStep {
    const head = result instanceof CheckError ? LOST_RESPONSE : result;
    // A denial is the answer, and not for the client itself.
    if (head.status === 429) return { stop: 'not_refused' };
    this.#policy.observe(origin, head);
    // The idempotency key, or the permit, makes the call as good as a PUT.
    return this.#policy.next(origin, head, { method: 'PUT', replayable: true, attempt });
  }

  async #attempt({ path, body, timeoutMs, signal }: Call): Promise<Reply | CheckError> {
    const timeout = AbortSignal.timeout(Math.min(timeoutMs, MAX_TIMER_MS));
    const init = {
      method: 'POST',
      headers: this.#headers,
      body,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    };
    const fetch = this.#fetch;
    try {
      const response = await fetch(`${this.#server}${path}`, init);
      const text = await readText(response, MAX_RESPONSE_BYTES);
      return { status: response.status, headers: response.headers, text };
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      const within = timeout.aborted ? ` within ${timeoutMs} ms` : '';
      return new CheckError(`no response from the server${within}`, { cause });
    }
  }
}

function json(reply: Reply): object {
  try {
    const value: unknown = JSON.parse(reply.text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // What is not JSON is not an answer.
  }
  throw CheckError.fromReply(reply);
}

/** Key of 128 random bits. `randomUUID` is missing where a page was not loaded over TLS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
