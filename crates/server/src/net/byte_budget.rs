//! Byte budget of incomplete calls. A call that arrives in one piece takes none of it.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum over all connections. A client may have an incomplete message in each of its calls, and
/// many connections.
const MAX_BYTES: usize = 64 << 20;
/// Maximum on one connection of calls that need no token.
const MAX_OPEN_BYTES: usize = 8 << 10;

/// Divisor: a connection has at most this fraction of the bytes that are left. After ten
/// connections that send as much as they can three tenths are left, and after fifty the next has 20
/// KiB.
const PART_OF_REST: usize = 8;

/// Byte budget of incomplete calls.
pub(crate) struct ByteBudget {
    bytes: AtomicUsize,
    max_bytes: usize,
}

impl ByteBudget {
    /// Budget of all connections.
    pub(crate) fn of_all() -> Self {
        Self { bytes: AtomicUsize::new(0), max_bytes: MAX_BYTES }
    }

    /// Budget of the calls on one connection that need a token. They count in the budget of all
    /// connections, too.
    pub(crate) fn of_one() -> Self {
        Self::of_all()
    }

    /// Budget of the calls on one connection that need no token: a client that exhausts it affects
    /// only itself.
    pub(crate) fn of_open_calls() -> Self {
        Self { bytes: AtomicUsize::new(0), max_bytes: MAX_OPEN_BYTES }
    }

    /// Reservation, which is empty yet. It also counts in `shared`, if that is given.
    pub(crate) fn part<'a>(&'a self, shared: Option<&'a Self>) -> ByteReservation<'a> {
        ByteReservation { of: self, shared, bytes: 0 }
    }

    /// Adds bytes, and returns the total.
    fn add(&self, bytes: usize) -> usize {
        self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    fn subtract(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Reservation of a call, until it is dropped.
pub(crate) struct ByteReservation<'a> {
    of: &'a ByteBudget,
    shared: Option<&'a ByteBudget>,
    bytes: usize,
}

impl ByteReservation<'_> {
    /// Adds bytes; `false` if that exceeds the budget.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        let here = self.of.add(bytes);
        let most_here = self.shared.map_or(self.of.max_bytes, |shared| {
            shared.max_bytes.saturating_sub(shared.add(bytes)) / PART_OF_REST
        });
        here <= most_here
    }

    /// Removes bytes.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.of.subtract(bytes);
        if let Some(shared) = self.shared {
            shared.subtract(bytes);
        }
    }
}

impl Drop for ByteReservation<'_> {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_there_for_others() {
        for all in [ByteBudget::of_all(), ByteBudget::of_open_calls()] {
            let (mut one, mut other) = (all.part(None), all.part(None));
            assert!(one.grow(all.max_bytes - 1) && other.grow(1));
            assert!(!other.grow(1));
            one.shrink(1);
            assert!(!other.grow(1));
            drop(one);
            assert!(other.grow(1));
            drop(other);
            assert!(all.part(None).grow(all.max_bytes));
            assert_eq!(all.bytes.into_inner(), 0);
        }
    }

    /// Connections take as much as they get, and another one gets something.
    #[test]
    fn a_few_connections_do_not_use_it_up() {
        const PIECE: usize = 1 << 10;
        for connections in [1, 10, 50] {
            let all = ByteBudget::of_all();
            let ones: Vec<_> = (0..connections).map(|_| ByteBudget::of_one()).collect();
            let mut parts: Vec<_> = ones.iter().map(|one| one.part(Some(&all))).collect();
            for part in &mut parts {
                while part.grow(PIECE) {}
                // A call that exceeds the budget is over, and takes nothing.
                part.shrink(PIECE);
            }
            let newcomer = ByteBudget::of_one();
            let mut part = newcomer.part(Some(&all));
            assert!(part.grow(PIECE), "after {connections}");
            assert!(all.bytes.load(Ordering::Relaxed) < MAX_BYTES);
            drop((part, parts));
            assert_eq!(all.bytes.into_inner(), 0);
        }
    }
}
