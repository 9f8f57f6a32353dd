//! icecream's settings on this machine, `/etc/icecc/icecc.conf`: assignments that a shell script reads. They are read here
//! without a shell, so a value that only a shell could work out is refused.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

/// Names the scheduler, `HOST[:PORT]`.
pub(super) const SCHEDULER: &str = "ICECC_SCHEDULER_HOST";

/// Names the cluster.
pub(super) const NETNAME: &str = "ICECC_NETNAME";

/// What the settings say about the way into the cluster. An empty value says nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Conf {
    pub(super) scheduler: Option<Setting>,
    pub(super) netname: Option<Setting>,
}

/// A value, and the line that it stands on; lines count from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) text: String,
    pub(super) line: usize,
}

/// What is wrong in the settings, and the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConfError {
    line: usize,
    fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    OpenQuote,
    NotPlain(&'static str),
}

impl fmt::Display for ConfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match self.fault {
            Fault::OpenQuote => f.write_str("a quote is not closed"),
            Fault::NotPlain(name) => write!(f, "the value of {name} is not plain text: only a shell can tell it"),
        }
    }
}

/// Reads the settings. As in a shell, the last assignment of a name counts.
pub(super) fn parse(text: &str) -> Result<Conf, ConfError> {
    let mut reader = Reader { rest: text.chars().peekable(), line: 1 };
    let (mut scheduler, mut netname) = (None, None);
    while let Some(command) = reader.command()? {
        let words = match command.first() {
            Some(word) if word.text == "export" => command.get(1..).unwrap_or_default(),
            _ => &command,
        };
        for (name, value, word) in words.iter().map_while(assignment) {
            let place = match name {
                SCHEDULER => &mut scheduler,
                NETNAME => &mut netname,
                _ => continue,
            };
            *place = Some((Setting { text: value.trim().into(), line: word.line }, word.plain));
        }
    }
    Ok(Conf { scheduler: said(scheduler, SCHEDULER)?, netname: said(netname, NETNAME)? })
}

fn said(found: Option<(Setting, bool)>, name: &'static str) -> Result<Option<Setting>, ConfError> {
    match found {
        Some((setting, false)) => Err(ConfError { line: setting.line, fault: Fault::NotPlain(name) }),
        Some((setting, true)) if !setting.text.is_empty() => Ok(Some(setting)),
        _ => Ok(None),
    }
}

fn assignment(word: &Word) -> Option<(&str, &str, &Word)> {
    let (name, value) = word.text.split_once('=')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((name, value, word))
}

/// A word of a shell script without its quotes.
struct Word {
    text: String,
    line: usize,
    /// Whether the text is the value: nothing in it is for a shell to replace.
    plain: bool,
}

/// Splits a shell script into commands, and those into words.
struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    line: usize,
}

impl Reader<'_> {
    /// The words up to the end of the line or a separator; `None` at the end of the script.
    fn command(&mut self) -> Result<Option<Vec<Word>>, ConfError> {
        let mut words = Vec::new();
        loop {
            match self.rest.peek() {
                None if words.is_empty() => return Ok(None),
                None => return Ok(Some(words)),
                Some('\n' | ';' | '&' | '|') => {
                    self.next();
                    return Ok(Some(words));
                }
                Some('#') => while self.rest.peek().is_some_and(|next| *next != '\n') && self.next().is_some() {},
                // A file from Windows has a carriage return before the end of each line.
                Some(next) if next.is_whitespace() => drop(self.next()),
                Some(_) => words.push(self.word()?),
            }
        }
    }

    fn word(&mut self) -> Result<Word, ConfError> {
        let mut word = Word { text: String::new(), line: self.line, plain: true };
        while let Some(&next) = self.rest.peek() {
            if next.is_whitespace() || matches!(next, ';' | '&' | '|') {
                break;
            }
            self.next();
            match next {
                '\'' => self.single_quoted(&mut word)?,
                '"' => self.double_quoted(&mut word)?,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(escaped) => word.text.push(escaped),
                },
                other => word.push(other),
            }
        }
        Ok(word)
    }

    fn single_quoted(&mut self, word: &mut Word) -> Result<(), ConfError> {
        let open = self.open_quote();
        loop {
            match self.next().ok_or(open)? {
                '\'' => return Ok(()),
                other => word.text.push(other),
            }
        }
    }

    fn double_quoted(&mut self, word: &mut Word) -> Result<(), ConfError> {
        let open = self.open_quote();
        loop {
            match self.next().ok_or(open)? {
                '"' => return Ok(()),
                '\\' => match self.next().ok_or(open)? {
                    '\n' => {}
                    escaped @ ('$' | '`' | '"' | '\\') => word.text.push(escaped),
                    other => word.text.extend(['\\', other]),
                },
                other => word.push(other),
            }
        }
    }

    fn open_quote(&self) -> ConfError {
        ConfError { line: self.line, fault: Fault::OpenQuote }
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.next()?;
        if next == '\n' {
            self.line = self.line.saturating_add(1);
        }
        Some(next)
    }
}

impl Word {
    /// Adds a character that no quote and no backslash protects from the shell.
    fn push(&mut self, next: char) {
        self.plain &= !matches!(next, '$' | '`');
        self.text.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scheduler and the netname that a text names.
    fn named(text: &str) -> (Option<String>, Option<String>) {
        let conf = parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        (conf.scheduler.map(|setting| setting.text), conf.netname.map(|setting| setting.text))
    }

    fn error(text: &str) -> String {
        parse(text).expect_err(text).to_string()
    }

    /// As Debian installs it: every setting twice, the first time in a comment.
    const DEBIAN: &str = "#\n# Nice level of running compilers\n#\n# ICECC_NICE_LEVEL=\"5\"\nICECC_NICE_LEVEL=\"5\"\n\n\
                          # ICECC_NETNAME=\"\"\nICECC_NETNAME=\"\"\n\n# it's off by default\n\
                          # ICECC_SCHEDULER_HOST=\"no\"\nICECC_SCHEDULER_HOST=\"\"\n";

    #[test]
    fn debian_s_file_as_installed_says_nothing() {
        assert_eq!(parse(DEBIAN).unwrap(), Conf::default());
        assert_eq!(parse("").unwrap(), Conf::default());
    }

    #[test]
    fn a_filled_in_file_says_where() {
        let text = DEBIAN.replace("\nICECC_SCHEDULER_HOST=\"\"", "\nICECC_SCHEDULER_HOST=\"boss:9000\" # ours");
        let found = parse(&text).unwrap().scheduler.unwrap();
        assert_eq!(found, Setting { text: "boss:9000".into(), line: 12 });
    }

    #[test]
    fn values_are_written_as_in_a_shell() {
        for value in [
            "boss",
            "\"boss\"",
            "'boss'",
            "bo\"ss\"",
            "b'o'\\ss",
            "\"bo\\\nss\"",
            "bo\\\nss",
            "boss;",
            "boss\r",
            "' boss '",
        ] {
            for before in ["", "  ", "\t", "export ", " export\t", "export OTHER=1 ", "A=$(date +%s); ", "x && "] {
                let text = format!("\n{before}ICECC_NETNAME={value}\n");
                assert_eq!(named(&text), (None, Some("boss".into())), "{text:?}");
            }
        }
        assert_eq!(named("ICECC_NETNAME='a $HOME `x` \\'").1.as_deref(), Some("a $HOME `x` \\"));
        assert_eq!(named(r#"ICECC_NETNAME="a \$b \"c\" \d""#).1.as_deref(), Some(r#"a $b "c" \d"#));
        assert_eq!(named("ICECC_NETNAME=a#b # c").1.as_deref(), Some("a#b"));
        assert_eq!(named("ICECC_NETNAME=a=b").1.as_deref(), Some("a=b"));
    }

    #[test]
    fn what_is_no_assignment_is_passed_over() {
        for text in [
            "ICECC_NETNAME = a",
            "#ICECC_NETNAME=a",
            "echo ICECC_NETNAME=a",
            "MY_ICECC_NETNAME=a",
            "icecc_netname=a",
            "if [ -f /x ]; then . /x; fi",
            "ICECC_NETNAME",
            "=a",
            "((((",
        ] {
            assert_eq!(named(text), (None, None), "{text:?}");
        }
    }

    #[test]
    fn the_last_assignment_counts_even_an_empty_one() {
        assert_eq!(named("ICECC_NETNAME=a\nICECC_NETNAME=b\n").1.as_deref(), Some("b"));
        assert_eq!(named("ICECC_NETNAME=a ICECC_NETNAME=").1, None);
        assert_eq!(named("ICECC_NETNAME=$a\nICECC_NETNAME=b\n").1.as_deref(), Some("b"));
    }

    #[test]
    fn what_only_a_shell_can_tell_is_refused_where_it_matters() {
        let fault = "line 2: the value of ICECC_SCHEDULER_HOST is not plain text: only a shell can tell it";
        for value in ["$BOSS", "\"${BOSS:-boss}\"", "`boss`", "\"$(boss)\"", "a$b"] {
            assert_eq!(error(&format!("\nICECC_SCHEDULER_HOST={value}")), fault, "{value}");
            assert_eq!(named(&format!("ICECC_BASEDIR={value}")), (None, None));
        }
    }

    #[test]
    fn an_open_quote_is_named_where_it_opens() {
        assert_eq!(error("A=1\nB='x\n\n"), "line 2: a quote is not closed");
        assert_eq!(error("A=1\nB=\"x\\"), "line 2: a quote is not closed");
        assert_eq!(named("A=\\"), (None, None));
    }
}
