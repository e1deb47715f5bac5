//! Sparklines: values over time as blocks of eight heights.

/// Columns of a sparkline.
const COLUMNS: usize = 14;
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Scale of a sparkline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Value of a full block.
    pub(crate) most: u64,
    /// Column without a value.
    pub(crate) empty: char,
}

/// Sparkline of a timeline of so many buckets. A column has the highest value of its buckets.
pub(crate) fn sparkline(values: &[u64], buckets: usize, scale: Scale) -> String {
    if buckets == 0 || scale.most == 0 {
        return String::new();
    }
    let columns = COLUMNS.min(buckets);
    let column = |column: usize| {
        let (from, to) = (column * buckets / columns, (column + 1) * buckets / columns);
        let value = (from..to).filter_map(|bucket| values.get(bucket)).copied().max().unwrap_or(0);
        match value {
            0 => scale.empty,
            value => BLOCKS[(value.saturating_mul(7).div_ceil(scale.most) as usize).min(7)],
        }
    };
    (0..columns).map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_the_highest_of_their_buckets() {
        let line = |values: &[u64], buckets, most, empty| sparkline(values, buckets, Scale { most, empty });
        assert_eq!(line(&[0, 1, 7, 3], 4, 7, '·'), "·▂█▄");
        assert_eq!(line(&[0, 1, 7, 3], 4, 70, '▁'), "▁▂▂▂");
        assert_eq!(line(&[5], 3, 5, '·'), "█··");
        assert_eq!(line(&[], 0, 5, '·'), "");
        assert_eq!(line(&[0, 0], 2, 0, '·'), "");
        let mut long = vec![0; 128];
        long[127] = 9;
        assert_eq!(line(&long, 128, 9, '·'), format!("{}█", "·".repeat(13)));
    }
}
