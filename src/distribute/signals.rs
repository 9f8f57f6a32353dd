//! The signals that end a link early.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C, `kill`, Ctrl-\ and a terminal that goes away: compilers are in process groups of their own and get none of
/// these by themselves.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    quit: Signal,
    hangup: Signal,
}

impl Signals {
    /// From now on signals are told by [`Signals::next`] and do nothing by themselves.
    pub(super) fn watch() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            quit: signal(SignalKind::quit())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal; its number.
    pub(super) async fn next(&mut self) -> i32 {
        let kind = tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.quit.recv() => SignalKind::quit(),
            _ = self.hangup.recv() => SignalKind::hangup(),
        };
        kind.as_raw_value()
    }
}
