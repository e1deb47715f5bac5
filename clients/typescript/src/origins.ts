/** State of each origin: its retry budget, its pause and its pace. */
import { backoff, waitMs } from './advice.ts';
import { RetryBudget } from './budget.ts';
import type { Interval } from './pace.ts';

/** Most origins with a state. Beyond that the one that was used least recently is forgotten. */
const MAX_ORIGINS = 1_024;

/** States of origins, by name. */
export class Origins {
  /** The least recently used comes first. */
  readonly #states = new Map<string, OriginState>();

  /** State of an origin; a new one if there is none. */
  state(origin: string): OriginState {
    const state = this.#states.get(origin) ?? new OriginState();
    this.#states.delete(origin);
    this.#states.set(origin, state);
    if (this.#states.size > MAX_ORIGINS) {
      const [oldest] = this.#states.keys();
      this.#states.delete(oldest as string);
    }
    return state;
  }
}

interface Pause {
  readonly endMs: number;
  /** Largest jitter of the requests that wait for the end. */
  readonly jitterMs: number;
}

interface OriginPace {
  readonly intervalMs: number;
  /** Earliest time of the next request. */
  readonly nextMs: number;
  readonly endMs: number;
}

/** State of an origin. Times are those of a monotonic clock. */
export class OriginState {
  readonly budget = new RetryBudget();
  #pause: Pause = { endMs: 0, jitterMs: 0 };
  #pace: OriginPace = { intervalMs: 0, nextMs: 0, endMs: 0 };

  /** Pauses the origin for the delay of a refusal, unless it is paused for longer. */
  pause(delayMs: number, nowMs: number): void {
    const endMs = nowMs + delayMs;
    if (this.#pause.endMs < endMs) this.#pause = { endMs, jitterMs: backoff(delayMs, 0).jitterMs };
  }

  /** Paces the requests of the origin from now on. The next one keeps its time if it has one. */
  pace({ intervalMs, windowMs }: Interval, nowMs: number): void {
    const nextMs = nowMs < this.#pace.endMs ? this.#pace.nextMs : nowMs + intervalMs;
    this.#pace = { intervalMs, nextMs, endMs: nowMs + windowMs };
  }

  /**
   * Time that a request has to wait: for the end of a pause, and for its turn in the pace, which is
   * at most `maxMs` away.
   *
   * Requests that wait for one pause get jitter, as after a refusal: otherwise all of them would
   * come at its end.
   */
  holdMs({ maxMs, nowMs, random }: { maxMs: number; nowMs: number; random: () => number }): number {
    const { endMs, jitterMs } = this.#pause;
    const pauseMs = nowMs < endMs ? waitMs({ delayMs: endMs - nowMs, jitterMs }, random()) : 0;
    return Math.max(pauseMs, this.#turnMs(maxMs, nowMs) - nowMs);
  }

  /** Time of a request in the pace, which is then taken. */
  #turnMs(maxMs: number, nowMs: number): number {
    const { intervalMs, nextMs, endMs } = this.#pace;
    if (nowMs >= endMs) return nowMs;
    const turnMs = Math.max(nowMs, Math.min(nextMs, endMs, nowMs + maxMs));
    this.#pace = { intervalMs, nextMs: turnMs + intervalMs, endMs };
    return turnMs;
  }
}
