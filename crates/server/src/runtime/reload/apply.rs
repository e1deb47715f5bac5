//! One reload: a content is parsed, checked as at startup, and put in force as a whole.

use std::collections::HashSet;
use std::sync::Arc;

use slidegate::Clock;
use slidegate::policy::{Policy, decode};

use super::error::ReloadError;
use super::settings::{self, SettingsDiff, pinned};
use super::source::{PolicySource, digest};
use super::state::ReloadSummary;
use crate::config::{Config, Settings};
use crate::net::tls::Certificates;
use crate::runtime::Runtime;
use crate::runtime::file_watch::FileContent;

/// Reporting of a rejected content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reporting {
    /// Always: somebody asked for the reload.
    All,
    /// Only new errors.
    Changes,
}

/// Prepared reload.
struct PreparedReload {
    policy: Policy,
    settings: Settings,
    digest: String,
    diff: SettingsDiff,
}

impl<C: Clock> Runtime<C> {
    /// Puts a content of the file in force, or reports its errors: to the log, to the state and to
    /// the caller, which holds the reload lock.
    pub(super) fn apply(
        &self,
        source: &PolicySource,
        content: &FileContent,
        reporting: Reporting,
    ) -> Result<ReloadSummary, ReloadError> {
        let applied = self.prepared(source, content).map(|ready| self.put_in_force(source, ready));
        if let Err(error) = &applied {
            self.reject(error, content.bytes().map(digest), reporting);
        }
        self.live.active.lock().awaited =
            applied.as_ref().err().map_or_else(Vec::new, |error| error.awaits().to_owned());
        applied
    }

    fn reject(&self, error: &ReloadError, digest: Option<String>, reporting: Reporting) {
        let (lines, at_ms) = (error.lines(), self.gate().now_ms());
        let text = lines.join("\n");
        let state = &mut self.live.active.lock().state;
        if reporting == Reporting::Changes && state.is_reported(digest.as_ref(), &text) {
            return;
        }
        lines.iter().for_each(|line| tracing::error!("{line}"));
        tracing::error!("keeping the previous policy");
        state.refused(digest, text, at_ms);
    }

    /// Prepares a content as startup would.
    fn prepared(&self, source: &PolicySource, content: &FileContent) -> Result<PreparedReload, ReloadError> {
        let file = source.name();
        let unreadable = |why: &str| ReloadError::Unreadable { file: file.clone(), why: why.to_owned() };
        let bytes = match content {
            FileContent::Bytes(bytes) => bytes,
            FileContent::Missing => return Err(unreadable("there is no such file")),
            FileContent::Unreadable(why) => return Err(unreadable(why)),
        };
        let wrong = |errors| ReloadError::Policy { file: file.clone(), errors };
        let text = decode(&file, bytes).map_err(wrong)?;
        let mut config = Config::parse(&file, text).map_err(wrong)?;
        (source.overlay)(&mut config.settings);
        let unfit = |error| ReloadError::Settings { file: file.clone(), error };
        config.check().map_err(unfit)?;
        let (Config { policy, settings }, now) = (config, self.settings());
        let diff = settings::diff(&now, &settings);
        // Certificates in use are not checked: they may just be in exchange.
        let with_tls = ["server.tls", "server.grpc", "server.resp", "server.admin"];
        if diff.at_next_start.iter().any(|name| with_tls.contains(name)) {
            let names = || Certificates::files(&settings.server);
            let unfit = |error| ReloadError::Certificates { file: file.clone(), error, names: names() };
            Certificates::load(&settings.server).map_err(unfit)?;
        }
        let settings = pinned(&now, settings);
        self.check_exposure(&settings).map_err(unfit)?;
        Ok(PreparedReload { policy, settings, digest: digest(bytes), diff })
    }

    fn put_in_force(&self, source: &PolicySource, ready: PreparedReload) -> ReloadSummary {
        let PreparedReload { policy, settings, digest, diff } = ready;
        let SettingsDiff { live, at_next_start } = diff;
        let mut now = self.live.active.lock();
        let rules = now.file.diff(&policy).into_iter().map(|change| change.to_string());
        let changes: Vec<String> = rules.chain(live.iter().map(|name| format!("{name} changed"))).collect();
        let old: HashSet<String> = warnings(&now.file, &now.settings).collect();
        let warnings = warnings(&policy, &settings).filter(|warning| !old.contains(warning));
        let warnings: Vec<String> = warnings.collect();

        self.set_telemetry(&settings.observe);
        (now.file, now.settings) = (policy, Arc::new(settings));
        self.renew(&mut now);
        self.network().set_settings(now.settings.server.clone());
        let reloaded = ReloadSummary { policy_digest: digest, changes, at_next_start };
        now.state.done(&reloaded, self.gate().now_ms());
        drop(now);

        log(source, &reloaded);
        warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        reloaded
    }
}

fn log(source: &PolicySource, reloaded: &ReloadSummary) {
    let ReloadSummary { changes, at_next_start, .. } = reloaded;
    let name = source.name();
    match changes.len() {
        0 => tracing::info!("{name} reloaded: no changes"),
        1 => tracing::info!("{name} reloaded: 1 change"),
        count => tracing::info!("{name} reloaded: {count} changes"),
    }
    changes.iter().for_each(|change| tracing::info!("{change}"));
    at_next_start
        .iter()
        .for_each(|setting| tracing::warn!("{setting} changed: takes effect after a restart"));
}

fn warnings(policy: &Policy, settings: &Settings) -> impl Iterator<Item = String> {
    let rules = policy.explain().into_iter().flat_map(|rule| {
        let name = rule.name;
        rule.warnings.into_iter().map(move |warning| format!("rule {name}: {warning}"))
    });
    settings.warnings().into_iter().chain(rules)
}
