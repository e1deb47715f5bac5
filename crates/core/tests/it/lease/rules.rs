//! Safety: no rolling window is above the quota, in fleets with every class of faults; and every
//! safety rule, switched off, is noticed: here, or where a test of `table` or `node` names it.

use super::fleet::{Faults, Report, SafetyRule, run};

const NONE: Faults = Faults {
    losses: false,
    crashes: false,
    suspends: false,
    clock_steps: false,
    resets: false,
    reloads: false,
    outages: false,
    second_limit: false,
    evictions: false,
    drift_ppm: 0,
};

const LOSSES: Faults = Faults { losses: true, ..NONE };

/// Seeds of a class of faults. All must be safe.
fn prove(faults: Faults, seeds: u64) {
    let reports: Vec<Report> = (0..seeds).map(|seed| run(seed, faults, None)).collect();
    let unsafe_runs: Vec<_> = reports.iter().enumerate().filter(|(_, report)| !report.is_safe()).collect();
    assert!(unsafe_runs.is_empty(), "{} of {seeds} seeds: {:?}", unsafe_runs.len(), unsafe_runs[0]);
    let local: usize = reports.iter().map(|report| report.local).sum();
    let uses: usize = reports.iter().map(|report| report.uses).sum();
    // Otherwise nothing would be proved about leases.
    assert!(local * 2 > uses, "only {local} of {uses} uses are those of leases");
}

/// A rule that is switched off is noticed in some seed of this class, of this many.
fn notice(rule: SafetyRule, faults: Faults, seeds: u64) {
    let noticed = (0..seeds).any(|seed| !run(seed, faults, Some(rule)).is_safe());
    assert!(noticed, "{rule:?} is not noticed in {seeds} seeds");
}

#[test]
fn delays_and_losses() {
    prove(LOSSES, 30);
}

#[test]
fn crashes_and_shutdowns() {
    prove(Faults { crashes: true, ..LOSSES }, 30);
}

#[test]
fn suspended_nodes() {
    prove(Faults { suspends: true, ..LOSSES }, 30);
}

#[test]
fn clocks_of_the_store_that_step() {
    prove(Faults { clock_steps: true, ..LOSSES }, 30);
}

#[test]
fn clocks_of_nodes_that_drift() {
    prove(Faults { drift_ppm: 500, crashes: true, ..NONE }, 10);
}

#[test]
fn resets() {
    prove(Faults { resets: true, ..LOSSES }, 30);
}

#[test]
fn quotas_that_change() {
    prove(Faults { reloads: true, ..NONE }, 30);
    prove(Faults { reloads: true, ..LOSSES }, 30);
}

#[test]
fn outages_of_the_store() {
    prove(Faults { outages: true, ..LOSSES }, 30);
}

#[test]
fn charges_under_a_second_limit() {
    prove(Faults { second_limit: true, ..LOSSES }, 30);
}

#[test]
fn everything_at_once() {
    let all = Faults {
        crashes: true,
        suspends: true,
        resets: true,
        reloads: true,
        outages: true,
        second_limit: true,
        evictions: true,
        ..LOSSES
    };
    prove(all, 30);
    prove(Faults { clock_steps: true, reloads: false, ..all }, 30);
}

#[test]
fn every_rule_is_noticed() {
    let second_limit = Faults { second_limit: true, ..LOSSES };
    let resets = Faults { resets: true, ..LOSSES };
    let rules = [
        (SafetyRule::LowerFirst, LOSSES),
        (SafetyRule::LatestOnly, LOSSES),
        (SafetyRule::FromSending, LOSSES),
        (SafetyRule::BothClocks, Faults { suspends: true, ..LOSSES }),
        (SafetyRule::PastEnd, LOSSES),
        (SafetyRule::PrepayAlone, second_limit),
        (SafetyRule::RestoreUnchanged, second_limit),
        (SafetyRule::LoweredQuota, Faults { reloads: true, ..NONE }),
        (SafetyRule::ResetSurely, resets),
        (SafetyRule::Pinned, Faults { evictions: true, ..LOSSES }),
        (SafetyRule::NewerOnly, LOSSES),
        (SafetyRule::PrepayOfRow, second_limit),
        (SafetyRule::LimitBelowHold, Faults { reloads: true, ..LOSSES }),
        (SafetyRule::ResetKeepsRows, Faults { resets: true, ..NONE }),
        (SafetyRule::CloseReports, Faults { crashes: true, ..LOSSES }),
    ];
    rules.into_iter().for_each(|(rule, faults)| notice(rule, faults, 300));
}
