//! Commands, written out before anything is measured.

use crate::http::requests::{CLIENTS, address};

/// The bytes of many pipelines that are sent again and again. All together have one command for
/// each client.
#[derive(Debug)]
pub struct Commands {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    next: usize,
}

impl Commands {
    /// Pipelines of so many commands each; `command` makes the one for a client of this address.
    pub fn pipelined(depth: usize, command: impl Fn(&str) -> String) -> Self {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for client in 0..CLIENTS {
            write(&mut bytes, &command(&address(client)));
            if (client as usize + 1).is_multiple_of(depth) {
                ends.push(bytes.len());
            }
        }
        assert_eq!(ends.len() * depth, CLIENTS as usize, "pipelines of {depth} make up all clients");
        Self { bytes, ends, next: 0 }
    }

    /// The next pipeline; after the last comes the first.
    pub fn take(&mut self) -> &[u8] {
        let start = if self.next == 0 { 0 } else { self.ends[self.next - 1] };
        let end = self.ends[self.next];
        self.next = (self.next + 1) % self.ends.len();
        &self.bytes[start..end]
    }
}

/// Words as clients send them: an array of strings.
fn write(bytes: &mut Vec<u8>, command: &str) {
    let words: Vec<&str> = command.split(' ').collect();
    bytes.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::{CLIENTS, Commands};

    #[test]
    fn pipelines_go_round() {
        let mut commands = Commands::pipelined(16, |client| format!("INCR {client}"));
        let first = commands.take().to_vec();
        assert!(
            first.starts_with(
                b"*2\r\n$4\r\nINCR\r\n$9\r\n203.0.0.0\r\n*2\r\n$4\r\nINCR\r\n$9\r\n203.1.0.1\r\n"
            )
        );
        for _ in 1..CLIENTS / 16 {
            assert_ne!(commands.take(), first);
        }
        assert_eq!(commands.take(), first);
    }
}
