//! Prints a few decisions: a limit of 3 per second and 5 per minute for one user, on a clock that
//! the example moves.

use slidegate::{Limit, Limiter, ManualClock};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = ManualClock::new(0);
    let limits = [Limit::per_second(3), Limit::per_minute(5)];
    let limiter = Limiter::builder(limits).clock(clock.clone()).build()?;

    println!("alice may come {} and {}\n", limits[0], limits[1]);
    println!(
        "{:>9}  {:7}  {:>9}  {:>11}  {:>11}",
        "time", "answer", "remaining", "retry after", "reset after"
    );
    for at_ms in [0, 100, 200, 300, 1_000, 1_100, 1_200, 59_999, 60_000] {
        clock.set_ms(at_ms);
        let verdict = limiter.check("alice");
        let answer = if verdict.is_allowed() { "allowed" } else { "denied" };
        let ms = |ms: Option<u64>| ms.map_or(String::from("-"), |ms| format!("{ms} ms"));
        println!(
            "{:>6} ms  {answer:7}  {:>9}  {:>11}  {:>11}",
            at_ms,
            verdict.remaining().unwrap_or_default(),
            ms(verdict.retry_after_ms()),
            ms(verdict.reset_after_ms()),
        );
    }
    Ok(())
}
