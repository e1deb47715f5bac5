//! Retry budget: how many retries an origin may get, whoever asks for them.
//!
//! Backoff spreads the retries of one request. A budget bounds those of all requests, so that a
//! server that refuses everything gets at most a fifth more traffic than without retries.

/// Length of the window, in buckets of a second.
const WINDOW_BUCKETS: u64 = 10;
const BUCKET_MS: u64 = 1_000;
/// One retry for this many requests of the window.
const REQUESTS_PER_RETRY: u64 = 5;
/// Retries of a window that need no requests: a client that sends little can retry too.
const FREE_RETRIES: u64 = 10;
/// One more than the window has: a window that ends within a bucket begins within another.
const BUCKETS: usize = WINDOW_BUCKETS as usize + 1;

/// Retry budget of an origin: 20 % as many retries as requests in the last 10 seconds, plus 10.
///
/// Requests are first attempts. A retry counts while it waits, and for 10 seconds after it is sent:
/// otherwise retries with waits of different lengths could add up to a burst. Time is an argument,
/// in milliseconds of any clock; a clock that goes back stands still here.
#[derive(Clone, Debug, Default)]
pub struct RetryBudget {
    /// Number of the newest bucket since the start of the clock.
    newest: u64,
    /// Ring of buckets; the bucket with number `n` is at `n % BUCKETS`.
    buckets: [BudgetBucket; BUCKETS],
    /// Retries that are not sent yet.
    waiting: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct BudgetBucket {
    requests: u64,
    retries: u64,
}

impl RetryBudget {
    /// Budget without requests.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records the first attempt of a request.
    pub fn record_request(&mut self, now_ms: u64) {
        self.bucket(now_ms).requests += 1;
    }

    /// Takes a retry from the budget, to be sent later. `false` if there is none left: then nothing
    /// changes.
    #[must_use]
    pub fn try_retry(&mut self, now_ms: u64) -> bool {
        self.bucket(now_ms);
        // Rounded against the retries: theirs are counted for up to a bucket longer than the
        // window, the requests for up to a bucket less.
        let retries: u64 = self.buckets.iter().map(|bucket| bucket.retries).sum();
        let requests: u64 = (0..WINDOW_BUCKETS).map(|age| self.bucket_of_age(age).requests).sum();
        let is_within = self.waiting + retries < requests / REQUESTS_PER_RETRY + FREE_RETRIES;
        self.waiting += u64::from(is_within);
        is_within
    }

    /// Records that a retry is sent.
    pub fn record_retry(&mut self, now_ms: u64) {
        self.cancel_retry();
        self.bucket(now_ms).retries += 1;
    }

    /// Gives back a retry that is not sent after all.
    pub fn cancel_retry(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }

    fn bucket_of_age(&self, age: u64) -> BudgetBucket {
        // One turn of the ring ahead, so that the first buckets of a clock do not underflow.
        self.buckets[((self.newest + BUCKETS as u64 - age) % BUCKETS as u64) as usize]
    }

    /// Newest bucket, after those that have passed are emptied.
    fn bucket(&mut self, now_ms: u64) -> &mut BudgetBucket {
        let number = (now_ms / BUCKET_MS).max(self.newest);
        for passed in (self.newest + 1..=number).take(BUCKETS) {
            self.buckets[(passed % BUCKETS as u64) as usize] = BudgetBucket::default();
        }
        // After a long time all buckets are empty, whichever were visited.
        self.newest = number;
        &mut self.buckets[(number % BUCKETS as u64) as usize]
    }
}
