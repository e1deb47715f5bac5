//! `GET /v1/status`: status of the server.

use hyper::StatusCode;
use serde_json::{Value, json};
use slidegate::Clock;
use slidegate::store::redis::CircuitState;

use super::reply::json;
use crate::config::listener::Listener;
use crate::protocols::health::StoreState;
use crate::protocols::problem::Reply;
use crate::runtime::Runtime;
use crate::runtime::backend::Backend;
use crate::runtime::snapshot::RestoreOutcome;

pub(super) fn status<C: Clock>(runtime: &Runtime<C>) -> Reply {
    let reload = runtime.reload_state();
    let connections = runtime.connection_stats();
    let overrides = runtime.overrides();
    let active = overrides.iter().filter(|one| one.active).count();
    json(
        StatusCode::OK,
        &json!({
            "service": "slidegate",
            "version": env!("CARGO_PKG_VERSION"),
            "ready": runtime.is_ready(),
            "store": store(runtime.gate().store()),
            "policy": {
                "file": runtime.policy_path().map(|path| path.display().to_string()),
                "digest": reload.policy_digest,
                "rules": runtime.gate().policy().rules().len(),
                "loaded_at_ms": reload.loaded_at_ms,
                "reloads": reload.reloads,
                "failures": reload.failures,
                "last_ok": reload.last_ok,
                "last_error": reload.last_error,
                "last_attempt_at_ms": reload.last_attempt_at_ms,
            },
            "overrides": { "active": active, "inactive": overrides.len() - active },
            "waiting": runtime.waiting(),
            "connections": {
                "max": runtime.network().capacity(Listener::Http).max,
                "open": connections.open,
                "accepted": connections.accepted,
                "turned_away": connections.turned_away,
                "dropped": connections.dropped,
                "ended_idle": connections.ended_idle,
                "ended_slow": connections.ended_slow,
                "ended_for_room": connections.ended_for_room,
                "ended_abusive": connections.ended_abusive,
            },
            "certificates": certificates(runtime),
            "snapshot": snapshot(runtime),
        }),
    )
}

/// Status of the store.
pub(crate) fn store(backend: &Backend) -> Value {
    let state = StoreState::of(backend).name();
    match backend {
        Backend::Memory(memory) => {
            let stats = memory.stats();
            json!({
                "kind": "memory",
                "state": state,
                "keys": stats.keys,
                "bytes": stats.bytes,
                "max_bytes": memory.max_memory(),
                "forgotten_keys": stats.forgotten_keys,
                "refused_for_room": stats.refused_for_room,
            })
        }
        Backend::Redis(redis) => {
            let refusals = redis.store().refusals();
            let servers = redis.store().health().into_iter().map(|(server, health)| {
                let refusal = refusals.iter().find(|(refusing, _)| *refusing == server);
                let state = match health {
                    CircuitState::Closed if refusal.is_some() => "refuses writes",
                    CircuitState::Closed => "closed",
                    CircuitState::Open => "open",
                    CircuitState::HalfOpen => "half-open",
                };
                let refusal = refusal.map(|(_, refusal)| format!("{} {}", refusal.code, refusal.text));
                json!({ "server": server, "state": state, "refusal": refusal })
            });
            let warnings = redis.store().warnings().into_iter().map(|warning| warning.to_string());
            json!({
                "kind": "redis",
                "state": state,
                "failures": redis.failures(),
                "servers": servers.collect::<Vec<_>>(),
                "warnings": warnings.collect::<Vec<_>>(),
            })
        }
    }
}

fn certificates<C: Clock>(runtime: &Runtime<C>) -> Vec<Value> {
    let each = runtime.tls_state().into_iter().map(|one| {
        json!({
            "listener": one.setting,
            "file": one.certificate.display().to_string(),
            "loaded_at_ms": one.loaded_at_ms,
            "not_after_ms": one.not_after_ms,
            "reloads": one.reloads,
            "failures": one.failures,
            "last_error": one.last_error,
            "refused": one.refused,
        })
    });
    each.collect()
}

fn snapshot<C: Clock>(runtime: &Runtime<C>) -> Value {
    let Some(state) = runtime.snapshot_state() else { return Value::Null };
    let restored = match state.restored {
        RestoreOutcome::Nothing => json!({ "found": "nothing" }),
        RestoreOutcome::Keys(keys) => json!({ "found": "keys", "keys": keys }),
        RestoreOutcome::SetAside(path) => {
            json!({ "found": "damaged", "set_aside": path.display().to_string() })
        }
    };
    json!({
        "file": state.path.display().to_string(),
        "restored": restored,
        "last_saved_at_ms": state.last_saved_at_ms,
        "saves": state.saves,
        "failures": state.failures,
        "last_error": state.last_error,
    })
}
