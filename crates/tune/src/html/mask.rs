//! Subjects without their identity: networks instead of addresses, and hashes instead of the rest.

use std::fmt::Write;
use std::net::IpAddr;

use ipnet::IpNet;
use sha2::{Digest, Sha256};
use slidegate::policy::KeyText;

use crate::replay::report::OverrideCondition;

/// Bits of an IPv4 address that a report has.
const IPV4_BITS: u8 = 24;
/// Bits of an IPv6 address that a report has.
const IPV6_BITS: u8 = 48;
/// Bytes of a hash that a report has: enough to tell the subjects of a report apart.
const HASH_BYTES: usize = 4;

/// How the subjects of a report appear.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubjectStyle {
    /// IPv4 as /24, IPv6 as /48, everything else as a hash.
    Masked,
    /// As in the log.
    Plain,
}

/// Mask of the subjects of a report.
#[derive(Clone, Debug)]
pub struct SubjectMask {
    style: SubjectStyle,
    /// Secret of the hashes, which nobody keeps: without it, a name could be found by trying names.
    secret: [u8; 16],
}

impl SubjectMask {
    /// Mask whose hashes depend on a random secret.
    pub fn new(style: SubjectStyle, secret: [u8; 16]) -> Self {
        Self { style, secret }
    }

    pub(super) fn style(&self) -> SubjectStyle {
        self.style
    }

    /// Subject in words: its values, masked or as they are.
    pub(super) fn subject(&self, key: &[KeyText]) -> String {
        if key.is_empty() {
            return "all requests".to_owned();
        }
        let parts = key.iter().map(|part| match &part.value {
            None => format!("{}: none", part.attribute),
            Some(value) if self.style == SubjectStyle::Plain => format!("{}: {value}", part.attribute),
            Some(value) => format!("{}: {}", part.attribute, self.masked(&part.attribute, value)),
        });
        parts.collect::<Vec<_>>().join(", ")
    }

    /// Conditions of an override in words, with their values masked or as they are.
    pub(super) fn conditions(&self, conditions: &[OverrideCondition]) -> String {
        let condition = |OverrideCondition { attribute, test, values }: &OverrideCondition| {
            let value = |value: &String| match self.style {
                SubjectStyle::Plain => value.clone(),
                SubjectStyle::Masked => self.masked(attribute, value),
            };
            let values: Vec<String> = values.iter().map(value).collect();
            format!("{attribute} {test} {}", values.join(" or "))
        };
        conditions.iter().map(condition).collect::<Vec<_>>().join(" and ")
    }

    fn masked(&self, attribute: &str, value: &str) -> String {
        let hash = self.hash(attribute, value);
        let address = || value.parse::<IpNet>().or_else(|_| value.parse::<IpAddr>().map(IpNet::from)).ok();
        match (attribute == "ip").then(address).flatten() {
            Some(net) => format!("{} {hash}", network(net)),
            None => hash,
        }
    }

    /// Hash that tells subjects of one report apart, and nothing more.
    fn hash(&self, attribute: &str, value: &str) -> String {
        let digest = Sha256::new()
            .chain_update(self.secret)
            .chain_update(attribute.as_bytes())
            .chain_update([0])
            .chain_update(value.as_bytes())
            .finalize();
        let mut text = "#".to_owned();
        for byte in &digest[..HASH_BYTES] {
            write!(text, "{byte:02x}").expect("writing to a string does not fail");
        }
        text
    }
}

/// Network of an address or a network, with as many bits as a report has.
fn network(net: IpNet) -> IpNet {
    let bits = match net {
        IpNet::V4(_) => IPV4_BITS,
        IpNet::V6(_) => IPV6_BITS,
    };
    IpNet::new(net.addr(), net.prefix_len().min(bits)).map_or(net, |net| net.trunc())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(attribute: &str, value: &str) -> KeyText {
        KeyText { attribute: attribute.to_owned(), value: Some(value.to_owned()) }
    }

    #[test]
    fn masked_subjects_have_no_identity() {
        let mask = SubjectMask::new(SubjectStyle::Masked, [7; 16]);
        let rows = [
            ("ip", "203.0.113.77", "ip: 203.0.113.0/24 #", "77"),
            ("ip", "2001:db8:1:2::/64", "ip: 2001:db8:1::/48 #", "1:2"),
            ("ip", "nonsense", "ip: #", "nonsense"),
            ("user", "alice@example.com", "user: #", "alice"),
            ("user", "203.0.113.77", "user: #", "203"),
            ("api_key", "", "api_key: #", "::"),
        ];
        for (attribute, value, prefix, secret) in rows {
            let text = mask.subject(&[part(attribute, value)]);
            assert!(text.starts_with(prefix) && text.len() == prefix.len() + 8, "{value}: {text}");
            assert!(!text[..prefix.len()].contains(secret), "{value}: {text}");
        }
    }

    #[test]
    fn values_of_conditions_are_masked() {
        let condition = |attribute: &str, test, values: &[&str]| OverrideCondition {
            attribute: attribute.to_owned(),
            test,
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        };
        let when = [
            condition("ip", "is", &["203.0.113.77", "10.0.0.0/8"]),
            condition("api_key", "starts with", &["sk_acme"]),
        ];
        let [masked, plain] = [SubjectStyle::Masked, SubjectStyle::Plain]
            .map(|style| SubjectMask::new(style, [7; 16]).conditions(&when));
        assert_eq!(plain, "ip is 203.0.113.77 or 10.0.0.0/8 and api_key starts with sk_acme");
        let words: Vec<&str> = masked.split(' ').filter(|word| !word.starts_with('#')).collect();
        assert_eq!(words.join(" "), "ip is 203.0.113.0/24 or 10.0.0.0/8 and api_key starts with");
    }

    /// The hash of a guess says nothing without the secret; within a report it tells subjects apart.
    #[test]
    fn hashes_depend_on_the_secret() {
        let alice = [part("user", "alice")];
        let [one, other] = [1, 2].map(|secret| SubjectMask::new(SubjectStyle::Masked, [secret; 16]));
        assert_eq!(one.subject(&alice), one.subject(&alice));
        assert_ne!(one.subject(&alice), other.subject(&alice));
        assert_ne!(one.subject(&alice), one.subject(&[part("user", "bob")]));
        assert_ne!(one.subject(&alice)[6..], one.subject(&[part("org", "alice")])[5..]);
    }

    #[test]
    fn plain_subjects_are_as_in_the_log() {
        let mask = SubjectMask::new(SubjectStyle::Plain, [0; 16]);
        let key = [part("org", "acme"), KeyText { attribute: "api_key|ip".to_owned(), value: None }];
        assert_eq!(mask.subject(&key), "org: acme, api_key|ip: none");
        assert_eq!(mask.subject(&[]), "all requests");
    }
}
