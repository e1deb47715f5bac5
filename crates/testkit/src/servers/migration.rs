//! Migration of a slot from one primary of a cluster to another, step by step.

use super::{Cluster, RespReply};

/// Slot in migration. Until it ends, commands go to the old primary, which answers ASK for keys
/// that it does not have.
#[must_use = "a migration has to be finished"]
pub struct Migration {
    slot: u16,
    from: usize,
    to: usize,
}

impl Cluster {
    /// Moves a slot in one call.
    pub fn migrate_slot(&self, slot: u16, to: usize) {
        let migration = self.begin_migration(slot, to);
        self.finish_migration(&migration);
    }

    /// Starts the migration of a slot from its primary. No key has moved yet.
    pub fn begin_migration(&self, slot: u16, to: usize) -> Migration {
        let from = self.primary_of(slot);
        let word = slot.to_string();
        self.node(to).must(&["CLUSTER", "SETSLOT", &word, "IMPORTING", &self.id(from)]);
        self.node(from).must(&["CLUSTER", "SETSLOT", &word, "MIGRATING", &self.id(to)]);
        Migration { slot, from, to }
    }

    /// Moves the current keys. The slot still belongs to its old primary.
    pub fn move_keys(&self, migration: &Migration) {
        let (from, port) = (self.node(migration.from), self.node(migration.to).port().to_string());
        loop {
            let keys =
                from.command(&["CLUSTER", "GETKEYSINSLOT", &migration.slot.to_string(), "100"]).items();
            if keys.is_empty() {
                return;
            }
            let head =
                ["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"].map(|word| word.as_bytes().to_vec());
            let keys = keys.into_iter().map(|key| match key {
                RespReply::Bulk(Some(key)) => key,
                other => panic!("not a key: {other:?}"),
            });
            let reply = from.command(&head.into_iter().chain(keys).collect::<Vec<_>>());
            // NOKEY: all of them have expired in the meantime.
            assert!(
                matches!(&reply, RespReply::Simple(text) if text == "OK" || text == "NOKEY"),
                "{reply:?}"
            );
        }
    }

    /// Moves the remaining keys, and assigns the slot to its new primary. Returns when every node
    /// knows it.
    pub fn finish_migration(&self, migration: &Migration) {
        self.move_keys(migration);
        let (slot, owner) = (migration.slot.to_string(), self.id(migration.to));
        // The new primary first: were it the old one, the slot would be nobody's in between.
        let (new, old) = (self.node(migration.to), self.node(migration.from));
        let others = self.primaries().filter(|node| ![new.port(), old.port()].contains(&node.port()));
        for node in [new, old].into_iter().chain(others) {
            node.must(&["CLUSTER", "SETSLOT", &slot, "NODE", &owner]);
        }
        self.wait_until_ok();
    }
}
