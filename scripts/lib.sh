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

core_is_alone() {
    local tree
    tree=$(cargo tree --quiet --package slidegate-core --edges normal)
    echo "$tree"
    [ "$(wc -l <<<"$tree")" = 1 ]
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
