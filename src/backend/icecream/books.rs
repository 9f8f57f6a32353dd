//! The requests of a link at a scheduler, and what an answer means: no IO.

use std::collections::BTreeSet;

/// Requests that were sent on one connection.
#[derive(Debug, Default)]
pub(super) struct Books {
    last: u32,
    unanswered: BTreeSet<u32>,
    /// An answer can be on its way when a request is withdrawn. Then the job is ours all the same: a scheduler knows no
    /// request any more that it has answered.
    withdrawn: BTreeSet<u32>,
}

/// What an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// One that was waiting.
    Waiting,
    /// One that was withdrawn.
    Withdrawn,
    /// None of ours, or one that was answered before.
    Unknown,
}

impl Books {
    /// How many wait for an answer.
    pub(super) fn unanswered(&self) -> usize {
        self.unanswered.len()
    }

    /// The number of a further request, never 0.
    pub(super) fn ask(&mut self) -> u32 {
        self.last = self.last.checked_add(1).unwrap_or(1);
        self.unanswered.insert(self.last);
        self.last
    }

    /// The request to withdraw next: the newest, which waits at the end of the scheduler's queue.
    pub(super) fn withdraw(&mut self) -> Option<u32> {
        let newest = self.unanswered.pop_last()?;
        self.withdrawn.insert(newest);
        Some(newest)
    }

    /// An answer has come.
    pub(super) fn answered(&mut self, client_id: u32) -> Request {
        if self.unanswered.remove(&client_id) {
            Request::Waiting
        } else if self.withdrawn.remove(&client_id) {
            Request::Withdrawn
        } else {
            Request::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_answered_once_in_any_order() {
        let mut books = Books::default();
        let ids: Vec<u32> = (0..3).map(|_| books.ask()).collect();
        assert!(ids.iter().all(|id| *id > 0));
        assert_eq!(books.answered(ids[2]), Request::Waiting);
        assert_eq!(books.answered(ids[2]), Request::Unknown);
        assert_eq!(books.answered(99), Request::Unknown);
        assert_eq!(books.unanswered(), 2);
    }

    #[test]
    fn the_newest_is_withdrawn_and_its_answer_may_cross() {
        let mut books = Books::default();
        let (first, second) = (books.ask(), books.ask());
        assert_eq!(books.withdraw(), Some(second));
        assert_eq!(books.unanswered(), 1);
        assert_eq!(books.answered(second), Request::Withdrawn);
        assert_eq!(books.withdraw(), Some(first));
        assert_eq!(books.withdraw(), None);
    }
}
