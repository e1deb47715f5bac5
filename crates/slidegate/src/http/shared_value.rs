//! Header values that many answers share.

use std::collections::BTreeSet;
use std::sync::Mutex;

use ::http::HeaderValue;

/// Maximum number of texts that live as long as the process.
const MAX_TEXTS: usize = 1_024;

/// Texts of shared values, which are never freed: rules and limits have few of them, the same after
/// every reload.
static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Value that is cloned into many answers. A copy of a static text counts no references: threads
/// would wait for each other's counts. Beyond the maximum number of texts a value has them.
#[cold]
pub(super) fn shared_value(text: &str) -> HeaderValue {
    match static_text(text) {
        Some(text) => HeaderValue::from_static(text),
        None => super::fields::text_value(text),
    }
}

fn static_text(text: &str) -> Option<&'static str> {
    let mut texts = TEXTS.lock().ok()?;
    if let Some(existing) = texts.get(text) {
        return Some(existing);
    }
    if texts.len() >= MAX_TEXTS {
        return None;
    }
    let text: &'static str = text.to_owned().leak();
    texts.insert(text);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In one test, which fills the set for good.
    #[test]
    fn texts_are_shared_up_to_a_maximum() {
        let place = |text: &str| static_text(text).map(str::as_ptr);
        assert_eq!(place("\"login\";q=5;w=60"), place("\"login\";q=5;w=60"));
        for number in 0..2 * MAX_TEXTS {
            assert_eq!(shared_value(&number.to_string()), number.to_string());
        }
        assert_eq!(TEXTS.lock().expect("no test panics").len(), MAX_TEXTS);
        assert_eq!(place("one more"), None);
    }
}
