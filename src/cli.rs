//! The command line. Every option is defined once, as a row of [`OPTIONS`]; the flag, the environment variable, the
//! key of the configuration file and the help text all come from that row.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, ArgAction, Command};

use crate::config::icecream::{self, Place};
use crate::config::layer::Layer;
use crate::config::values::{self, Fallback, Share};
use crate::config::{Packing, UsageError};

mod help;
mod subcommand;
mod words;

#[cfg(test)]
mod tests;

/// One option: a flag, a variable of the environment and a key of the configuration file at once.
#[derive(Debug)]
pub struct OptionSpec {
    /// The name after the two dashes, which is the key in the configuration file too.
    pub name: &'static str,
    /// What stands for the value in the help text.
    pub value_name: &'static str,
    /// What the option does, as running text.
    pub help: &'static str,
    /// Which values are accepted, to follow the word "expected" in an error.
    pub accepts: &'static str,
    /// Which types the configuration file may use.
    pub form: Form,
    /// Takes one value over; `None` when it is not acceptable. The only parser of this value.
    pub(crate) store: fn(&mut Layer, &str) -> Option<()>,
}

/// The form of an option's value, beyond the text that every option accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `on` or `off`; a boolean in the configuration file.
    Switch,
    /// An integer in the configuration file.
    Count,
    /// An integer or a float in the configuration file.
    Share,
    /// Only text.
    Text,
    /// A host list: an array of strings in the configuration file; joined again where clang split it at commas.
    HostList,
    /// A name for all hosts or for one: an array or a table in the configuration file; several words in the environment.
    PerHost,
}

/// Every option, in the order of the help text.
pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "hosts",
        value_name: "LIST",
        help: "The hosts that compile, in distcc's grammar: 'fast/16 10.0.0.7:3632/8 user@far'. May be repeated. Every \
               TCP and ssh host is spoken to in distcc's protocol 3, whether its entry says ',lzo,cpp' or not. An empty \
               list means no hosts. Default: see \"Hosts\" below.",
        accepts: "a host list in distcc's grammar",
        form: Form::HostList,
        store: |layer, text| values::append_hosts(&mut layer.hosts, text),
    },
    OptionSpec {
        name: "local-slots",
        value_name: "N",
        help: "How many jobs may run on this machine at the same time as the remote ones, over all links of this user; \
               0 to 1024. 0: only as fallback. Default: 'localhost/N' of the host list, else the processors this \
               process may use, fewer when memory is short.",
        accepts: "a whole number from 0 to 1024",
        form: Form::Count,
        store: |layer, text| values::put(&mut layer.local_slots, values::slots(text)),
    },
    OptionSpec {
        name: "remote-compiler",
        value_name: "[HOST=]NAME",
        help: "What the hosts, or only HOST, call the compiler. May be repeated; 'HOST' without a port means all its \
               ports, '*' all hosts. Default: derived from the compiler that the linker named \
               (/usr/lib/llvm-22/bin/clang: clang-22).",
        accepts: "[HOST=]NAME, a compiler's name without spaces such as clang-22",
        form: Form::PerHost,
        store: |layer, text| layer.remote_compilers.add(text),
    },
    OptionSpec {
        name: "icecream",
        value_name: "auto|off|HOST[:PORT]|unix:PATH",
        help: "The icecream cluster that compiles, beside the hosts: 'auto' is the one this machine belongs to (see \
               \"Icecream\" below), HOST the machine of a scheduler, unix:PATH the socket of a running iceccd. \
               Default: off.",
        accepts: "auto, off, HOST[:PORT] (a name or an IPv4 address: icecream knows no IPv6) or unix:PATH (at most 107 \
                  bytes)",
        form: Form::Text,
        store: |layer, text| values::put(&mut layer.icecream, Place::parse(text)),
    },
    OptionSpec {
        name: "icecream-netname",
        value_name: "NAME",
        help: "Which cluster to look for where the network is asked for one. Default: ICECC_NETNAME of \
               /etc/icecc/icecc.conf, else ICECREAM.",
        accepts: "a name of at most 254 bytes",
        form: Form::Text,
        store: |layer, text| values::put(&mut layer.icecream_netname, icecream::netname(text)),
    },
    OptionSpec {
        name: "icecream-ship",
        value_name: "on|off",
        help: "Whether hosts of the cluster that lack the compiler are sent it. off: only those are used that have it \
               already; not together with unix:PATH. Default: on.",
        accepts: "on or off",
        form: Form::Switch,
        store: |layer, text| values::put(&mut layer.icecream_ship, values::switch(text)),
    },
    OptionSpec {
        name: "icecream-protocol",
        value_name: "N",
        help: "The newest version of icecream's protocol to speak, 30 to 43. A lower one is agreed on by itself where \
               the cluster is older. Default: 43.",
        accepts: "a whole number from 30 to 43",
        form: Form::Count,
        store: |layer, text| values::put(&mut layer.icecream_protocol, icecream::protocol(text)),
    },
    OptionSpec {
        name: "fallback",
        value_name: "on|off",
        help: "Whether a job that was meant for a host may run on this machine when no host could do it. \
               Default: on.",
        accepts: "on or off",
        form: Form::Switch,
        store: |layer, text| values::put(&mut layer.fallback, values::switch(text).map(Fallback::from)),
    },
    OptionSpec {
        name: "max-fallback",
        value_name: "SHARE",
        help: "Exit with 3 when more than this share of the jobs, 0 to 1, fell back to this machine. Default: no limit.",
        accepts: "a number from 0 to 1",
        form: Form::Share,
        store: |layer, text| values::put(&mut layer.max_fallback, Share::parse(text)),
    },
    OptionSpec {
        name: "verify",
        value_name: "SHARE",
        help: "Compile this share of the remote jobs, 0 to 1, on this machine too and compare byte for byte. \
               Default: 0; the first job of each host is always compared.",
        accepts: "a number from 0 to 1",
        form: Form::Share,
        store: |layer, text| values::put(&mut layer.verify, Share::parse(text)),
    },
    OptionSpec {
        name: "report",
        value_name: "FILE",
        help: "Write a JSON report of the link. {output} and {pid} in the name are replaced by the name of the linked \
               program and the process id; a folder gets one file per link. Default: no report.",
        accepts: "the name of a file or a folder",
        form: Form::Text,
        store: |layer, text| values::put(&mut layer.report, values::file_name(text)),
    },
    OptionSpec {
        name: "verbose",
        value_name: "on|off",
        help: "Say where each job runs and why. Default: off.",
        accepts: "on or off",
        form: Form::Switch,
        store: |layer, text| values::put(&mut layer.verbose, values::switch(text)),
    },
];

impl OptionSpec {
    /// The option with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        OPTIONS.iter().find(|option| option.name == name)
    }

    /// The environment variable, such as `THINBRIDGE_LOCAL_SLOTS`.
    pub fn variable(&self) -> String {
        format!("THINBRIDGE_{}", self.name.to_uppercase().replace('-', "_"))
    }
}

/// What the command line asks for.
#[derive(Debug)]
pub(crate) enum Request {
    /// `--help`: this text on stdout.
    Help(String),
    /// `--version`: this text on stdout.
    Version(String),
    /// `environment`: an environment for icecream.
    Environment(Packing),
    /// A link.
    Run { flags: Box<Layer>, json: PathBuf },
}

/// Parses the arguments that follow the program's name.
///
/// # Errors
/// An unknown option, a value that is missing, not accepted or not UTF-8, a stray word, no job description.
pub(crate) fn parse(args: Vec<OsString>) -> Result<Request, UsageError> {
    if let Some(arguments) = subcommand::arguments(&args) {
        return subcommand::parse(arguments);
    }
    let words = words::arrange(args);
    let matches = match (command().try_get_matches_from(&words.options), &words.stray) {
        (Err(error), _) if error.kind() == ErrorKind::DisplayHelp => return Ok(Request::Help(help::text())),
        (Err(error), _) if error.kind() == ErrorKind::DisplayVersion => return Ok(Request::Version(help::version())),
        // An unknown option explains a stray word, which may be its value; a stray word explains a missing value.
        (Err(error), _) if error.kind() == ErrorKind::UnknownArgument => return Err(explain(&error, None)),
        (_, Some(stray)) => return Err(words::stray(stray)),
        (Err(error), None) => return Err(explain(&error, words.json.as_deref())),
        (Ok(matches), None) => matches,
    };
    let mut flags = Layer::default();
    for option in OPTIONS {
        for value in matches.get_many::<OsString>(option.name).into_iter().flatten() {
            store(option, value, &mut flags)?;
        }
    }
    let json = words.json.filter(|json| !json.is_empty()).ok_or_else(no_description)?;
    Ok(Request::Run { flags: Box::new(flags), json: json.into() })
}

fn command() -> Command {
    Command::new("thinbridge")
        .no_binary_name(true)
        .disable_help_subcommand(true)
        .version(env!("CARGO_PKG_VERSION"))
        .args(OPTIONS.iter().map(|option| {
            let values = ValueParser::os_string();
            Arg::new(option.name).long(option.name).action(ArgAction::Append).value_parser(values)
        }))
}

fn store(option: &OptionSpec, value: &OsStr, flags: &mut Layer) -> Result<(), UsageError> {
    let name = || format!("--{}", option.name);
    let text = value.to_str().ok_or_else(|| UsageError::NotUtf8 { name: name() })?;
    (option.store)(flags, text).ok_or_else(|| UsageError::Value {
        name: name(),
        given: text.into(),
        accepts: option.accepts.into(),
    })
}

/// Our own words for clap's errors: one line, with the mend.
fn explain(error: &clap::Error, json: Option<&OsStr>) -> UsageError {
    let context = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let argument = context(ContextKind::InvalidArg);
    let (what, mend) = match error.kind() {
        ErrorKind::UnknownArgument => {
            let mend = match context(ContextKind::SuggestedArg) {
                similar if similar.is_empty() => "'thinbridge --help' lists the options".into(),
                similar => format!("did you mean '{similar}'?"),
            };
            (format!("unknown option '{}'", argument.escape_debug()), mend)
        }
        // clap reports a missing value as an invalid one that is empty.
        ErrorKind::InvalidValue | ErrorKind::NoEquals | ErrorKind::WrongNumberOfValues => {
            let name = argument.split(' ').next().unwrap_or_default().to_string();
            let accepts = OptionSpec::find(name.trim_start_matches('-')).map_or("a value", |option| option.accepts);
            let taken = json.map(|word| {
                format!(" (the last word, '{}', is the job description)", word.to_string_lossy().escape_debug())
            });
            (format!("{name} has no value{}", taken.unwrap_or_default()), format!("expected {accepts}"))
        }
        ErrorKind::TooManyValues => (format!("'{argument}' takes no value"), "leave out what follows '='".into()),
        _ => (error.kind().to_string(), "see 'thinbridge --help'".into()),
    };
    UsageError::CommandLine { what, mend }
}

fn no_description() -> UsageError {
    UsageError::CommandLine {
        what: "no job description: the last argument must be the JSON file that the linker wrote".into(),
        mend: "ld.lld adds it by itself when it calls thinbridge; see 'thinbridge --help'".into(),
    }
}
