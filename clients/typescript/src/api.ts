// Generated from openapi.json of the server by `npm run api`.

/** Operations of the API: the body of a request, and that of the response to each status. */
export interface Operations {
  /** Decide a request by the rules of the policy. */
  readonly check: {
    readonly request: Check;
    readonly responses: {
      readonly 200: Answer;
      readonly 400: Problem;
      readonly 401: Problem;
      readonly 403: Barred;
      readonly 408: Problem;
      readonly 409: Problem;
      readonly 413: Problem;
      readonly 415: Problem;
      readonly 429: Refusal;
      readonly 503: Problem;
    };
  };
  /** Correct what was charged. */
  readonly settle: {
    readonly request: Settle;
    readonly responses: {
      readonly 200: Settled;
      readonly 400: Problem;
      readonly 401: Problem;
      readonly 403: Problem;
      readonly 408: Problem;
      readonly 409: Spent;
      readonly 413: Problem;
      readonly 415: Problem;
      readonly 503: Problem;
    };
  };
  /** Give back what was charged. */
  readonly refund: {
    readonly request: Refund;
    readonly responses: {
      readonly 200: Settled;
      readonly 400: Problem;
      readonly 401: Problem;
      readonly 403: Problem;
      readonly 408: Problem;
      readonly 409: Spent;
      readonly 413: Problem;
      readonly 415: Problem;
      readonly 503: Problem;
    };
  };
}

export interface Check {
  /**
   * What is known of the request: `method`, `path`, `ip` and whatever the rules use. Names have up
   * to 128 bytes, values up to 4,096. `ip` is an IPv4 or IPv6 address.
   */
  readonly attributes: { readonly [name: string]: string };
  /** Units asked for; 0 only looks. */
  readonly cost?: number;
  /**
   * Under this key the same request is charged once. Up to 255 bytes. For callers that are trusted:
   * do not take it from a client.
   */
  readonly idempotency_key?: string;
  /**
   * How long to be held for its turn instead of being refused. At most `server.max_wait`, which is
   * 30,000 by default.
   */
  readonly wait_ms?: number;
}

export interface Answer {
  /** Whether the request may pass. */
  readonly allowed: boolean;
  /**
   * The largest cost that all limits would admit now: the least of all limits, where one in flight
   * counts only if it is full. Null where no limit bounds the cost, and where nobody looked.
   */
  readonly remaining: number | null;
  /**
   * Who waits that long gets in, if nothing else is admitted meanwhile: the longest wait of the
   * limits that refuse. Null if it was admitted, if it can never be, and where a place in flight is
   * awaited for longer than all others.
   */
  readonly retry_after_ms: number | null;
  /**
   * Where only a place in flight is awaited, which may be released at any time: the longest that
   * this can take.
   */
  readonly retry_after_at_most_ms?: number;
  /**
   * When every limit will be as if never used: the longest of all limits. Null without limits, and
   * where nobody looked.
   */
  readonly reset_after_ms: number | null;
  /** When it was decided, in Unix milliseconds, by the clock of the store. */
  readonly decided_at_ms: number;
  /**
   * Who decided: the store; a denial that still holds; this node by its share of the quota; or
   * nobody, and the rule's on_store_error was applied.
   */
  readonly source: 'store' | 'cache' | 'local' | 'assumed';
  /** Every limit that was asked. */
  readonly limits: readonly Limit[];
  /** For /v1/refund and /v1/settle, where a rule allows that or counts requests in flight. */
  readonly permit?: string;
  /** This is the answer to the same request, sent before. */
  readonly replayed?: true;
  /** What rules that only look on would have said. */
  readonly observed?: readonly Limit[];
}

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** What is wrong, and what would be right. */
  readonly detail: string;
}

export interface Barred {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** What is wrong, and what would be right. */
  readonly detail: string;
  readonly allowed: false;
  /** The rule that refuses. */
  readonly rule: string;
}

export interface Refusal {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** What is wrong, and what would be right. */
  readonly detail: string;
  /** The limits that refuse, by their names in headers. */
  readonly 'violated-policies': readonly string[];
  /** Whether the request may pass. */
  readonly allowed: boolean;
  /**
   * The largest cost that all limits would admit now: the least of all limits, where one in flight
   * counts only if it is full. Null where no limit bounds the cost, and where nobody looked.
   */
  readonly remaining: number | null;
  /**
   * Who waits that long gets in, if nothing else is admitted meanwhile: the longest wait of the
   * limits that refuse. Null if it was admitted, if it can never be, and where a place in flight is
   * awaited for longer than all others.
   */
  readonly retry_after_ms: number | null;
  /**
   * Where only a place in flight is awaited, which may be released at any time: the longest that
   * this can take.
   */
  readonly retry_after_at_most_ms?: number;
  /**
   * When every limit will be as if never used: the longest of all limits. Null without limits, and
   * where nobody looked.
   */
  readonly reset_after_ms: number | null;
  /** When it was decided, in Unix milliseconds, by the clock of the store. */
  readonly decided_at_ms: number;
  /**
   * Who decided: the store; a denial that still holds; this node by its share of the quota; or
   * nobody, and the rule's on_store_error was applied.
   */
  readonly source: 'store' | 'cache' | 'local' | 'assumed';
  /** Every limit that was asked. */
  readonly limits: readonly Limit[];
  /** For /v1/refund and /v1/settle, where a rule allows that or counts requests in flight. */
  readonly permit?: string;
  /** This is the answer to the same request, sent before. */
  readonly replayed?: true;
  /** What rules that only look on would have said. */
  readonly observed?: readonly Limit[];
  /**
   * No limit denies the request: its key has as many open permits as it may. Settle or refund some.
   */
  readonly outcome?: 'too_many_permits';
}

export interface Settle {
  /** As it was given. */
  readonly permit: string;
  /** What it really cost. */
  readonly cost: number;
}

export interface Settled {
  /**
   * `partly_settled`: under some rules only, see `rules`. `expired`: what was charged has left
   * every window by itself. `void`: the key was reset since, or its state was lost; nothing was
   * changed.
   */
  readonly outcome: 'settled' | 'partly_settled' | 'expired' | 'void';
  /** Rule by rule, where they differ. */
  readonly rules?: readonly ({
    /** `null` if the policy has the rule no more. */
    readonly rule: string | null;
    readonly outcome: 'settled' | 'expired' | 'already_spent' | 'void';
  })[];
}

export interface Spent {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** What is wrong, and what would be right. */
  readonly detail: string;
  readonly outcome: 'already_spent';
}

export interface Refund {
  /** As it was given. */
  readonly permit: string;
}

export interface Limit {
  /** The rule that has this limit; left out where the request brought it. */
  readonly rule?: string;
  /** The limit as it is written. */
  readonly limit: string;
  /** Its name in headers and in `violated-policies`. */
  readonly policy: string;
  /** Units per window. */
  readonly quota: number;
  /**
   * The whole quota, while this node decides by its share because the store is unavailable: quota,
   * remaining and outcome are then those of the share.
   */
  readonly share_of?: number;
  /** The window; for a limit on requests in flight, the longest hold. */
  readonly window_ms: number;
  /**
   * The largest cost that this limit would admit now; for a limit on requests in flight, the places
   * that are free. Null where nobody looked.
   */
  readonly remaining: number | null;
  /**
   * How long to wait, where this limit refuses and the wait is exact. Null for a place in flight,
   * and where no wait helps.
   */
  readonly retry_after_ms: number | null;
  /**
   * Where only a place in flight is awaited, which may be released at any time: the longest that
   * this can take.
   */
  readonly retry_after_at_most_ms?: number;
  /** When this limit will be as if never used. Null where nobody looked. */
  readonly reset_after_ms: number | null;
  /** Whether it fits now, fits after a wait, or is more than this limit can ever admit. */
  readonly outcome: 'fits' | 'retry' | 'never';
  /** Only in `observed`: when this limit was asked, after the request was decided. */
  readonly decided_at_ms?: number;
}
