//! Connection slots of a listener: limited in total and per address.

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
    table: Mutex<SlotTable>,
    emptied: Notify,
}

#[derive(Default)]
struct SlotTable {
    all: Slab<SlotKind>,
    regular: usize,
    by_address: HashMap<IpAddr, usize>,
    surplus: usize,
    leaving: usize,
}

/// Slot of a connection, until it is dropped.
pub(crate) struct ConnectionSlot {
    of: Arc<ConnectionSlots>,
    key: usize,
    is_surplus: bool,
}

/// Reason why there is no slot for a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shortage {
    /// The listener has reached its limit.
    Total,
    /// The address has reached its limit.
    Address,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SlotKind {
    Regular(IpAddr),
    /// Beyond the limit: the connection is only refused.
    Surplus,
    /// Ordered to end, with its slot given to another connection.
    Leaving,
}

impl ConnectionSlots {
    /// Slot for a connection from an address.
    pub(crate) fn regular(
        self: &Arc<Self>,
        bounds: &ConnectionLimits,
        capacity: Capacity,
        address: IpAddr,
    ) -> Result<ConnectionSlot, Shortage> {
        let group = bounds.group(address);
        let table = &mut *self.table.lock();
        let of_group = table.by_address.get(&group).copied().unwrap_or(0);
        if of_group >= bounds.max_per_address {
            return Err(Shortage::Address);
        }
        if table.regular >= capacity.max {
            return Err(Shortage::Total);
        }
        table.regular += 1;
        table.by_address.insert(group, of_group + 1);
        let key = table.all.insert(SlotKind::Regular(group));
        Ok(ConnectionSlot { of: Arc::clone(self), key, is_surplus: false })
    }

    /// Slot for a surplus connection; `None` if all are taken.
    pub(crate) fn surplus(self: &Arc<Self>, capacity: Capacity) -> Option<ConnectionSlot> {
        let table = &mut *self.table.lock();
        if table.surplus >= capacity.surplus {
            return None;
        }
        table.surplus += 1;
        let key = table.all.insert(SlotKind::Surplus);
        Some(ConnectionSlot { of: Arc::clone(self), key, is_surplus: true })
    }

    /// Frees the slot of a connection that is to end. `false` if too many are leaving already.
    pub(super) fn vacate(&self, key: usize, capacity: Capacity) -> bool {
        let table = &mut *self.table.lock();
        if table.leaving >= capacity.surplus {
            return false;
        }
        let Some(kind) = table.all.get_mut(key) else { return false };
        let before = std::mem::replace(kind, SlotKind::Leaving);
        table.leaving += 1;
        table.free(before);
        true
    }

    /// Completes when every slot is free.
    pub(crate) async fn emptied(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.table.lock().all.is_empty() {
                return;
            }
            emptied.await;
        }
    }
}

impl SlotTable {
    fn free(&mut self, kind: SlotKind) {
        match kind {
            SlotKind::Leaving => self.leaving -= 1,
            SlotKind::Surplus => self.surplus -= 1,
            SlotKind::Regular(group) => {
                self.regular -= 1;
                match self.by_address.get_mut(&group) {
                    Some(count) if *count > 1 => *count -= 1,
                    _ => drop(self.by_address.remove(&group)),
                }
            }
        }
    }
}

impl ConnectionSlot {
    /// Whether the connection exceeds the limit and is only refused.
    pub(crate) fn is_surplus(&self) -> bool {
        self.is_surplus
    }

    pub(super) fn key(&self) -> usize {
        self.key
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut table = self.of.table.lock();
        let kind = table.all.remove(self.key);
        table.free(kind);
        if table.all.is_empty() {
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
    fn slots_are_limited_in_total_and_per_address() {
        let bounds = ConnectionLimits { max: 3, max_per_address: 2, ..usual() };
        let slots = Arc::new(ConnectionSlots::default());
        let capacity = Capacity::configured(&bounds);
        let take =
            |last| slots.regular(&bounds, capacity, from(last)).ok().or_else(|| slots.surplus(capacity));
        let mut occupied = vec![take(1), take(1)];
        assert!(take(1).is_some_and(|slot| slot.is_surplus()), "the third from one address");
        occupied.push(take(2));
        assert!(occupied.iter().flatten().all(|slot| !slot.is_surplus()));
        assert!(take(3).is_some_and(|slot| slot.is_surplus()), "the fourth in all");
        occupied.swap_remove(0);
        assert!(take(1).is_some_and(|slot| !slot.is_surplus()), "one has left");
        drop(occupied);
        let table = slots.table.lock();
        assert!(table.all.is_empty() && table.by_address.is_empty());
    }

    #[test]
    fn surplus_slots_are_limited() {
        let bounds = ConnectionLimits { max: 1, ..usual() };
        let slots = Arc::new(ConnectionSlots::default());
        let capacity = Capacity::configured(&bounds);
        let take = || slots.regular(&bounds, capacity, from(1)).ok().or_else(|| slots.surplus(capacity));
        let all: Vec<_> = (0..=256).map(|_| take()).collect();
        assert!(all.iter().all(Option::is_some));
        assert!(take().is_none());
        drop(all);
        assert!(take().is_some_and(|slot| !slot.is_surplus()));
    }
}
