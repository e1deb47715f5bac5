//! Whether all answers together are true.
//!
//! Within a millisecond the order of answers is not known, and need not be: nothing leaves a window
//! in the middle of one, so a window that was full at a denial is full until the millisecond ends,
//! and cannot be more than full.

use super::answers::Answer;
use super::{QUOTA, WINDOW_MS};

/// How many answers there were of each sort.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Counts {
    admitted: u64,
    denied: u64,
    repeated: u64,
}

/// The times of all admissions, in order.
struct Admitted(Vec<u64>);

pub(crate) fn judge(answers: &[Answer]) -> Counts {
    let mut times: Vec<u64> = answers.iter().filter_map(admitted_at).collect();
    times.sort_unstable();
    let admitted = Admitted(times);
    admitted.judge();
    let mut counts = Counts { admitted: admitted.0.len() as u64, ..Counts::default() };
    for answer in answers {
        match *answer {
            Answer::Admitted { .. } => {}
            Answer::Denied { at_ms, retry_after_ms } => {
                counts.denied += 1;
                assert_eq!(admitted.wait_at(at_ms), Some(retry_after_ms), "the wait told at {at_ms}");
            }
            Answer::Repeated { from_ms, to_ms, retry_after_ms } => {
                counts.repeated += 1;
                let holds = |wait_ms| retry_after_ms <= wait_ms;
                let at_some_time = (from_ms..=to_ms).any(|at_ms| admitted.wait_at(at_ms).is_some_and(holds));
                assert!(at_some_time, "no window was full for another {retry_after_ms} ms: {answer:?}");
            }
        }
    }
    assert!(counts.denied > 0 && counts.repeated > 0, "nothing was refused: {counts:?}");
    counts
}

fn admitted_at(answer: &Answer) -> Option<u64> {
    match answer {
        Answer::Admitted { at_ms } => Some(*at_ms),
        _ => None,
    }
}

impl Admitted {
    /// No window ever held more than the quota: who comes a quota later comes a window later.
    fn judge(&self) {
        let quota = QUOTA as usize;
        assert!(self.0.len() > quota, "more than one window was admitted");
        for (first, beyond) in self.0.iter().zip(&self.0[quota..]) {
            assert!(beyond - first >= WINDOW_MS, "more than {QUOTA} from {first} to {beyond}");
        }
    }

    /// How long one more has to wait at this time, if the window is full then: until the oldest
    /// leaves.
    fn wait_at(&self, at_ms: u64) -> Option<u64> {
        let oldest = self.0.partition_point(|time| time + WINDOW_MS <= at_ms);
        let end = self.0.partition_point(|time| *time <= at_ms);
        ((end - oldest) as u64 == QUOTA).then(|| self.0[oldest] + WINDOW_MS - at_ms)
    }
}
