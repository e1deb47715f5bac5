//! limitador's in-memory storage: a fixed window in a moka cache, found by evaluating CEL
//! expressions.

use std::collections::HashMap;
use std::hint::black_box;

use limitador::RateLimiter;
use limitador::limit::{Context, Expression, Limit, Namespace};

use super::{AMPLE, Answer, Contender, DAY_S, SCANT};
use crate::workload::Keys;

/// Limit of limitador, counted by the variable `user`.
pub struct Limitador {
    limiter: RateLimiter,
    namespace: Namespace,
}

impl Limitador {
    /// Limiter with room for twice `keys`: evicted keys would start again.
    pub fn new(answer: Answer, keys: u64) -> Self {
        let (quota, window_s) = match answer {
            Answer::Allowed => (AMPLE, 3_600),
            Answer::Denied => (SCANT, DAY_S),
        };
        let user = Expression::parse("user").expect("a name is an expression");
        let limiter = RateLimiter::new(2 * keys + 10_000);
        limiter.add_limit(Limit::new("bench", quota.into(), window_s.into(), Vec::default(), [user]));
        Self { limiter, namespace: "bench".into() }
    }
}

impl Contender for Limitador {
    fn name(&self) -> &'static str {
        "limitador"
    }

    fn run(&self, keys: Keys<'_>) -> usize {
        let allowed = keys.iter().filter(|key| {
            let context = Context::from(HashMap::from([("user".to_owned(), (*key).to_owned())]));
            let decided = self.limiter.check_rate_limited_and_update(&self.namespace, &context, 1);
            black_box(&decided);
            decided.is_ok_and(|result| !result.limited)
        });
        allowed.count()
    }

    fn parts(&self) -> usize {
        20
    }
}
