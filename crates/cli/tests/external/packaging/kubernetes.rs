//! The manifests: right by the schemas of Kubernetes, and in agreement with each other, with the
//! program and with the policy.

use std::time::Duration;

use serde_json::{Value, json};
use slidegate_server::config::Settings;

use super::{is_variable_of_serve, program, read, root};

const FOLDER: &str = "packaging/kubernetes";

/// All manifests by kind, once the schemas have nothing against them.
fn manifests() -> Value {
    let script = root().join("crates/cli/tests/external/packaging/manifests.py");
    let mut python = program::python();
    python.arg(script).current_dir(root().join(FOLDER)).args(files());
    let output = python.output().expect("python");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// All files but the policy.
fn files() -> Vec<String> {
    let files = std::fs::read_dir(root().join(FOLDER)).expect("manifests");
    let names = files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name != "policy.yaml").collect();
    names.sort_unstable();
    names
}

fn settings() -> Settings {
    let text = read(&format!("{FOLDER}/policy.yaml"));
    slidegate_server::Config::parse("policy.yaml", &text).expect("a policy").settings
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

#[test]
fn all_of_them_are_applied() {
    let kustomization = &manifests()["Kustomization"];
    let mut named: Vec<&str> =
        kustomization["resources"].as_array().expect("a list").iter().map(text).collect();
    named.push("kustomization.yaml");
    named.sort_unstable();
    assert_eq!(named, files());
    let image = &kustomization["images"][0];
    assert_eq!(text(&image["newTag"]), env!("CARGO_PKG_VERSION"));
    assert_eq!(
        image["name"],
        manifests()["Deployment"]["spec"]["template"]["spec"]["containers"][0]["image"]
    );
}

#[test]
fn pods_are_found() {
    let all = manifests();
    let labels = &all["Deployment"]["spec"]["template"]["metadata"]["labels"];
    assert_eq!(&all["Deployment"]["spec"]["selector"]["matchLabels"], labels);
    assert_eq!(&all["Service"]["spec"]["selector"], labels);
    assert_eq!(&all["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"], labels);
    assert_eq!(&all["Kustomization"]["labels"][0]["pairs"], labels);
}

#[test]
fn ports_and_probes_meet_the_server() {
    let all = manifests();
    let container = &all["Deployment"]["spec"]["template"]["spec"]["containers"][0];
    let port = &container["ports"][0];
    let arguments: Vec<&str> = container["args"].as_array().expect("a list").iter().map(text).collect();
    assert_eq!(arguments[..3], ["serve", "/etc/slidegate/policy.yaml", "--http"]);
    assert_eq!(arguments[3], format!("0.0.0.0:{}", port["containerPort"]));
    for (probe, path) in [("livenessProbe", "/livez"), ("readinessProbe", "/readyz")] {
        assert_eq!(container[probe]["httpGet"], json!({"path": path, "port": port["name"]}));
    }
    assert_eq!(all["Service"]["spec"]["ports"][0]["targetPort"], port["name"]);
    for variable in container["env"].as_array().expect("a list") {
        assert!(is_variable_of_serve(text(&variable["name"])), "{variable}");
    }
}

/// The policy comes as a folder, so that the kubelet can replace it.
#[test]
fn the_policy_arrives_and_can_change() {
    let all = manifests();
    let pod = &all["Deployment"]["spec"]["template"]["spec"];
    let generated = &all["Kustomization"]["configMapGenerator"][0];
    assert_eq!(generated["files"], json!(["policy.yaml"]));
    assert_eq!(all["Kustomization"]["generatorOptions"]["disableNameSuffixHash"], true);
    assert_eq!(pod["volumes"], json!([{"name": "policy", "configMap": {"name": generated["name"]}}]));
    let mount = &pod["containers"][0]["volumeMounts"][0];
    assert_eq!(mount, &json!({"name": "policy", "mountPath": "/etc/slidegate", "readOnly": true}));
    let path = root().join(FOLDER).join("policy.yaml");
    let ended = program::run(&["validate", path.to_str().expect("UTF-8")]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn numbers_of_the_policy_fit_the_pods() {
    let (all, settings) = (manifests(), settings());
    let deployment = &all["Deployment"]["spec"];
    let pod = &deployment["template"]["spec"];
    assert_eq!(deployment["replicas"], settings.store.instances);
    // Operators are answered until all others were: each may take the time-out, and a second to be
    // told.
    let (delay, timeout) = (settings.server.shutdown_delay, settings.server.shutdown_timeout);
    let grace_s = pod["terminationGracePeriodSeconds"].as_u64().expect("seconds");
    let second = Duration::from_secs(1);
    assert!(delay >= 5 * second && Duration::from_secs(grace_s) >= delay + 2 * (timeout + second));
    let memory = text(&pod["containers"][0]["resources"]["limits"]["memory"]);
    let memory_mib: u64 = memory.strip_suffix("Mi").and_then(|mib| mib.parse().ok()).expect("MiB");
    // What docs/operating.md says of a connection that does its worst, on each of two listeners,
    // and of the program itself.
    let bounds = &settings.server.connections;
    let (head, body) = (bounds.max_head_bytes, bounds.max_body_bytes);
    let needed = settings.store.max_memory + 2 * bounds.max * ((20 << 10) + head + 2 * body) + 10_000_000;
    assert!(memory_mib << 20 >= needed as u64, "{memory}, and it may take {needed} bytes");
    assert!(bounds.max_per_address < bounds.max, "one address cannot take all");
    let admin = settings.server.admin.expect("an admin listener");
    assert!(admin.listen.ip().is_loopback());
}

#[test]
fn pods_have_few_rights() {
    let all = manifests();
    let pod = &all["Deployment"]["spec"]["template"]["spec"];
    assert_eq!(
        (&pod["automountServiceAccountToken"], &pod["enableServiceLinks"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    let user = format!("USER {0}:{0}\n", pod["securityContext"]["runAsUser"]);
    assert!(read("packaging/Dockerfile").contains(&user), "{user}");
    let rights = json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    });
    assert_eq!(pod["containers"][0]["securityContext"], rights);
}
