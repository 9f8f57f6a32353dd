//! The same bytes as a local compile, whatever the link looks like. Each program is linked in-process, through thinbridge
//! on this machine, and through two stock `distccd` that cannot see the client's files; objects and programs must be
//! equal, and no job may have fallen back.

#[path = "identical/harness.rs"]
mod harness;
#[path = "identical/languages.rs"]
mod languages;
#[path = "identical/options.rs"]
mod options;
#[path = "identical/paths.rs"]
mod paths;
#[path = "identical/rust.rs"]
mod rust;
mod support;
#[path = "identical/symbols.rs"]
mod symbols;
#[path = "identical/targets.rs"]
mod targets;
#[path = "identical/wire.rs"]
mod wire;
