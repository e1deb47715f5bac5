//! Limits as text: what is written can be read, and nonsense is an error.

use std::time::Duration;

use slidegate_core::{Limit, LimitError, MAX_QUOTA, MAX_WINDOW_MS};
use slidegate_testkit::cases::prove;
use slidegate_testkit::ensure;

#[test]
fn what_a_log_is_written_as_reads_as_the_same_log() {
    const UNITS_MS: [u64; 6] = [1, 1_000, 60_000, 3_600_000, 86_400_000, 604_800_000];
    prove(
        |rng| {
            let unit_ms = rng.pick(&UNITS_MS);
            let window_ms = rng.magnitude(MAX_WINDOW_MS / unit_ms) * unit_ms;
            ((rng.magnitude(MAX_QUOTA), window_ms), vec![()])
        },
        |&(quota, window_ms), _| {
            let limit = Limit::new(quota, Duration::from_millis(window_ms)).map_err(|e| e.to_string())?;
            let text = limit.to_string();
            ensure!(text.parse() == Ok(limit), "{text} reads as {:?}", text.parse::<Limit>());
            Ok(())
        },
    );
}

#[test]
fn no_text_panics() {
    const PIECES: [&str; 18] = [
        "5",
        "0",
        "9999999999",
        "_",
        "/",
        "min",
        "s",
        "ms",
        "day",
        " ",
        "-",
        "é",
        "½",
        "💥",
        "\0",
        "h",
        "1",
        "w",
    ];
    prove(
        |rng| ((), (0..rng.below(9)).map(|_| rng.pick(&PIECES)).collect()),
        |(), pieces| {
            if let Ok(limit) = pieces.concat().parse::<Limit>() {
                ensure!(limit.quota() > 0 && limit.window_ms() > 0, "{limit}");
            }
            Ok(())
        },
    );
}

fn parsed(text: &str) -> Result<(u64, u64), LimitError> {
    text.parse::<Limit>().map(|limit| (limit.quota(), limit.window_ms()))
}

#[test]
fn ways_to_write_a_limit() {
    let table = [
        ("5/min", 5, 60_000),
        ("100/30s", 100, 30_000),
        ("1000/h", 1_000, 3_600_000),
        ("10000/day", 10_000, 86_400_000),
        ("1/ms", 1, 1),
        ("1/250ms", 1, 250),
        (" 1_000_000 / 2 days ", 1_000_000, 172_800_000),
        ("7/sec", 7, 1_000),
        ("7/second", 7, 1_000),
        ("7/10 seconds", 7, 10_000),
        ("7/m", 7, 60_000),
        ("7/minute", 7, 60_000),
        ("7/5minutes", 7, 300_000),
        ("7/hour", 7, 3_600_000),
        ("7/12hours", 7, 43_200_000),
        ("7/d", 7, 86_400_000),
        ("7/w", 7, 604_800_000),
        ("7/wk", 7, 604_800_000),
        ("7/week", 7, 604_800_000),
        ("7/2weeks", 7, 1_209_600_000),
        ("2251799813685248/1000day", MAX_QUOTA, MAX_WINDOW_MS),
    ];
    for (text, quota, window_ms) in table {
        assert_eq!(parsed(text), Ok((quota, window_ms)), "{text}");
    }
}

#[test]
fn ways_not_to_write_a_limit() {
    use LimitError::{QuotaTooLarge, Syntax, Unit, WindowTooLong, ZeroQuota, ZeroWindow};
    let table = [
        ("", Syntax),
        ("5", Syntax),
        ("/min", Syntax),
        ("five/min", Syntax),
        ("-5/min", Syntax),
        ("+5/min", Syntax),
        ("5.5/min", Syntax),
        ("_5/min", Syntax),
        ("5_/min", Syntax),
        ("5/", Unit),
        ("5/6", Unit),
        ("5/fortnight", Unit),
        ("5/MIN", Unit),
        ("5/min/min", Unit),
        ("5/-1s", Unit),
        ("0/min", ZeroQuota),
        ("5/0s", ZeroWindow),
        ("2251799813685249/min", QuotaTooLarge { quota: MAX_QUOTA + 1 }),
        ("99999999999999999999/min", QuotaTooLarge { quota: u64::MAX }),
        ("5/1001days", WindowTooLong),
        ("5/18446744073709551615weeks", WindowTooLong),
        ("5/99999999999999999999s", WindowTooLong),
    ];
    for (text, error) in table {
        assert_eq!(parsed(text), Err(error), "{text}");
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn the_other_kinds_say_what_they_are() {
    let log = Limit::per_minute(600);
    let render = |limit: Result<Limit, LimitError>| limit.expect("a limit").to_string();
    assert_eq!(render(Ok(log)), "600/min");
    assert_eq!(render(Limit::new(5, Duration::from_millis(1_500))), "5/1500ms");
    assert_eq!(render(Limit::new(5, Duration::from_secs(90))), "5/90s");
    assert_eq!(render(Limit::new(5, Duration::from_secs(7_200))), "5/2h");
    assert_eq!(render(Ok(Limit::per_day(3))), "3/day");
    assert_eq!(render(log.counter()), "600/min counter");
    assert_eq!(render(log.fixed()), "600/min fixed");
    assert_eq!(render(log.gcra(20)), "600/min gcra burst 20");
    assert_eq!(render(Limit::in_flight(20, Duration::from_secs(30))), "20 in flight for 30s");
}
