//! The configuration files, in TOML. Keys and spellings are those of the options; where TOML has a type of its own
//! for a value, that is accepted too.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::layer::Layer;
use super::{Position, ReadFile, UsageError};
use crate::cli::{Form, OPTIONS, OptionSpec};
use crate::words::plain;

/// The largest configuration or host file that is read, 1 MiB. A list of ten thousand hosts takes half of that.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// What a configuration file says; `None` when there is no such file.
pub(super) fn load(path: &Path, read: ReadFile<'_>) -> Result<Option<Layer>, UsageError> {
    read_text(path, read)?.map(|text| parse(path, &text)).transpose()
}

/// Reads a user's own file. One that this user may not read counts as missing, with a note: a service that inherited
/// another user's `HOME` still links.
pub(super) fn read_own(path: &Path, read: ReadFile<'_>, notes: &RefCell<Vec<String>>) -> io::Result<Vec<u8>> {
    read(path).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            let name = path.to_string_lossy();
            notes.borrow_mut().push(format!("{} is not used: {}", name.escape_debug(), plain(&error)));
            io::ErrorKind::NotFound.into()
        }
        _ => error,
    })
}

/// The text of a file; `None` when there is no such file.
pub(super) fn read_text(path: &Path, read: ReadFile<'_>) -> Result<Option<String>, UsageError> {
    let fault = |position, what| UsageError::File { path: path.into(), position, what };
    let bytes = match read(path) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(fault(None, format!("cannot be read: {}", plain(&error)))),
    };
    if bytes.len() > MAX_FILE_BYTES {
        return Err(fault(None, format!("{} bytes are too many; at most {MAX_FILE_BYTES} are read", bytes.len())));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let position = Position::of(error.as_bytes(), error.utf8_error().valid_up_to());
        fault(Some(position), "not UTF-8; write the file in UTF-8".into())
    })
}

fn parse(path: &Path, text: &str) -> Result<Layer, UsageError> {
    let fault = |fault: Fault| UsageError::File {
        path: path.into(),
        position: fault.at.map(|span| Position::of(text.as_bytes(), span.start)),
        what: fault.what,
    };
    let table = DeTable::parse(text)
        .map_err(|error| Fault { at: error.span(), what: format!("not TOML: {}", one_line(error.message())) })
        .map_err(fault)?;
    let mut entries: Vec<_> = table.get_ref().iter().collect();
    // The first fault in the file is the one to report.
    entries.sort_by_key(|(key, _)| key.span().start);
    let mut layer = Layer::default();
    for (key, value) in entries {
        set(&mut layer, key.get_ref(), key.span(), value).map_err(fault)?;
    }
    Ok(layer)
}

/// A fault in the text, and where.
struct Fault {
    at: Option<Range<usize>>,
    what: String,
}

fn set(layer: &mut Layer, key: &str, at: Range<usize>, value: &Spanned<DeValue<'_>>) -> Result<(), Fault> {
    let Some(option) = OptionSpec::find(key) else {
        let names: Vec<_> = OPTIONS.iter().map(|option| option.name).collect();
        let what = format!("unknown key '{}'; the keys are {}", key.escape_debug(), names.join(", "));
        return Err(Fault { at: Some(at), what });
    };
    for (item, at) in items(option, value)? {
        (option.store)(layer, &item).ok_or_else(|| wrong(option, at, &format!("'{}'", item.escape_debug())))?;
    }
    Ok(())
}

/// A value of an option as text, and the bytes of the file that it came from.
type Item = (String, Range<usize>);

/// The values that a key gives to its option: several for an array or a table.
fn items(option: &OptionSpec, value: &Spanned<DeValue<'_>>) -> Result<Vec<Item>, Fault> {
    let text = match (value.get_ref(), option.form) {
        (DeValue::String(text), _) => text.to_string(),
        (DeValue::Boolean(on), Form::Switch) => if *on { "on" } else { "off" }.into(),
        (DeValue::Integer(number), Form::Count | Form::Share) if number.radix() == 10 => number.to_string(),
        (DeValue::Float(number), Form::Share) => number.to_string(),
        (DeValue::Array(array), Form::HostList | Form::PerHost) => {
            return array.iter().map(|item| string(option, item)).collect();
        }
        (DeValue::Table(table), Form::PerHost) => return table.iter().map(|entry| pair(option, entry)).collect(),
        (other, _) => return Err(wrong(option, value.span(), article(other.type_str()))),
    };
    Ok(vec![(text, value.span())])
}

/// An element of an array.
fn string(option: &OptionSpec, value: &Spanned<DeValue<'_>>) -> Result<Item, Fault> {
    match value.get_ref() {
        DeValue::String(text) => Ok((text.to_string(), value.span())),
        other => Err(wrong(option, value.span(), &format!("{} in the array", article(other.type_str())))),
    }
}

/// An entry of a table, as `KEY=VALUE`.
fn pair(option: &OptionSpec, entry: (&Spanned<toml::de::DeString<'_>>, &Spanned<DeValue<'_>>)) -> Result<Item, Fault> {
    let (key, value) = entry;
    if key.get_ref().contains('=') {
        return Err(wrong(option, key.span(), &format!("the key '{}'", key.get_ref().escape_debug())));
    }
    match value.get_ref() {
        DeValue::String(text) => Ok((format!("{}={text}", key.get_ref()), value.span())),
        DeValue::Table(_) => {
            let what = format!("{}: the host '{}' needs quotes: \"host:port\" = \"NAME\"", option.name, key.get_ref());
            Err(Fault { at: Some(key.span()), what })
        }
        other => Err(wrong(option, value.span(), article(other.type_str()))),
    }
}

fn wrong(option: &OptionSpec, at: Range<usize>, found: &str) -> Fault {
    let or_native = match option.form {
        Form::Switch => " (or true or false)",
        Form::HostList => " (a string or an array of strings)",
        Form::PerHost => " (a string, an array of strings or a table of HOST = \"NAME\")",
        Form::Text => " (a string)",
        Form::Count | Form::Share => "",
    };
    Fault { at: Some(at), what: format!("{}: expected {}{or_native}, found {found}", option.name, option.accepts) }
}

fn article(kind: &str) -> &'static str {
    match kind {
        "integer" => "an integer",
        "float" => "a float",
        "boolean" => "a boolean",
        "datetime" => "a date",
        "array" => "an array",
        "table" => "a table",
        _ => "a string",
    }
}

fn one_line(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join("; ")
}
