use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::ensure;

use super::*;

fn peak(fine: u64, coarse: u64) -> Peak {
    Peak { fine: fine.min(FINE_QUOTA + 1), coarse }
}

fn table<const N: usize>(rows: impl IntoIterator<Item = [Peak; N]>) -> PeakTable {
    let mut table = PeakTable::new(N);
    rows.into_iter().for_each(|row| table.push(row));
    table
}

#[test]
fn numbers_round_up_to_two_digits() {
    let rows =
        [(0, 0), (1, 1), (9, 9), (10, 10), (99, 99), (100, 100), (101, 110), (144, 150), (1_001, 1_100)];
    for (number, rounded) in rows {
        assert_eq!(two_digits(number), rounded, "{number}");
    }
    let headroom = Margin::Headroom { percent: 20 };
    assert_eq!([5, 14, 100, 120].map(|quota| headroom.apply(quota)), [6, 17, 120, 150]);
    assert_eq!(headroom.apply(u64::MAX), slidegate::MAX_QUOTA);
}

/// Peaks 1 to 1,000: one in a thousand may be above.
#[test]
fn the_quota_leaves_as_many_above_as_may_be_touched() {
    let peaks = table((1..=1_000).map(|most| [peak(most, most + 3)]));
    let quotas = |most| peaks.quotas(most, Margin::Exact);
    assert_eq!(quotas(0), Quotas { quotas: vec![1_003], touched: 0 });
    assert_eq!(quotas(1), Quotas { quotas: vec![1_002], touched: 1 });
    // Of a quota up to 128 only the peaks at 1 ms count.
    assert_eq!(quotas(900), Quotas { quotas: vec![100], touched: 900 });
}

/// Each window may touch one, but then together they touch two.
#[test]
fn windows_share_the_subjects_that_may_be_touched() {
    let rows = [[9, 10], [2, 90], [1, 11], [1, 5]].map(|row| row.map(|most| peak(most, most)));
    let quotas = table(rows).quotas(1, Margin::Exact);
    assert_eq!(quotas, Quotas { quotas: vec![9, 90], touched: 0 });
    let rows = [[9, 90], [2, 11], [1, 10], [1, 5]].map(|row| row.map(|most| peak(most, most)));
    let quotas = table(rows).quotas(1, Margin::Exact);
    assert_eq!(quotas, Quotas { quotas: vec![2, 11], touched: 1 });
}

/// 120 of a fine peak become 150, where 140 are counted at the coarse resolution.
#[test]
fn a_margin_into_the_coarse_range_heeds_the_coarse_peaks() {
    let peaks = table([[peak(120, 140)], [peak(3, 3)]]);
    assert_eq!(peaks.quotas(0, Margin::Exact).quotas, [120]);
    assert_eq!(peaks.quotas(0, Margin::Headroom { percent: 20 }).quotas, [170]);
    let peaks = table([[peak(120, 400)], [peak(3, 3)]]);
    assert_eq!(peaks.quotas(0, Margin::Headroom { percent: 20 }), Quotas { quotas: vec![480], touched: 0 });
}

/// Against trying every rank.
#[test]
fn no_larger_number_above_would_fit() {
    let generate = |rng: &Rng| {
        let most = rng.below(8) as usize;
        let number = |rng: &Rng| if rng.one_in(2) { rng.between(1, 6) } else { rng.between(120, 140) };
        let rows = (0..rng.between(1, 24)).map(|_| {
            [(); 3].map(|()| {
                let fine = number(rng);
                peak(fine, fine + rng.below(6))
            })
        });
        (most, rows.collect())
    };
    prove_part(10, generate, |most, rows: &[[Peak; 3]]| {
        if rows.is_empty() {
            return Ok(());
        }
        let peaks = table(rows.iter().copied());
        let found = peaks.quotas(*most, Margin::Exact);
        ensure!(found.touched <= *most, "{found:?}");
        let most = (*most).min(rows.len() - 1);
        let ladders: Vec<Ladder> = (0..3).map(|window| peaks.ladder(window, most)).collect();
        let naive = (0..=most).rev().find_map(|rank| {
            let quotas: Vec<u64> = ladders.iter().map(|ladder| ladder.quotas[rank]).collect();
            (peaks.touched(&quotas) <= most).then_some(quotas)
        });
        ensure!(naive.as_ref() == Some(&found.quotas), "{found:?}, not {naive:?}");
        for margin in [0, 20, 100].map(|percent| Margin::Headroom { percent }) {
            let with = peaks.quotas(most, margin);
            ensure!(with.touched <= most, "{with:?} with {margin:?}");
        }
        Ok(())
    });
}
