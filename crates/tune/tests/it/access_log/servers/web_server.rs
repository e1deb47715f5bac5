//! Web servers and gateways with the configuration that the documentation names.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use slidegate_tune::access_log::AccessLogFormat;
use tempfile::TempDir;

use super::send;

const READY_WITHIN: Duration = Duration::from_secs(30);
const OUTPUT: &str = "output";

/// Server whose log is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum WebServer {
    Nginx,
    Apache,
    Haproxy,
    Envoy,
    TraefikCommon,
    TraefikJson,
    Caddy,
}

/// Server that answers. Ends when dropped.
#[derive(Debug)]
pub(super) struct RunningServer {
    child: Child,
    address: SocketAddr,
    folder: TempDir,
}

/// Ports of a server, and where its files are.
struct Site<'s> {
    port: u16,
    handler: u16,
    folder: &'s Path,
}

impl WebServer {
    /// Starts it in front of a handler.
    pub(super) fn start(self, handler: u16) -> RunningServer {
        const ATTEMPTS: usize = 3;
        // The port was free, and may be taken before the server has it.
        let mut output = String::new();
        for _ in 0..ATTEMPTS {
            let mut running = self.spawn(handler);
            match running.wait_until_ready() {
                Ok(()) => return running,
                Err(found) => output = found,
            }
        }
        panic!("{self:?} did not start: {output}");
    }

    fn spawn(self, handler: u16) -> RunningServer {
        let folder = TempDir::new().expect("a folder");
        let address = free_address();
        let site = Site { port: address.port(), handler, folder: folder.path() };
        for (name, text) in self.files(&site) {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        let (variable, arguments) = self.command();
        let program = std::env::var(variable).unwrap_or_else(|_| {
            panic!("{variable} is not set: run need_gateways, need_envoy and need_apache of scripts/lib.sh")
        });
        let output = File::create(folder.path().join(OUTPUT)).expect("a file");
        let child = Command::new(&program)
            .args(arguments)
            .current_dir(folder.path())
            .env("HOME", folder.path())
            // HAProxy stamps in the zone of the machine.
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a file"))
            .stderr(output)
            .spawn();
        let child = child.unwrap_or_else(|error| match error.kind() {
            ErrorKind::NotFound => panic!("{program} is missing: {variable} has to be the path of one"),
            _ => panic!("{program}: {error}"),
        });
        RunningServer { child, address, folder }
    }

    /// Variable with the path of the program, and its arguments.
    fn command(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Nginx => (
                "SLIDEGATE_NGINX",
                // One process, which ends as a whole when it is killed.
                &["-p", ".", "-c", "nginx.conf", "-e", "stderr", "-g", "daemon off; master_process off;"],
            ),
            Self::Apache => ("SLIDEGATE_APACHE", &["-d", ".", "-f", "httpd.conf", "-X"]),
            Self::Haproxy => ("SLIDEGATE_HAPROXY", &["-db", "-f", "haproxy.cfg"]),
            Self::Envoy => (
                "SLIDEGATE_ENVOY",
                &[
                    "-c",
                    "envoy.yaml",
                    "--disable-hot-restart",
                    "--concurrency",
                    "1",
                    "--log-level",
                    "warning",
                    "--file-flush-interval-msec",
                    "50",
                ],
            ),
            Self::TraefikCommon | Self::TraefikJson => ("SLIDEGATE_TRAEFIK", &["--configFile=traefik.yaml"]),
            Self::Caddy => ("SLIDEGATE_CADDY", &["run", "--config", "Caddyfile"]),
        }
    }

    fn files(self, site: &Site<'_>) -> Vec<(&'static str, String)> {
        let Site { port, handler, .. } = site;
        match self {
            Self::Nginx => vec![("nginx.conf", nginx(site))],
            Self::Apache => vec![("httpd.conf", apache(site))],
            Self::Haproxy => vec![(
                "haproxy.cfg",
                format!(
                    "global\n    log stdout format raw local0\ndefaults\n    mode http\n    log global\n    {}\
                     \n    timeout connect 5s\n    timeout client 30s\n    timeout server 30s\nfrontend web\n    \
                     bind 127.0.0.1:{port}\n    default_backend api\nbackend api\n    server s1 127.0.0.1:{handler}\n",
                    directive("HAProxy").trim_end()
                ),
            )],
            Self::Envoy => vec![("envoy.yaml", envoy(site))],
            Self::TraefikCommon => traefik(site, "accessLog:\n"),
            Self::TraefikJson => traefik(site, directive("Traefik")),
            Self::Caddy => vec![(
                "Caddyfile",
                format!(
                    "{{\n\tadmin off\n\tauto_https off\n}}\n:{port} {{\n\tbind 127.0.0.1\n\t{} {{\n\t\toutput file access.log\n\t}}\
                     \n\treverse_proxy 127.0.0.1:{handler}\n}}\n",
                    directive("Caddy").trim_end()
                ),
            )],
        }
    }
}

/// Text of the configuration that makes a server log starts and durations.
fn directive(server: &str) -> &'static str {
    let directive = AccessLogFormat::directives().iter().find(|directive| directive.server == server);
    directive.expect("a directive").text
}

fn nginx(Site { port, handler, .. }: &Site<'_>) -> String {
    let directive = directive("nginx").replace("/var/log/nginx/access.log", "timed.log");
    format!(
        "pid nginx.pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log combined.log combined;\n{directive}\
         client_body_temp_path body_temp;\nproxy_temp_path proxy_temp;\nfastcgi_temp_path fastcgi_temp;\n\
         uwsgi_temp_path uwsgi_temp;\nscgi_temp_path scgi_temp;\nserver {{\nlisten 127.0.0.1:{port};\n\
         location / {{ proxy_pass http://127.0.0.1:{handler}; }}\n}}\n}}\n"
    )
}

fn apache(Site { port, handler, folder }: &Site<'_>) -> String {
    let program = PathBuf::from(std::env::var("SLIDEGATE_APACHE").expect("SLIDEGATE_APACHE is set"));
    let modules = program.parent().expect("a folder").join("modules");
    let (modules, folder) = (modules.display(), folder.display());
    let directive = directive("Apache").replace("logs/access.log", "timed.log");
    format!(
        "ServerRoot \"{folder}\"\nDefaultRuntimeDir \"{folder}\"\nServerName localhost\nPidFile apache.pid\n\
         Listen 127.0.0.1:{port}\nUser #65534\nGroup #65534\nErrorLog error.log\n\
         LoadModule mpm_event_module \"{modules}/mod_mpm_event.so\"\n\
         LoadModule authz_core_module \"{modules}/mod_authz_core.so\"\n\
         LoadModule proxy_module \"{modules}/mod_proxy.so\"\n\
         LoadModule proxy_http_module \"{modules}/mod_proxy_http.so\"\n\
         LogFormat \"%h %l %u %t \\\"%r\\\" %>s %O \\\"%{{Referer}}i\\\" \\\"%{{User-Agent}}i\\\"\" combined\n\
         CustomLog combined.log combined\n{directive}ProxyPass / http://127.0.0.1:{handler}/\n"
    )
}

fn envoy(Site { port, handler, .. }: &Site<'_>) -> String {
    format!(
        r#"static_resources:
  listeners:
    - address: {{ socket_address: {{ address: 127.0.0.1, port_value: {port} }} }}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: web
                use_remote_address: true
                access_log:
                  - name: envoy.access_loggers.file
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog
                      path: access.log
                route_config:
                  virtual_hosts:
                    - name: all
                      domains: ["*"]
                      routes: [{{ match: {{ prefix: / }}, route: {{ cluster: api }} }}]
                http_filters:
                  - name: envoy.filters.http.router
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
  clusters:
    - name: api
      load_assignment:
        cluster_name: api
        endpoints: [{{ lb_endpoints: [{{ endpoint: {{ address: {{ socket_address: {{ address: 127.0.0.1, port_value: {handler} }} }} }} }}] }}]
"#
    )
}

fn traefik(Site { port, handler, .. }: &Site<'_>, access_log: &str) -> Vec<(&'static str, String)> {
    let settings = format!(
        "global:\n  checkNewVersion: false\n  sendAnonymousUsage: false\nentryPoints:\n  web:\n    \
         address: 127.0.0.1:{port}\nproviders:\n  file:\n    filename: routes.yaml\n{access_log}  filePath: access.log\n"
    );
    let routes = format!(
        "http:\n  routers:\n    api:\n      entryPoints: [web]\n      rule: PathPrefix(`/`)\n      service: api\n  \
         services:\n    api:\n      loadBalancer:\n        servers:\n          - url: http://127.0.0.1:{handler}\n"
    );
    vec![("traefik.yaml", settings), ("routes.yaml", routes)]
}

impl RunningServer {
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn wait_until_ready(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + READY_WITHIN;
        while send(self.address, "/ready").is_err() {
            let ended = self.child.try_wait().expect("a child");
            if ended.is_some() || Instant::now() > deadline {
                let output = |name| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
                return Err(format!("{ended:?}\n{}{}", output(OUTPUT), output("error.log")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("an address")
}
