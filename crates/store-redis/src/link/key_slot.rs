//! Slot of a hash tag in a Cluster.

/// Number of slots of a Cluster.
pub(super) const SLOTS: u16 = 16_384;

/// Slot of keys with this hash tag: CRC16 (XMODEM) of the text between the braces.
pub(crate) fn slot_of(tag: &[u8]) -> u16 {
    tag.iter().fold(0_u16, |crc, byte| crc << 8 ^ TABLE[usize::from(crc >> 8) ^ usize::from(*byte)]) % SLOTS
}

const TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As CLUSTER KEYSLOT answers.
    #[test]
    fn slots_are_those_of_the_server() {
        for (tag, slot) in
            [("123456789", 12_739), ("", 0), ("foo", 12_182), ("bar", 5_061), ("user1000", 3_443)]
        {
            assert_eq!(slot_of(tag.as_bytes()), slot, "{tag}");
        }
    }
}
