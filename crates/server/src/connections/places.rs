//! How many connections are open, in all and from each address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Bounds;

/// The most connections that are told to come again at a time.
const MAX_IN_LANE: usize = 256;

/// The places of a listener.
#[derive(Default)]
pub(crate) struct Places {
    taken: Mutex<Taken>,
    emptied: Notify,
}

#[derive(Default)]
struct Taken {
    seats: usize,
    by_address: HashMap<IpAddr, usize>,
    in_lane: usize,
}

/// Room for one connection, until it is dropped.
pub(crate) struct Place {
    of: Arc<Places>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Seat(IpAddr),
    Lane,
}

impl Places {
    /// A place for a connection from there; none if not even those who are turned away have room.
    pub(crate) fn take(self: &Arc<Self>, bounds: &Bounds, address: IpAddr) -> Option<Place> {
        let group = bounds.group(address);
        let kind = self.taken.lock().take(bounds, group)?;
        Some(Place { of: Arc::clone(self), kind })
    }

    /// Completes when every place was left.
    pub(crate) async fn emptied(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.taken.lock().is_empty() {
                return;
            }
            emptied.await;
        }
    }
}

impl Taken {
    fn take(&mut self, bounds: &Bounds, group: IpAddr) -> Option<Kind> {
        let from_there = self.by_address.get(&group).copied().unwrap_or(0);
        if self.seats < bounds.max && from_there < bounds.max_per_address {
            self.seats += 1;
            self.by_address.insert(group, from_there + 1);
            return Some(Kind::Seat(group));
        }
        if self.in_lane < MAX_IN_LANE {
            self.in_lane += 1;
            return Some(Kind::Lane);
        }
        None
    }

    fn leave(&mut self, kind: Kind) {
        match kind {
            Kind::Lane => self.in_lane -= 1,
            Kind::Seat(group) => {
                self.seats -= 1;
                match self.by_address.get_mut(&group) {
                    Some(count) if *count > 1 => *count -= 1,
                    _ => drop(self.by_address.remove(&group)),
                }
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.seats == 0 && self.in_lane == 0
    }
}

impl Place {
    /// Whether it is one too many, and only told so.
    pub(crate) fn is_in_lane(&self) -> bool {
        self.kind == Kind::Lane
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.of.taken.lock();
        taken.leave(self.kind);
        if taken.is_empty() {
            self.of.emptied.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bounds::tests::usual;
    use super::*;

    fn from(last: u8) -> IpAddr {
        IpAddr::from([203, 0, 113, last])
    }

    #[test]
    fn so_many_in_all_and_so_many_from_one_address() {
        let bounds = Bounds { max: 3, max_per_address: 2, ..usual() };
        let places = Arc::new(Places::default());
        let take = |last| places.take(&bounds, from(last));
        let mut seats = vec![take(1), take(1)];
        assert!(take(1).is_some_and(|place| place.is_in_lane()), "the third from one address");
        seats.push(take(2));
        assert!(seats.iter().flatten().all(|place| !place.is_in_lane()));
        assert!(take(3).is_some_and(|place| place.is_in_lane()), "the fourth in all");
        seats.swap_remove(0);
        assert!(take(1).is_some_and(|place| !place.is_in_lane()), "one has left");
        drop(seats);
        let taken = places.taken.lock();
        assert!(taken.is_empty() && taken.by_address.is_empty());
    }

    #[test]
    fn the_lane_has_an_end() {
        let bounds = Bounds { max: 1, ..usual() };
        let places = Arc::new(Places::default());
        let take = || places.take(&bounds, from(1));
        let kept: Vec<_> = (0..=MAX_IN_LANE).map(|_| take()).collect();
        assert!(kept.iter().all(Option::is_some));
        assert!(take().is_none());
        drop(kept);
        assert!(take().is_some_and(|place| !place.is_in_lane()));
    }
}
