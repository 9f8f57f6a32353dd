//! The icecream environment: what `thinbridge environment` makes, and what the entry program inside it does with a job.

#[path = "environment/chroot.rs"]
mod chroot;
#[path = "environment/command.rs"]
mod command;
#[path = "environment/job.rs"]
mod job;
#[path = "environment/kept.rs"]
mod kept;
#[path = "environment/laid_out.rs"]
mod laid_out;
#[path = "environment/rejected.rs"]
mod rejected;
mod support;
#[path = "environment/time.rs"]
mod time;
