/**
 * Retry policy: the advice, the budget and, where they are enabled, pauses and pace of origins.
 *
 * It does not send requests. The hooks of HTTP clients do: they call `start` and `ready` before the
 * first attempt, `observe` and `next` after each response, and then send the request again once the
 * next step is ready.
 */
import {
  advice, DEFAULT_SETTINGS, isRefusal, waitMs, type Exchange, type RetrySettings, type Stop,
} from './advice.ts';
import { demandMs } from './advice/delay.ts';
import type { HeaderPairs } from './advice/fields.ts';
import { systemEnvironment, type Environment } from './environment.ts';
import { Origins } from './origins.ts';
import { paceInterval } from './pace.ts';

/** Options of a retry policy. All of them have defaults. */
export interface RetryOptions extends Partial<RetrySettings> {
  /**
   * Pauses an origin after a refusal: no request is sent to it before the delay is over. For
   * servers whose limits apply to the client as a whole. A delay above `maxWaitMs` pauses nothing.
   */
  readonly pause?: boolean;
  /**
   * Paces the requests to an origin when less than 10 % of a quota is left by its `RateLimit`: what
   * is left is spread over the time until the quota is renewed. A request waits at most `maxWaitMs`
   * for its turn.
   */
  readonly pace?: boolean;
  /** Functions that replace those of the platform, for tests. */
  readonly environment?: Partial<Environment>;
}

/** Response, as far as a policy reads it. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: HeaderPairs;
}

/** Request of which a response is the answer. */
export type Attempt = Pick<Exchange, 'method' | 'replayable' | 'attempt'>;

/** Next attempt. */
export interface Retry {
  /** Waits until the attempt may be sent. It counts against the budget as soon as it is planned. */
  readonly ready: (signal?: AbortSignal) => Promise<void>;
  readonly stop?: never;
}

/** What follows a response: the next attempt, or the reason why there is none. */
export type NextStep = Retry | Stop;

/** Retry policy of a client, with the state of origins. */
export class RetryPolicy {
  readonly settings: RetrySettings;
  readonly environment: Environment;
  readonly #pauses: boolean;
  readonly #paces: boolean;
  readonly #origins = new Origins();

  constructor({ maxWaitMs, maxAttempts, pause = false, pace = false, environment }: RetryOptions = {}) {
    this.settings = {
      maxWaitMs: maxWaitMs ?? DEFAULT_SETTINGS.maxWaitMs,
      maxAttempts: maxAttempts ?? DEFAULT_SETTINGS.maxAttempts,
    };
    this.environment = { ...systemEnvironment, ...environment };
    this.#pauses = pause;
    this.#paces = pace;
  }

  /** Records a new request. */
  start(origin: string): void {
    this.#origins.state(origin).budget.recordRequest(this.environment.monotonicMs());
  }

  /** Waits for the end of a pause of the origin, and for a turn in its pace. */
  async ready(origin: string, signal?: AbortSignal): Promise<void> {
    const { environment, settings } = this;
    const hold = { maxMs: settings.maxWaitMs, nowMs: environment.monotonicMs(), random: environment.random };
    const holdMs = this.#origins.state(origin).holdMs(hold);
    if (holdMs > 0) await environment.sleep(holdMs, signal);
  }

  /** Learns pauses and pace of the origin from a response. */
  observe(origin: string, { status, headers }: ResponseHead): void {
    const nowMs = this.environment.monotonicMs();
    if (this.#pauses && isRefusal(status)) {
      const delayMs = demandMs({ status, headers, nowMs: this.environment.unixMs() });
      const isPause = delayMs !== undefined && delayMs <= this.settings.maxWaitMs;
      if (isPause) this.#origins.state(origin).pause(delayMs, nowMs);
    }
    const interval = this.#paces ? paceInterval(headers) : undefined;
    if (interval !== undefined) this.#origins.state(origin).pace(interval, nowMs);
  }

  /** Decides after a response. The next attempt is taken from the budget of the origin. */
  next(origin: string, { status, headers }: ResponseHead, attempt: Attempt): NextStep {
    const nowMs = this.environment.unixMs();
    const action = advice({ ...attempt, status, headers, nowMs }, this.settings);
    if (action.stop) return action;
    const { environment } = this;
    const { budget } = this.#origins.state(origin);
    if (!budget.tryRetry(environment.monotonicMs())) return { stop: 'budget_exhausted' };
    const ready = async (signal?: AbortSignal) => {
      try {
        await environment.sleep(waitMs(action, environment.random()), signal);
        await this.ready(origin, signal);
      } catch (reason) {
        budget.cancelRetry();
        throw reason;
      }
      budget.recordRetry(environment.monotonicMs());
    };
    return { ready };
  }
}

/** Origin of an address: scheme, host and port. Addresses that cannot be parsed share one. */
export function originOf(address: string): string {
  const base = (globalThis as { location?: { href: string } }).location?.href;
  try {
    return new URL(address, base).origin;
  } catch {
    return '';
  }
}
