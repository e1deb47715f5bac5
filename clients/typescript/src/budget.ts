/**
 * Retry budget: how many retries an origin may get, whatever requests need them.
 *
 * Backoff spreads the retries of one request. A budget bounds those of all requests, so that a
 * server that refuses everything gets at most a fifth more traffic than without retries.
 */

/** Length of the window, in buckets of a second. */
const WINDOW_BUCKETS = 10;
const BUCKET_MS = 1_000;
/** One retry for this many requests of the window. */
const REQUESTS_PER_RETRY = 5;
/** Retries of a window that need no requests: a client that sends little can retry too. */
const FREE_RETRIES = 10;

interface Bucket {
  readonly number: number;
  requests: number;
  retries: number;
}

/**
 * Retry budget of an origin: 20 % as many retries as requests in the last 10 seconds, plus 10.
 *
 * Requests are first attempts. A retry counts while it waits, and for 10 seconds after it is sent:
 * otherwise retries with waits of different lengths could add up to a burst. Time is an argument,
 * in milliseconds of any clock; a clock that goes back stands still here.
 */
export class RetryBudget {
  /** Buckets that are not empty, oldest first. */
  #buckets: Bucket[] = [];
  /** Retries that are not sent yet. */
  #waiting = 0;

  /** Records the first attempt of a request. */
  recordRequest(nowMs: number): void {
    this.#newest(nowMs).requests += 1;
  }

  /** Takes a retry, to be sent later. `false` if there is none left: then nothing changes. */
  tryRetry(nowMs: number): boolean {
    const newest = this.#newest(nowMs);
    let requests = 0;
    let retries = this.#waiting;
    // Rounded against the retries: theirs count for up to a bucket longer than the window, the
    // requests for up to a bucket less.
    for (const bucket of this.#buckets) {
      retries += bucket.retries;
      if (bucket.number > newest.number - WINDOW_BUCKETS) requests += bucket.requests;
    }
    const isWithin = retries < Math.floor(requests / REQUESTS_PER_RETRY) + FREE_RETRIES;
    if (isWithin) this.#waiting += 1;
    return isWithin;
  }

  /** Records that a retry is sent. */
  recordRetry(nowMs: number): void {
    this.cancelRetry();
    this.#newest(nowMs).retries += 1;
  }

  /** Gives back a retry that is not sent after all. */
  cancelRetry(): void {
    this.#waiting -= 1;
  }

  /** Bucket of the present, after those that have left the window are dropped. */
  #newest(nowMs: number): Bucket {
    const last = this.#buckets.at(-1);
    const number = Math.floor(nowMs / BUCKET_MS);
    if (last !== undefined && number <= last.number) return last;
    const newest = { number, requests: 0, retries: 0 };
    this.#buckets = this.#buckets.filter((bucket) => bucket.number >= number - WINDOW_BUCKETS);
    this.#buckets.push(newest);
    return newest;
  }
}
