//! Streams made by hand, written as LLVM's own writer does it: what real linkers seldom or not yet put into a shard.

mod emitter;
mod names;
mod shapes;
