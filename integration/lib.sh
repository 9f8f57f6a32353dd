# shellcheck shell=bash
# Shared by the scripts in this folder; sourced, never run.
#
# Whoever sources it gets `set -euo pipefail`, $ROOT (the checkout), words for the user (say, step, fail), `need` for
# packages, `find_cargo`, crate sources, and a farm of stock distccd or a cluster of stock iceccd that ends with the script.

# shellcheck disable=SC2034 # what is set here is used by those who source it

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    BOLD=$'\e[1m' GREEN=$'\e[32m' RED=$'\e[31m' PLAIN=$'\e[0m'
else
    BOLD='' GREEN='' RED='' PLAIN=''
fi

say() { printf '%s\n' "$*"; }
step() { printf '%s== %s%s\n' "$BOLD" "$*" "$PLAIN"; }
fail() {
    printf '%s%s: %s%s\n' "$RED" "$(basename "$0")" "$*" "$PLAIN" >&2
    exit 1
}

# usage_from_header: the comment at the top of the running script is its help text.
usage_from_header() { sed -n '2,/^[^#]/ s/^# \{0,1\}//p' "$0"; }

# How to see that a package is there: by what it gives us, so that a compiler from elsewhere counts as well.
have_package() {
    case $1 in
    clang-22) command -v clang-22 && command -v clang++-22 ;;
    lld-22) command -v ld.lld-22 ;;
    llvm-22) [ -x /usr/lib/llvm-22/bin/llvm-dis ] || command -v llvm-dis-22 ;;
    distcc) command -v distccd && [ -e /usr/lib/distcc ] ;;
    libc6-dev) [ -e /usr/include/stdio.h ] ;;
    liblzo2-2) ldconfig_knows liblzo2.so.2 ;;
    icecc) PATH=$PATH:/sbin:/usr/sbin && command -v iceccd && command -v icecc-scheduler && id icecc ;;
    iproute2) PATH=$PATH:/sbin:/usr/sbin command -v ip ;;
    util-linux) command -v nsenter && command -v unshare && command -v setpriv && command -v setarch ;;
    python3 | gcc | g++ | ccache | mount) command -v "$1" ;;
    procps) command -v kill && command -v ps ;;
    time) [ -x /usr/bin/time ] ;;
    ca-certificates) [ -e /etc/ssl/certs/ca-certificates.crt ] ;;
    *) dpkg-query -W -f '${Status}\n' "$1" 2>/dev/null | grep -q '^install ok installed$' ;;
    esac >/dev/null 2>&1
}

ldconfig_knows() { PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep -qF "$1"; }

# need PACKAGE...: installs the Debian packages that are missing; without root it says which and how.
need() {
    local package missing=()
    for package in "$@"; do
        have_package "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        fail "these packages are missing: ${missing[*]}
  as root: apt-get install ${missing[*]}"
    fi
    step "Installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update </dev/null
    apt-get -qq install --no-install-recommends "${missing[@]}" </dev/null >/dev/null
    for package in "${missing[@]}"; do
        have_package "$package" || fail "package $package is installed, but what we need from it is not there"
    done
}

# find_cargo: puts cargo on PATH, or says that Rust is missing.
find_cargo() {
    local folder
    for folder in "${CARGO_HOME:-${HOME:-/root}/.cargo}/bin" /usr/local/cargo/bin; do
        command -v cargo >/dev/null || PATH=$PATH:$folder
    done
    command -v cargo >/dev/null || fail "cargo is not installed: install Rust $(rust_version) or later (with rustup, say)"
    export PATH
}

rust_version() { sed -n 's/^rust-version = "\(.*\)"/\1/p' "$ROOT/Cargo.toml" | head -n 1; }

# build_thinbridge: release build; sets $THINBRIDGE to the program's absolute path.
build_thinbridge() {
    need gcc libc6-dev # cargo links with cc
    find_cargo
    step "Building thinbridge"
    # cargo says where the program is: that depends on the target folder, the target and the user's configuration.
    THINBRIDGE=$(cd "$ROOT" && cargo build --release --bin thinbridge --message-format=json-render-diagnostics |
        sed -n 's/.*"executable":"\([^"]*\/thinbridge\)".*/\1/p') || fail "cargo could not build thinbridge"
    [ -x "$THINBRIDGE" ] || fail "cargo built no program at '$THINBRIDGE'"
}

# component NAME COMMAND: makes sure that cargo has a subcommand, with rustup's help where there is rustup.
component() {
    cargo "$2" --version >/dev/null 2>&1 && return
    command -v rustup >/dev/null || fail "cargo $2 is not installed: install $1"
    rustup component add "$1"
}

# crate_source NAME VERSION FOLDER: fetches a crate's sources with cargo and prints where they are, below FOLDER.
crate_source() {
    local name=$1 version=$2 folder=$3/crates/$1
    if [ ! -e "$folder/complete" ]; then
        rm -rf "$folder"
        mkdir -p "$folder/src"
        : >"$folder/src/lib.rs"
        cat >"$folder/Cargo.toml" <<MANIFEST
[package]
name = "fetch-$name"
version = "0.0.0"
edition = "2021"
[dependencies]
$name = { version = "=$version", default-features = false }
[workspace]
MANIFEST
        (cd "$folder" && cargo vendor --quiet vendor >/dev/null) || fail "cargo could not fetch the crate $name $version"
        : >"$folder/complete"
    fi
    printf '%s\n' "$folder/vendor/$name"
}

# read_workload FOLDER: goes to a folder that integration/workload filled; sets LINK (the command) and MODULES.
read_workload() {
    cd "$1"
    mapfile -t LINK <link
    MODULES=$(wc -l <objects.rsp)
}

# timed COMMAND…: runs it; sets SECONDS_TAKEN (wall time, to the millisecond). Ends the script if it fails.
timed() {
    local start=${EPOCHREALTIME//[.,]/} took
    "$@" || fail "failed: $*"
    took=$((${EPOCHREALTIME//[.,]/} - start))
    printf -v SECONDS_TAKEN '%d.%03d' $((took / 1000000)) $((took / 1000 % 1000))
}

# farm_start COUNT FOLDER [MASKED FOLDER...]: stock distccd on free loopback ports, which end with this script.
# Sets FARM_HOSTS (distcc's grammar) and FARM_PIDS; logs are FOLDER/volunteer-N.log. With CLUSTER_CLIENT set they are on
# the loopback of a cluster's client.
farm_start() {
    local count=$1 folder=$2 masks=() mask number
    shift 2
    for mask in "$@"; do masks+=(--mask "$mask"); done
    mkdir -p "$folder"
    FARM_HOSTS='' FARM_PIDS=()
    for ((number = 1; number <= count; number++)); do
        start_volunteer "$folder" "$number" "${masks[@]}"
    done
}

start_volunteer() {
    local folder=$1 number=$2 log=$1/volunteer-$2.log try port pid line out
    shift 2
    for ((try = 0; try < 20; try++)); do
        port=$((10000 + (RANDOM * 32768 + RANDOM) % 20000)) # below the range that outgoing connections use
        mkfifo "$folder/words"
        inside_client "$ROOT/integration/volunteer" --port "$port" --jobs "${FARM_JOBS:-2}" "$@" \
            <"$WORK/life" >"$folder/words" 2>&1 {LIFE}>&- &
        pid=$!
        exec {out}<"$folder/words"
        rm "$folder/words"
        while IFS= read -r -u "$out" line; do
            printf '%s\n' "$line" >>"$log"
            case $line in
            *"no mount namespace"*) printf '%s\n' "$line" >&2 ;;
            *"preforking daemon started"*) # "listening on" comes before it listens
                FARM_HOSTS="${FARM_HOSTS:+$FARM_HOSTS }127.0.0.1:$port/${FARM_JOBS:-2}"
                FARM_PIDS+=("$pid")
                cat <&"$out" >>"$log" {LIFE}>&- &
                exec {out}<&-
                return
                ;;
            esac
        done
        exec {out}<&-
        grep -q 'Address already in use' "$log" || break
    done
    fail "distccd did not start; its last words:
$(tail -n 5 "$log")"
}

# inside_client COMMAND…: becomes the command, on the client's machine of a cluster if there is one.
inside_client() {
    [ -z "${CLUSTER_CLIENT:-}" ] || exec nsenter --net="/proc/$CLUSTER_CLIENT/ns/net" --mount="/proc/$CLUSTER_CLIENT/ns/mnt" -- "$@"
    exec "$@"
}

# farm_cpu_ms: CPU time of the compilers that the volunteers have run, in milliseconds.
farm_cpu_ms() {
    local processes=("${FARM_PIDS[@]}") next=0 ticks=0 stat fields
    while [ $next -lt ${#processes[@]} ]; do
        local process=${processes[next++]}
        # What a process has waited for: a daemon's child its compilers, the daemon its retired children.
        stat=$(cat "/proc/$process/stat" 2>/dev/null) || continue
        read -r -a fields <<<"${stat##*)}"
        ticks=$((ticks + fields[13] + fields[14]))
        # shellcheck disable=SC2207
        processes+=($(cat "/proc/$process/task/$process/children"))
    done
    echo $((ticks * 1000 / $(getconf CLK_TCK)))
}

# why_no_cluster: why no icecream cluster can be started on this machine; nothing if one can.
why_no_cluster() {
    if [ "$(id -u)" -ne 0 ]; then
        echo "that needs root"
    elif ! unshare --mount --propagation private --net true 2>/dev/null; then
        echo "no network namespace may be made here"
    fi
}

# cluster_start COUNT FOLDER [MASKED FOLDER...]: an icecream cluster in networks of its own, which ends with this script:
# a scheduler and COUNT stock iceccd, ready for jobs. `in_cluster COMMAND…` runs a command on the client's side of it.
# Sets CLUSTER_SCHEDULER (its address) and CLUSTER_PIDS; logs are FOLDER/scheduler.log and FOLDER/host-N.log.
cluster_start() {
    local count=$1 folder=$2 masks=() mask number why
    shift 2
    for mask in "$@"; do masks+=(--mask "$mask"); done
    why=$(why_no_cluster)
    [ -z "$why" ] || fail "no icecream cluster can be started: $why"
    mkdir -p "$folder"
    CLUSTER_SCHEDULER=10.77.0.2 CLUSTER_PIDS=()
    start_node "$folder" client ready client
    CLUSTER_CLIENT=${CLUSTER_PIDS[0]}
    start_node "$folder" scheduler "scheduler ready" scheduler --client "$CLUSTER_CLIENT" --address "$CLUSTER_SCHEDULER"
    for ((number = 1; number <= count; number++)); do
        start_node "$folder" "host-$number" "starting up" host --client "$CLUSTER_CLIENT" --name "host-$number" \
            --address "10.77.0.$((10 + number))" --slots "${CLUSTER_SLOTS:-2}" "${masks[@]}"
    done
    wait_for_cluster "$count" || fail "the cluster did not get ready; last words of its daemons:
$(tail -n 3 "$folder"/*.log)"
}

# start_node FOLDER NAME LINE ARGUMENT…: returns once the machine has logged the line.
start_node() {
    local folder=$1 log=$1/$2.log ready=$3 line out
    mkfifo "$folder/words"
    "$ROOT/integration/icecream-node" "${@:4}" <"$WORK/life" >"$folder/words" 2>&1 {LIFE}>&- &
    CLUSTER_PIDS+=("$!")
    exec {out}<"$folder/words"
    rm "$folder/words"
    while IFS= read -r -u "$out" line; do
        printf '%s\n' "$line" >>"$log"
        case $line in
        *"$ready"*)
            { cat <&"$out" >>"$log" {LIFE}>&- & } 2>/dev/null
            exec {out}<&-
            return
            ;;
        esac
    done
    fail "integration/icecream-node ${*:4} did not start; its last words:
$(tail -n 5 "$log")"
}

# in_cluster COMMAND…: runs it on the client's machine of the cluster, in the current folder.
in_cluster() {
    nsenter --net="/proc/$CLUSTER_CLIENT/ns/net" --mount="/proc/$CLUSTER_CLIENT/ns/mnt" -- env -C "$PWD" "$@"
}

# wait_for_cluster COUNT: until so many hosts take jobs, that is, until the scheduler has had their load. It has no event
# that says so, hence the repeated question. Asking also keeps it from leaving a host's connection unanswered.
wait_for_cluster() {
    # shellcheck disable=SC2016
    in_cluster timeout 90 bash -c '
        exec 3<>"/dev/tcp/$1/8766"
        while sleep 0.2 && echo listcs >&3; do
            ready=0
            while IFS= read -r -t 15 line <&3; do
                case $line in
                *load=1000*) ;;
                *" load="*) ready=$((ready + 1)) ;;
                *"200 done"*) break ;;
                esac
            done
            [ "$ready" -lt "$2" ] || exit 0
        done
        exit 1
    ' wait_for_cluster "$CLUSTER_SCHEDULER" "$1"
}

# work_folder NAME: sets WORK to a new folder that is removed, with the farm and the cluster, when the script ends.
work_folder() {
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/thinbridge-$1.XXXXXX")
    FARM_PIDS=() CLUSTER_PIDS=()
    # Volunteers and the machines of a cluster live until their standard input ends: we hold the only writing end, so none
    # can outlive us.
    mkfifo "$WORK/life"
    exec {LIFE}<>"$WORK/life"
    trap 'clean_up' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

clean_up() {
    local pid
    exec {LIFE}>&-
    for pid in "${FARM_PIDS[@]}" "${CLUSTER_PIDS[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$WORK"
}

# without_user_settings: the scripts must not depend on the farm, the configuration, the flags or the cache of whoever
# runs them.
without_user_settings() {
    local name
    for name in $(compgen -e | grep -E '^(DISTCC|_DISTCC|ICECC|USE_SCHEDULER$|THINBRIDGE|CFLAGS$|CXXFLAGS$|LDFLAGS$|CCC_OVERRIDE_OPTIONS$)' || true); do
        unset "$name"
    done
    export XDG_CONFIG_HOME=$WORK/config XDG_CACHE_HOME=$WORK/cache DISTCC_DIR=$WORK/distcc
    # An empty list of its own, so that the system's one is not read.
    mkdir "$DISTCC_DIR"
    echo '# nobody' >"$DISTCC_DIR/hosts"
}
