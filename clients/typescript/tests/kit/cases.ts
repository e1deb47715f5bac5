/** Random cases that a seed repeats. */

/** Random numbers from 0 to below 1 that follow from a seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Choices from one source of random numbers. */
export class Choice {
  readonly random: () => number;

  constructor(seed: number) {
    this.random = randomFrom(seed);
  }

  /** Whole number from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.random() * end);
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }
}

/** Runs a check for `SLIDEGATE_CASES` seeds, 10,000 by default. `SLIDEGATE_SEED` repeats one. */
export function forEachCase(check: (choice: Choice) => void): void {
  const { SLIDEGATE_CASES: cases = '10000', SLIDEGATE_SEED: seed } = process.env;
  const first = seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(seed);
  const count = seed === undefined ? Number(cases) : 1;
  for (let current = first; current < first + count; current += 1) {
    try {
      check(new Choice(current));
    } catch (error) {
      throw new Error(`failed with SLIDEGATE_SEED=${current}`, { cause: error });
    }
  }
}
