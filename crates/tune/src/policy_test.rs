//! Unit tests of a policy: requests at given times, and what is expected of the answers.
//!
//! ```
//! use slidegate::policy::Policy;
//! use slidegate_tune::policy_test::{TestFile, run};
//!
//! let policy = Policy::parse("policy.yaml", "
//! version: 1
//! rules:
//!   - { name: login, match: { path: /login }, key: [ip], limits: [1/min] }
//! ")?;
//! let file = TestFile::parse("login.test.yaml", "
//! policy: policy.yaml
//! tests:
//!   - name: one login a minute
//!     steps:
//!       - { with: { path: /login, ip: 203.0.113.7 }, expect: allowed }
//!       - { at: 1s, with: { path: /login, ip: 203.0.113.7 }, expect: { denied: [login], retry_after: 59s } }
//! ")?;
//! file.check_rules(&policy)?;
//! assert!(run(&policy, &file.tests[0]).passed());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | `file` | the test file: tests, steps, expectations, with the positions of their errors |
//! | `format` | formats of its values: times, attributes |
//! | `expectation` | what is expected, compared with an answer |
//! | `answer` | the answer of the gate, in the terms of expectations |
//! | `run` | a test, run over an empty store on a manual clock |
//! | `junit` | results as JUnit XML |

mod answer;
mod expectation;
mod file;
mod format;
mod junit;
mod run;

pub use answer::{StepAnswer, StepOutcome};
pub use expectation::{Expectation, Mismatch};
pub use file::{PolicyTest, TestFile, TestStep};
pub use junit::junit;
pub use run::{StepFailure, TestFileResult, TestResult, run};
