//! Replay: what a policy would have done with the requests of a log.
//!
//! The real [`Gate`](slidegate::Gate) decides, over memory, on a clock that stands at the start of
//! each request. Around it are only counts.
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | `policy` | the rules, and their variants: enforced, without in-flight limits, under one algorithm |
//! | `attributes` | whether the log gives the rules their keys |
//! | `run` | one policy's gate on a manual clock, with the releases of slots in flight |
//! | `tally`, `subjects`, `demand`, `touch_bounds` | counts by rule, limit and subject; peaks, ranges |
//! | `denied_subjects`, `timeline` | who is denied most; counts over time |
//! | `against`, `algorithms` | other policies beside the one that is replayed |
//! | `verdicts` | a line per request |
//! | `threshold` | conditions under which a run fails |
//! | [`report`], `log_summary`, `json` | the result |

mod against;
mod algorithms;
mod attributes;
mod demand;
mod denied_subjects;
mod error;
mod json;
mod log_summary;
mod policy;
pub mod report;
mod run;
mod subjects;
mod tally;
mod threshold;
mod timeline;
mod touch_bounds;
mod verdicts;

use std::io::{self, Write};

use slidegate::Request;

pub use attributes::{MissingAttribute, check_attributes};
pub use error::ReplayError;
pub use log_summary::{LogFile, LogSummary, UnreadLine};
pub use policy::{Algorithm, ReplayPolicy};
pub use report::{Precision, ReplayReport};
pub use threshold::{Threshold, ThresholdError};
pub use timeline::{BUCKETS, TimeAxis, Timeline};
pub use verdicts::VerdictFormat;

use crate::access_log::{FileFacts, FileReport, LoggedRequest, ReadReport};
use against::{OtherPolicy, PolicyAnswer};
use algorithms::AlgorithmRun;
use demand::Stamps;
use run::{RequestTime, Run};
use tally::{DecisionTime, Tally};
use timeline::GrowingAxis;
use verdicts::{VerdictPlace, VerdictRecord, VerdictWriter};

/// Status of a request that was limited.
const TOO_MANY_REQUESTS: u16 = 429;
/// Length of the second of a stamp.
const SECOND_MS: u64 = 1_000;
/// Least memory per subject, with its place in two tables, by which the number of subjects is
/// bounded.
const SUBJECT_BYTES: usize = 256;

/// Options of a replay.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// Policy.
    pub policy: ReplayPolicy,
    /// Policy to compare with.
    pub against: Option<ReplayPolicy>,
    /// Whether every rate limit is replayed under each algorithm.
    pub algorithms: AlgorithmReplays,
    /// What becomes of requests that the log shows as limited.
    pub limited: LimitedRequests,
    /// Conditions of `--fail-if`.
    pub thresholds: Vec<Threshold>,
    /// Bound on the memory of states and counts, in bytes.
    pub max_memory: usize,
}

/// Whether every rate limit is replayed under each algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum AlgorithmReplays {
    /// Only as the policy says.
    #[default]
    Skip,
    /// Under all algorithms as well.
    All,
}

/// What becomes of requests that the log shows as limited already (status 429).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LimitedRequests {
    /// They are decided like others.
    #[default]
    Ask,
    /// They are left out.
    Skip,
}

/// Replay in progress.
#[derive(Debug)]
pub struct Replay {
    name: String,
    run: Run,
    tally: Tally,
    against: Option<OtherPolicy>,
    algorithms: Vec<AlgorithmRun>,
    limited: LimitedRequests,
    thresholds: Vec<Threshold>,
    verdicts: Option<VerdictWriter>,
    precision: Precision,
    stamps: Stamps,
    axis: Option<GrowingAxis>,
    notes: Vec<String>,
}

impl Replay {
    /// Replay of logs with these facts, by file. Checks what can be known before the first request.
    pub fn new(options: ReplayOptions, files: &[(String, FileFacts)]) -> Result<Self, ReplayError> {
        let ReplayOptions { policy, against, algorithms, limited, thresholds, max_memory } = options;
        let facts = || files.iter().map(|(_, facts)| facts);
        let (precision, stamps) = (Precision::of(facts()), Stamps::of(facts()));
        let mut notes = Vec::new();
        let without_duration = facts().find(|facts| !facts.has_duration);
        let directive = without_duration.and_then(|facts| facts.format.directive());
        let remedy = directive.map_or_else(String::new, |directive| format!("; log {}", directive.fields));
        let runs =
            1 + usize::from(against.is_some()) + if algorithms == AlgorithmReplays::All { 4 } else { 0 };
        // Half for the states, half for the counts.
        let (run_memory, max_subjects) = (max_memory / 2 / runs, max_memory / 2 / SUBJECT_BYTES / runs);
        let mut prepare = |policy: ReplayPolicy| -> Result<ReplayPolicy, ReplayError> {
            check_windows(&policy, files)?;
            notes.extend(check_attributes(&policy, files)?);
            if without_duration.is_none() {
                return Ok(policy);
            }
            for (rule, limit) in policy.limits().filter(|(_, limit)| limit.needs_id()) {
                notes.push(format!(
                    "the limit {limit} of rule `{rule}` is left out: the log has no durations{remedy}"
                ));
            }
            Ok(policy.without_in_flight())
        };
        let (policy, against) = (prepare(policy)?, against.map(&mut prepare).transpose()?);
        notes.sort();
        notes.dedup();
        let rules: Vec<&str> = policy.limits().map(|(rule, _)| rule).collect();
        for threshold in &thresholds {
            threshold.check(&rules, against.as_ref().map(ReplayPolicy::name))?;
        }
        let compiled = policy.compile()?;
        let tally = Tally::new(&compiled, policy.rules(), stamps, max_subjects)?;
        let against = against.map(|other| {
            let run = Run::new(other.compile()?, run_memory);
            Ok::<_, ReplayError>(OtherPolicy::new(other.name().to_owned(), run, compiled.rules().len()))
        });
        let algorithms = match algorithms {
            AlgorithmReplays::Skip => &[][..],
            AlgorithmReplays::All => &Algorithm::ALL,
        };
        let algorithms = algorithms
            .iter()
            .map(|algorithm| AlgorithmRun::new(*algorithm, &policy, run_memory, max_subjects));
        Ok(Self {
            name: policy.name().to_owned(),
            against: against.transpose()?,
            algorithms: algorithms.collect::<Result<_, _>>()?,
            run: Run::new(compiled, run_memory),
            tally,
            limited,
            thresholds,
            verdicts: None,
            precision,
            stamps,
            axis: None,
            notes,
        })
    }

    /// Replay that writes a line per request.
    pub fn write_verdicts(
        mut self,
        out: Box<dyn Write>,
        format: VerdictFormat,
        files: Vec<String>,
    ) -> io::Result<Self> {
        self.verdicts = Some(VerdictWriter::new(out, format, files)?);
        Ok(self)
    }

    /// Decides the next request of the log. An error is one of the file for verdicts.
    pub fn decide(&mut self, logged: &LoggedRequest<'_>) -> io::Result<()> {
        let place = VerdictPlace { file: logged.file, line: logged.line, at_ms: logged.start_ms };
        if logged.status == Some(TOO_MANY_REQUESTS) {
            self.tally.counts.limited_in_log += 1;
            if self.limited == LimitedRequests::Skip {
                self.tally.counts.skipped += 1;
                return self.write_verdict(place, &VerdictRecord::undecided("skipped"));
            }
        }
        let time = RequestTime { start_ms: logged.start_ms, duration_ms: logged.duration_ms };
        self.decide_request(place, time, &logged.to_request())
    }

    fn decide_request(
        &mut self,
        place: VerdictPlace,
        time: RequestTime,
        request: &Request<'_>,
    ) -> io::Result<()> {
        let axis = self.axis.get_or_insert_with(|| GrowingAxis::new(time.start_ms));
        let moment = DecisionTime {
            at_ms: time.start_ms,
            demand_ms: self.stamps.demand_ms(time.start_ms),
            bucket: axis.bucket(time.start_ms),
        };
        let (tally, against, wants_record) = (&mut self.tally, &mut self.against, self.verdicts.is_some());
        let policy = against.as_ref().map(|_| self.run.policy());
        let decided = self.run.decide(time, request, |answer, hits| {
            tally.add(moment, answer, hits);
            if let (Some(against), Some(policy)) = (against, &policy) {
                against.decide(moment, time, request, PolicyAnswer { answer, hits, policy });
            }
            wants_record.then(|| VerdictRecord::of(answer, hits, |rule| tally.rule_name(rule).to_owned()))
        });
        for algorithm in &mut self.algorithms {
            let (run, counts) = algorithm.parts();
            // A request that this policy cannot judge, none can.
            let _ = run.decide(time, request, |answer, hits| counts.add(moment, answer, hits));
        }
        match decided {
            Ok(Some(record)) => self.write_verdict(place, &record),
            Ok(None) => Ok(()),
            Err(_) => {
                self.tally.counts.invalid += 1;
                self.write_verdict(place, &VerdictRecord::undecided("invalid"))
            }
        }
    }

    fn write_verdict(&mut self, place: VerdictPlace, record: &VerdictRecord) -> io::Result<()> {
        match &mut self.verdicts {
            Some(verdicts) => verdicts.write(place, record),
            None => Ok(()),
        }
    }

    /// Report, once the log has ended. An error is one of the file for verdicts.
    pub fn finish(self, read: &ReadReport) -> io::Result<ReplayReport> {
        let Self {
            name,
            run,
            tally,
            against,
            algorithms,
            thresholds,
            verdicts,
            precision,
            axis,
            mut notes,
            ..
        } = self;
        if let Some(verdicts) = verdicts {
            verdicts.finish()?;
        }
        let policy = run.policy();
        notes.extend(run.notes(&name));
        notes.extend(against.iter().flat_map(|against| against.run.notes(&against.name)));
        notes.extend(tally.notes());
        notes.extend(read.files.iter().filter_map(FileReport::unread).map(|unread| unread.to_string()));
        let axis = axis.unwrap_or(GrowingAxis::new(0));
        let (requests_timeline, denied_timeline) = tally.timelines();
        let counts = tally.counts;
        let mut report = ReplayReport {
            policy: name,
            read: LogSummary::from(read),
            precision,
            axis: (counts.decided > 0).then(|| axis.axis()),
            requests: counts,
            requests_timeline: requests_timeline.into_timeline(&axis),
            denied_timeline: denied_timeline.into_timeline(&axis),
            most_denied: tally.most_denied(&policy, &axis),
            rules: tally.into_rules(&axis),
            against: against.map(|against| against.into_report(&policy)),
            algorithms: algorithms.into_iter().map(AlgorithmRun::into_report).collect(),
            thresholds: Vec::new(),
            notes,
        };
        report.thresholds = thresholds.iter().map(|threshold| threshold.evaluate(&report)).collect();
        Ok(report)
    }
}

/// Refuses windows that the stamps of a log cannot resolve.
fn check_windows(policy: &ReplayPolicy, files: &[(String, FileFacts)]) -> Result<(), ReplayError> {
    let is_whole = |facts: &FileFacts| facts.time_unit == crate::access_log::TimeUnit::Second;
    let Some((file, facts)) = files.iter().find(|(_, facts)| is_whole(facts)) else { return Ok(()) };
    match policy.limits().find(|(_, limit)| limit.window_ms() < SECOND_MS && !limit.needs_id()) {
        Some((rule, limit)) => Err(ReplayError::WindowUnderStamps {
            rule: rule.to_owned(),
            limit: limit.to_string(),
            file: file.clone(),
            format: facts.format,
        }),
        None => Ok(()),
    }
}
