/** Environment in virtual time. */
import type { Environment } from '../../src/environment.ts';
import { randomFrom } from './cases.ts';

interface Sleeper {
  readonly endMs: number;
  readonly wake: () => void;
}

/** Clock that jumps to the end of the earliest sleep when nothing else is left to do. */
export class VirtualEnvironment implements Environment {
  /** Milliseconds that each call slept, in order. */
  readonly sleeps: number[] = [];
  readonly random: () => number;
  nowMs = 5_000;
  #sleepers: Sleeper[] = [];

  constructor(random = randomFrom(1)) {
    this.random = random;
  }

  /** Wednesday, 18 November 2026, 15:00:05 at the start. */
  readonly unixMs = () => 1_795_014_000_000 + this.nowMs;
  readonly monotonicMs = () => this.nowMs;

  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    this.sleeps.push(ms);
    return new Promise((resolve, reject) => {
      this.#sleepers.push({ endMs: this.nowMs + ms, wake: resolve });
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      setImmediate(() => this.#wakeEarliest());
    });
  };

  #wakeEarliest(): void {
    this.#sleepers.sort((left, right) => left.endMs - right.endMs);
    const earliest = this.#sleepers.shift();
    if (earliest === undefined) return;
    this.nowMs = Math.max(this.nowMs, earliest.endMs);
    earliest.wake();
  }
}
