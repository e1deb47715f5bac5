//! Admission: slots for connections, in total and per address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use slab::Slab;
use tokio::sync::Notify;

use super::Capacity;
use crate::config::connection_limits::ConnectionLimits;

/// Slots of a listener.
#[derive(Default)]
pub(crate) struct ConnectionSlots {
    taken: Mutex<SlotTable>,
    emptied: Notify,
}

#[derive(Default)]
struct SlotTable {
    all: Slab<SlotKind>,
    seats: usize,
    by_address: HashMap<IpAddr, usize>,
    in_lane: usize,
    leaving: usize,
}

/// Slot of a connection, until it is dropped.
pub(crate) struct ConnectionSlot {
    of: Arc<ConnectionSlots>,
    key: usize,
    is_in_lane: bool,
}

/// Reason why there is no slot for a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shortage {
    /// As many as may be are taken.
    Seats,
    /// As many as may be are taken from its address.
    Address,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SlotKind {
    Seat(IpAddr),
    Lane,
    /// Ordered to end, with its slot given to another connection.
    Leaving,
}

impl ConnectionSlots {
    /// Slot for a connection from an address.
    pub(crate) fn seat(
        self: &Arc<Self>,
        bounds: &ConnectionLimits,
        capacity: Capacity,
        address: IpAddr,
    ) -> Result<ConnectionSlot, Shortage> {
        let key = self.taken.lock().seat(bounds, capacity, bounds.group(address))?;
        Ok(ConnectionSlot { of: Arc::clone(self), key, is_in_lane: false })
    }

    /// Slot in the lane for a surplus connection; `None` if the lane is full.
    pub(crate) fn lane(self: &Arc<Self>, capacity: Capacity) -> Option<ConnectionSlot> {
        let key = self.taken.lock().lane(capacity)?;
        Some(ConnectionSlot { of: Arc::clone(self), key, is_in_lane: true })
    }

    /// Frees the slot of a connection that is to end. `false` if too many are leaving already.
    pub(super) fn vacate(&self, key: usize, capacity: Capacity) -> bool {
        self.taken.lock().vacate(key, capacity)
    }

    /// Completes when every slot is free.
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

impl SlotTable {
    fn seat(
        &mut self,
        bounds: &ConnectionLimits,
        capacity: Capacity,
        group: IpAddr,
    ) -> Result<usize, Shortage> {
        let from_there = self.by_address.get(&group).copied().unwrap_or(0);
        if from_there >= bounds.max_per_address {
            return Err(Shortage::Address);
        }
        if self.seats >= capacity.max {
            return Err(Shortage::Seats);
        }
        self.seats += 1;
        self.by_address.insert(group, from_there + 1);
        Ok(self.all.insert(SlotKind::Seat(group)))
    }

    fn lane(&mut self, capacity: Capacity) -> Option<usize> {
        if self.in_lane >= capacity.surplus {
            return None;
        }
        self.in_lane += 1;
        Some(self.all.insert(SlotKind::Lane))
    }

    fn vacate(&mut self, key: usize, capacity: Capacity) -> bool {
        if self.leaving >= capacity.surplus {
            return false;
        }
        let Some(kind) = self.all.get_mut(key) else { return false };
        let before = std::mem::replace(kind, SlotKind::Leaving);
        self.leaving += 1;
        self.free(before);
        true
    }

    fn free(&mut self, kind: SlotKind) {
        match kind {
            SlotKind::Leaving => self.leaving -= 1,
            SlotKind::Lane => self.in_lane -= 1,
            SlotKind::Seat(group) => {
                self.seats -= 1;
                match self.by_address.get_mut(&group) {
                    Some(count) if *count > 1 => *count -= 1,
                    _ => drop(self.by_address.remove(&group)),
                }
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

impl ConnectionSlot {
    /// Whether the connection exceeds the limit and is only refused.
    pub(crate) fn is_in_lane(&self) -> bool {
        self.is_in_lane
    }

    pub(super) fn key(&self) -> usize {
        self.key
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut taken = self.of.taken.lock();
        let kind = taken.all.remove(self.key);
        taken.free(kind);
        if taken.is_empty() {
            self.of.emptied.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::connection_limits::tests::usual;

    fn from(last: u8) -> IpAddr {
        IpAddr::from([203, 0, 113, last])
    }

    #[test]
    fn so_many_in_all_and_so_many_from_one_address() {
        let bounds = ConnectionLimits { max: 3, max_per_address: 2, ..usual() };
        let places = Arc::new(ConnectionSlots::default());
        let capacity = Capacity::configured(&bounds);
        let take = |last| places.seat(&bounds, capacity, from(last)).ok().or_else(|| places.lane(capacity));
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
        let bounds = ConnectionLimits { max: 1, ..usual() };
        let places = Arc::new(ConnectionSlots::default());
        let capacity = Capacity::configured(&bounds);
        let take = || places.seat(&bounds, capacity, from(1)).ok().or_else(|| places.lane(capacity));
        let kept: Vec<_> = (0..=256).map(|_| take()).collect();
        assert!(kept.iter().all(Option::is_some));
        assert!(take().is_none());
        drop(kept);
        assert!(take().is_some_and(|place| !place.is_in_lane()));
    }
}
