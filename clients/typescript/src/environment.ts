/** Time and randomness, which come from outside so that tests need no real time. */

/** Source of time and randomness, as functions. */
export interface Environment {
  /** Time in Unix milliseconds, to which dates in headers are compared. */
  readonly unixMs: () => number;
  /** Milliseconds of a clock that never goes back, for budgets and pauses. */
  readonly monotonicMs: () => number;
  /** Random number from 0 to below 1. */
  readonly random: () => number;
  /** Waits. Rejects with the reason of the signal as soon as that is aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** Longest delay of a timer. A longer one would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Clocks, timers and random numbers of the platform. */
export const systemEnvironment: Environment = {
  unixMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  random: () => Math.random(),
  sleep: async (ms, signal) => {
    const endMs = performance.now() + ms;
    // Timers may fire a millisecond early, and have a longest delay.
    for (let restMs = ms; restMs > 0; restMs = endMs - performance.now()) {
      await timer(Math.min(Math.ceil(restMs), MAX_TIMER_MS), signal);
    }
  },
};

function timer(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      clearTimeout(id);
      reject(signal?.reason);
    };
    const id = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
