//! Our scan of the command line against the one of a stock distccd.

use std::process::Command;

use bytes::Bytes;
use thinbridge_protocol::distcc::scan::{Reason, Refusal, scan};
use thinbridge_protocol::distcc::{Ending, Input, Request};

use crate::daemon::{Daemon, Folder};

/// Command lines tried: enough that each pair of words below meets, few enough for some seconds.
const TRIES: usize = 1500;

/// Words that mean something to the scan, and some that only look so.
#[rustfmt::skip]
const WORDS: [&str; 76] = [
    "-c", "-c", "-c", "-S", "a.c", "a.c", "a.c", "b.cc", "m.i", "x.ii", "y.m", ".c", "d/.c", "a.", ".", "", "a.b/c", "a.s",
    "conftest.c", "tmp.conftest.c", "conftest.o", "xconftest.c", "a.o", ".o", "a.rs", "a.C", "a.CC", "a.c.o", "@a.c", "@r",
    "-o", "-o", "-o", "-ox", "-oa.o", "-o-", "-", "-E", "-Ex", "-M", "-MM", "-MD", "-MMD", "-MDx", "-MF", "-MFx", "-MT",
    "-MQ", "-MG", "-MP", "-march=native", "-mtune=native", "-mcpu=native", "-march=nativex", "-flto", "-flto=thin",
    "-specs=x", "-Wa,-a", "-Wa,x,-ahl", "-Wa,x--MD", "-Wa,x", "-fprofile-arcs", "-fprofile-use=x", "-fauto-profilex",
    "-fprofile-sample-use=x", "--coverage", "-frepo", "-dr", "-d", "-x", "-xc", "c", "ir", "-fplugin=x", "-fplugin", "--",
];

/// A small generator with a fixed seed: the same command lines in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

/// Half of the lines start from one that is fine, or else two faults in a line would hide each other.
fn command_line(dice: &mut Dice) -> Vec<&'static str> {
    let fine = ["-c", "a.c", "-o", "x"];
    let mut line: Vec<_> = if dice.roll(2) == 0 { vec![] } else { fine[..[2, 4][dice.roll(2)]].to_vec() };
    for _ in 0..=dice.roll(4) {
        let place = dice.roll(line.len() + 1);
        line.insert(place, WORDS[dice.roll(WORDS.len())]);
    }
    line.insert(0, "cc");
    line
}

/// Where we refuse and the server does what nobody wants: it reads beyond the end of the line, or takes another option's
/// operand for the `-o` whose file it replaces.
fn is_left_to_chance(line: &[&str], refusal: &Refusal) -> bool {
    match refusal.reason {
        Reason::MissingOperand => true,
        Reason::OutputWithoutOption | Reason::LoadsCode => line.iter().any(|word| word.starts_with("-o")),
        _ => false,
    }
}

#[test]
fn our_scan_refuses_what_a_stock_server_refuses() {
    let folder = Folder::new("scan");
    let allowed = folder.program("cc", "exit 0");
    let Some(daemon) = Daemon::start(&[("DISTCC_CMDLIST", allowed.as_os_str())]) else { return };
    // Later versions refuse less, which does no harm.
    let version = Command::new("distccd").arg("--version").output().unwrap().stdout;
    let is_3_4 = String::from_utf8_lossy(&version).starts_with("distccd 3.4 ");
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..TRIES {
        let line = command_line(&mut dice);
        let ours = scan(&line);
        if ours.as_ref().is_err_and(|refusal| is_left_to_chance(&line, refusal)) {
            continue;
        }
        let argv = line.iter().map(|word| Bytes::from_static(word.as_bytes())).collect();
        let answered = daemon.run(&Request { argv, input: Input::V1(Bytes::new()) }) != Ending::Silent;
        let agree = answered == ours.is_ok() || (answered && !is_3_4);
        assert!(agree, "{line:?}: the server {}, ours: {ours:?}", if answered { "accepts" } else { "refuses" });
        *(if answered { &mut accepted } else { &mut refused }) += 1;
    }
    assert!(accepted > TRIES / 10 && refused > TRIES / 10, "{accepted} accepted, {refused} refused");
}
