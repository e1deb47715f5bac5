//! Reply of CLUSTER SLOTS.

use redis::{Value, from_redis_value};

use super::endpoint::Address;

/// Range of slots with the same primary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SlotRange {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) primary: Address,
}

/// Ranges of a reply, without those whose primary has no known address. `None` if it is invalid.
pub(super) fn read(answer: Value, sender: &Address) -> Option<Vec<SlotRange>> {
    let Value::Array(entries) = answer else { return None };
    let ranges = entries.into_iter().map(|entry| range(entry, sender)).collect::<Option<Vec<_>>>()?;
    Some(ranges.into_iter().flatten().collect())
}

/// `[first, last, [host, port, …], replicas…]`; a host that is nil is the sender's.
fn range(entry: Value, sender: &Address) -> Option<Option<SlotRange>> {
    let Value::Array(entry) = entry else { return None };
    let mut parts = entry.into_iter();
    let first = from_redis_value(parts.next()?).ok()?;
    let last = from_redis_value(parts.next()?).ok()?;
    let Value::Array(primary) = parts.next()? else { return None };
    let mut primary = primary.into_iter();
    let host: Option<String> = from_redis_value(primary.next()?).ok()?;
    let port = from_redis_value(primary.next()?).ok()?;
    let primary = Address::announced(&host.unwrap_or_default(), port, sender);
    Some(primary.map(|primary| SlotRange { first, last, primary }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<Vec<SlotRange>> {
        read(redis::parse_redis_value(text.as_bytes()).unwrap(), &Address::tcp("sender", 7000))
    }

    #[test]
    fn ranges_with_and_without_hosts() {
        let text = "*3\r\n*4\r\n:0\r\n:5460\r\n*3\r\n$9\r\n127.0.0.1\r\n:7001\r\n$2\r\nid\r\n*3\r\n$1\r\nx\r\n:1\r\n$1\r\ny\r\n\
                    *3\r\n:5461\r\n:10922\r\n*2\r\n$-1\r\n:7002\r\n*3\r\n:10923\r\n:16383\r\n*2\r\n$1\r\n?\r\n:7003\r\n";
        let expected = vec![
            SlotRange { first: 0, last: 5460, primary: Address::tcp("127.0.0.1", 7001) },
            SlotRange { first: 5461, last: 10922, primary: Address::tcp("sender", 7002) },
        ];
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("*0\r\n"), Some(Vec::new()));
        assert_eq!(parse("+OK\r\n"), None);
        assert_eq!(parse("*1\r\n*1\r\n:0\r\n"), None);
    }
}
