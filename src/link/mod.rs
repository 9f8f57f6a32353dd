//! The linker's contract: what it asks for, the files it names, the objects it gets.

pub mod command;
pub mod dropped;
pub mod inputs;
pub mod job;
pub mod linker;
mod map;
pub mod plan;
pub mod publish;
pub mod remote;
pub mod verify;
