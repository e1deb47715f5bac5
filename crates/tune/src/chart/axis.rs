//! Axes: scales and their ticks.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Axis of a chart.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    scale: AxisScale,
    /// Values with a label.
    pub(super) ticks: Vec<Tick>,
}

/// Value with a label.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum AxisScale {
    Linear {
        first: f64,
        last: f64,
    },
    /// Orders of magnitude, from zero.
    Magnitude {
        last: f64,
    },
}

/// Most ticks of an axis.
const MAX_TICKS: f64 = 5.0;

impl Axis {
    /// Counts from zero, at equal distances.
    pub fn counts(max: u64) -> Self {
        let max = (max.max(1)) as f64;
        let step = nice_step(max / (MAX_TICKS - 1.0)).max(1.0);
        let last = (max / step).ceil() * step;
        let ticks = multiples(step, 0.0, last);
        Self {
            scale: AxisScale::Linear { first: 0.0, last },
            ticks: ticks.map(|at| tick(at, compact(at))).collect(),
        }
    }

    /// Counts from zero to exactly this one, at equal distances.
    pub fn counts_to(last: u64) -> Self {
        let mut axis = Self::counts(last);
        let last = last.max(1) as f64;
        axis.ticks.retain(|tick| tick.at <= last);
        Self { scale: AxisScale::Linear { first: 0.0, last }, ..axis }
    }

    /// Counts from zero, by orders of magnitude: for values of which few are large.
    pub fn magnitudes(max: u64) -> Self {
        let last = max.max(1) as f64;
        let powers = std::iter::successors(Some(1.0), |power| Some(power * 10.0));
        let powers: Vec<f64> = powers.take_while(|power| *power <= last).collect();
        let every = powers.len().div_ceil(MAX_TICKS as usize).max(1);
        let ticks = powers.into_iter().step_by(every).map(|at| tick(at, compact(at)));
        Self {
            scale: AxisScale::Magnitude { last },
            ticks: std::iter::once(tick(0.0, "0".to_owned())).chain(ticks).collect(),
        }
    }

    /// Time between two instants in Unix milliseconds, in UTC.
    pub fn time(first_ms: u64, last_ms: u64) -> Self {
        Self::time_in(&TimeZone::UTC, first_ms, last_ms)
    }

    /// Time between two instants in Unix milliseconds, in a time zone.
    pub fn time_in(zone: &TimeZone, first_ms: u64, last_ms: u64) -> Self {
        const STEPS_S: [u64; 20] = [
            1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
            172_800, 604_800,
        ];
        let last_ms = last_ms.max(first_ms + 1_000);
        let fits = |step_s: &&u64| (last_ms - first_ms) / (**step_s * 1_000) < MAX_TICKS as u64;
        let weeks = ((last_ms - first_ms) / (604_800_000 * MAX_TICKS as u64) + 1) * 604_800;
        let step_ms = STEPS_S.iter().find(fits).copied().unwrap_or(weeks) * 1_000;
        let (first, last) = (first_ms as f64, last_ms as f64);
        // Ticks are at round times of the zone.
        let offset_ms = offset_ms(zone, first_ms);
        let ticks = multiples(step_ms as f64, first + offset_ms, last + offset_ms);
        let ticks = ticks.map(|at| at - offset_ms).map(|at| tick(at, clock(zone, at as u64, step_ms)));
        Self { scale: AxisScale::Linear { first, last }, ticks: ticks.collect() }
    }

    /// Time from a start, in a unit that gives short labels. Values are milliseconds.
    pub fn elapsed(duration_ms: u64) -> Self {
        const UNITS: [(u64, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
        let duration_ms = duration_ms.max(1);
        let fits = |(unit_ms, _): &&(u64, &str)| duration_ms >= 2 * unit_ms;
        let (unit_ms, unit) = UNITS.iter().find(fits).copied().unwrap_or((1, "ms"));
        let (last, unit_ms) = (duration_ms as f64, unit_ms as f64);
        let ticks = multiples(nice_step(last / unit_ms / (MAX_TICKS - 1.0)), 0.0, last / unit_ms);
        let ticks = ticks.map(|at| tick(at * unit_ms, format!("{} {unit}", compact(at))));
        Self { scale: AxisScale::Linear { first: 0.0, last }, ticks: ticks.collect() }
    }

    /// Position of a value: 0 at the beginning, 1 at the end.
    pub(super) fn position(&self, value: f64) -> f64 {
        let position = match self.scale {
            AxisScale::Linear { first, last } => (value - first) / (last - first),
            AxisScale::Magnitude { last } => value.max(0.0).ln_1p() / last.ln_1p(),
        };
        if position.is_finite() { position.clamp(0.0, 1.0) } else { 0.0 }
    }
}

fn tick(at: f64, label: String) -> Tick {
    Tick { at, label }
}

/// Multiples of a step within a range.
fn multiples(step: f64, first: f64, last: f64) -> impl Iterator<Item = f64> {
    let start = (first / step).ceil();
    (0..).map(move |index| (start + f64::from(index)) * step).take_while(move |at| *at <= last)
}

/// Smallest of 1, 2 and 5 times a power of ten that is not less.
fn nice_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.max(f64::MIN_POSITIVE).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    steps.into_iter().find(|step| *step >= least * 0.999_999).unwrap_or(power * 10.0)
}

/// Number in few characters: `950`, `12k`, `3.4M`.
pub fn compact(number: f64) -> String {
    let (divisor, unit) = match number {
        _ if number >= 999_950_000.0 => (1e9, "G"),
        _ if number >= 999_950.0 => (1e6, "M"),
        _ if number >= 10_000.0 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let scaled = (number / divisor * 10.0).round() / 10.0;
    format!("{scaled}{unit}")
}

/// Label of an instant, as fine as the distance of the ticks.
fn clock(zone: &TimeZone, at_ms: u64, step_ms: u64) -> String {
    let format = match step_ms {
        0..60_000 => "%H:%M:%S",
        60_000..86_400_000 => "%H:%M",
        _ => "%-d %b",
    };
    let instant = instant(at_ms);
    instant.map_or_else(String::new, |at| at.to_zoned(zone.clone()).strftime(format).to_string())
}

/// Distance of a zone from UTC.
fn offset_ms(zone: &TimeZone, at_ms: u64) -> f64 {
    instant(at_ms).map_or(0.0, |at| f64::from(zone.to_offset(at).seconds()) * 1_000.0)
}

fn instant(at_ms: u64) -> Option<Timestamp> {
    i64::try_from(at_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| &*tick.label).collect()
    }

    #[test]
    fn ticks_are_few_and_round() {
        assert_eq!(labels(&Axis::counts(0)), ["0", "1"]);
        assert_eq!(labels(&Axis::counts(7)), ["0", "2", "4", "6", "8"]);
        assert_eq!(labels(&Axis::counts(1_145_863)), ["0", "500k", "1M", "1.5M"]);
        assert_eq!(labels(&Axis::magnitudes(0)), ["0", "1"]);
        assert_eq!(labels(&Axis::magnitudes(27_823)), ["0", "1", "10", "100", "1000", "10k"]);
        let noon_ms = 1_763_208_000_000;
        assert_eq!(
            labels(&Axis::time(noon_ms, noon_ms + 40_000)),
            ["12:00:00", "12:00:10", "12:00:20", "12:00:30", "12:00:40"]
        );
        assert_eq!(
            labels(&Axis::time(noon_ms + 1, noon_ms + 2_880_000)),
            ["12:10", "12:20", "12:30", "12:40"]
        );
        assert_eq!(labels(&Axis::time(noon_ms, noon_ms + 250_000_000)), ["16 Nov", "17 Nov", "18 Nov"]);
        for days in 1..3_000 {
            let ticks = Axis::time(noon_ms, noon_ms + days * 86_400_000).ticks.len();
            assert!((1..=6).contains(&ticks), "{ticks} ticks for {days} days");
        }
    }

    #[test]
    fn elapsed_times_have_a_unit() {
        let rows: [(u64, &[&str]); 5] = [
            (3_000, &["0 s", "1 s", "2 s", "3 s"]),
            (2_000, &["0 s", "0.5 s", "1 s", "1.5 s", "2 s"]),
            (300, &["0 ms", "100 ms", "200 ms", "300 ms"]),
            (70_400, &["0 s", "20 s", "40 s", "60 s"]),
            (180_000, &["0 min", "1 min", "2 min", "3 min"]),
        ];
        for (duration_ms, expected) in rows {
            assert_eq!(labels(&Axis::elapsed(duration_ms)), expected, "{duration_ms}");
        }
        assert_eq!(Axis::elapsed(0).position(0.0), 0.0);
    }

    #[test]
    fn positions_lie_between_the_ends() {
        let axis = Axis::counts(80);
        assert_eq!([0.0, 40.0, 80.0, 900.0, -1.0].map(|at| axis.position(at)), [0.0, 0.5, 1.0, 1.0, 0.0]);
        let axis = Axis::magnitudes(99);
        assert_eq!([0.0, 9.0, 99.0].map(|at| axis.position(at)), [0.0, 0.5, 1.0]);
        assert_eq!(axis.position(f64::NAN), 0.0);
    }
}
