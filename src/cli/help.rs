//! The texts of `--help` and `--version`.

use super::OPTIONS;

/// Width of the help text, in columns. Narrower than the 80 columns of the smallest usual terminal.
const WIDTH: usize = 80;

/// The name and the version of the program, one line.
pub(super) fn version() -> String {
    format!("thinbridge {}\n", env!("CARGO_PKG_VERSION"))
}

/// The whole help text.
pub(super) fn text() -> String {
    let mut text = String::from(INTRODUCTION);
    for option in OPTIONS {
        text.push_str(&format!("  --{} {}\n", option.name, option.value_name));
        text.push_str(&wrap(option.help, 6));
    }
    text.push_str("  -h, --help\n      Print this text.\n  -V, --version\n      Print the version.\n");
    text.push_str(NOTES);
    text
}

/// Breaks running text into lines that fit, each indented by `indent` columns.
fn wrap(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push_str(&format!("{:indent$}{line}\n", ""));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push_str(&format!("{:indent$}{line}\n", ""));
    lines
}

const INTRODUCTION: &str = "\
thinbridge runs the ThinLTO backend jobs of an lld link on a distcc farm,
an icecream cluster, or both.

Usage: thinbridge [OPTIONS] JOBS.json
       thinbridge environment [--compiler PATH] [--output FILE]

ld.lld (LLVM 21 or later) calls it, and adds JOBS.json, the description of the
jobs, as the last argument. Give the linker its absolute path:

  clang -flto=thin -fuse-ld=lld ... -fthinlto-distributor=/usr/bin/thinbridge \\
        -Xthinlto-distributor='--hosts=fast/16 slow/4'

Options:
";

const NOTES: &str = "
Writing values with commas:
  clang splits -Xthinlto-distributor=... at commas. The pieces of a host list
  are joined again, so this works as it stands:
    -Xthinlto-distributor='--hosts=fast/16,lzo,cpp slow/4,lzo,cpp'
  For any other value with a comma, do not let clang split:
    -Xlinker --thinlto-distributor-arg=--report=/tmp/a,b.json

Where settings come from, the first that says something counts:
  1. the option; given twice, the last one counts unless it may be repeated
  2. the environment: THINBRIDGE_ and the option's name in capitals, with '_'
     for '-' (THINBRIDGE_LOCAL_SLOTS=4); an empty variable counts as not set
  3. distcc's environment: DISTCC_FALLBACK=0|1, DISTCC_VERBOSE=0|1
  4. $XDG_CONFIG_HOME/thinbridge/config.toml (~/.config/thinbridge/config.toml)
  5. /etc/thinbridge/config.toml
  In the files the names are the options' names:
    hosts = \"fast/16 slow/4\"
    local-slots = 4
    verbose = true                         # or \"on\"
    remote-compiler = \"clang-22\"           # or a table:
    # [remote-compiler]
    # \"*\" = \"clang-22\"
    # \"fast:3632\" = \"clang-22.1\"

Hosts:
  The first of these that exists: --hosts, THINBRIDGE_HOSTS, 'hosts' in the
  configuration files, DISTCC_HOSTS, $DISTCC_DIR/hosts (~/.distcc/hosts),
  /etc/distcc/hosts. Without any, and without a cluster, all jobs run on this
  machine.

Icecream:
  'auto' takes the first of these that exists: an iceccd that runs on this
  machine (/var/run/icecc/iceccd.socket, /var/run/iceccd.socket,
  ~/.iceccd.socket, or ICECC_TEST_SOCKET alone), ICECC_SCHEDULER or
  USE_SCHEDULER in the environment, ICECC_SCHEDULER_HOST in
  /etc/icecc/icecc.conf, a scheduler of the netname that answers a broadcast
  within 3 s. With --icecream-ship off the iceccd is left out. Without a
  cluster the link goes on, with one line that says why.

  Hosts of a cluster need no compiler: thinbridge sends them the one that the
  linker names, as an icecream environment. It is made once and kept in
  $XDG_CACHE_HOME/thinbridge (~/.cache/thinbridge). 'thinbridge environment'
  makes it beforehand, of the compiler PATH (default: clang-22), prints where
  it is, its name and its sizes, and puts a copy into FILE.

Environment:
  THINBRIDGE=off      run every job on this machine
  DISTCC_IO_TIMEOUT   seconds after which a silent host is given up, where that
                      is sooner than its deadline (10 s and more)
  DISTCC_LOG          append messages to this file instead of stderr
  DISTCC_SSH          the ssh command and its arguments, split at spaces
  _DISTCC_SAFEGUARD   when set, run every job on this machine
  ICECC_PREFERRED_HOST
                      the only host of the cluster that is used, by its name or
                      address

Exit status:
  0    every job gave an object
  1    a job failed on this machine too, or a file could not be read or written
  2    the command line, a setting or the job description is wrong
  3    --fallback off or --max-fallback was broken
  130  interrupted (SIGINT)
  143  terminated (SIGTERM)
";
