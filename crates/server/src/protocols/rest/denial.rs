//! Denials: problem details with the members of a verdict.

use hyper::StatusCode;
use slidegate::http::json;
use slidegate::http::verdict_json::{LimitRow, VerdictRow, denial_title, put_denial, put_problem};
use slidegate::{Source, Summary, Verdict, Wait};

/// Writes the members of a denial.
pub(crate) fn put_members<'a, R: Iterator<Item = LimitRow<'a>>>(
    out: &mut Vec<u8>,
    status: StatusCode,
    (verdict, summary): (&Verdict, &Summary),
    rows: impl Fn() -> R,
) {
    put_problem(out, denial_title(verdict.source), status.as_u16());
    out.extend_from_slice(b",\"detail\":\"");
    put_detail(out, verdict.source, summary.wait, rows().filter(LimitRow::is_violated));
    out.push(b'"');
    put_denial(out, &VerdictRow::new(verdict, summary), rows);
}

/// Text: the limits that deny, and the time to retry.
fn put_detail<'a>(
    out: &mut Vec<u8>,
    source: Source,
    wait: Wait,
    violated: impl Iterator<Item = LimitRow<'a>>,
) {
    let mut before: &[u8] = b"";
    for row in violated {
        out.extend_from_slice(before);
        json::escaped(out, row.policy);
        before = b", ";
    }
    match (source, wait) {
        (Source::Assumed, _) => {
            out.extend_from_slice(b": the store is unavailable, and the rule denies meanwhile");
        }
        (Source::Local, Wait::Never) => {
            out.extend_from_slice(
                b": the cost is more than this node's share of the quota, by which it decides while the store \
                  does not answer; ask for less, or again later",
            );
        }
        (_, Wait::Never) => {
            out.extend_from_slice(b": the cost exceeds what the limit admits at once; ask for less");
        }
        (_, Wait::None | Wait::After(_) | Wait::Within(_)) => out.extend_from_slice(b": quota used up"),
    }
    let (words, ms): (&[u8], _) = match wait {
        Wait::None | Wait::Never => return,
        Wait::After(ms) => (b"; try again in ", ms),
        Wait::Within(ms) => (b"; a slot may be free at any time, at the latest in ", ms),
    };
    out.extend_from_slice(words);
    json::number(out, ms);
    out.extend_from_slice(b" ms");
}
