//! LLVM bitcode, as far as a distributor needs it. Bytes in, bytes out: no IO, no clock.
//!
//! A *summary index shard* (`*.thinlto.bc`) tells one ThinLTO backend job which modules it works on and what each of
//! them defines. This room
//!
//! * reads a shard ([`Shard::parse`]),
//! * finds which input file each of its entries means ([`resolve()`]), whatever the linker's writer did to the name,
//! * gives every module of a link a short name that keeps the order of the true paths ([`Mapping`]),
//! * writes the shard again with other names in its module table ([`Shard::rewrite`]) and nothing else changed,
//! * and says which symbols the job's object has to define ([`Definitions`]).
//!
//! | file | phase |
//! |---|---|
//! | `bits` | fields of a number of bits |
//! | `abbreviation` | shapes of records |
//! | `stream` | blocks and records |
//! | `shard` | the shard and its module table |
//! | `summary` | what its modules define |
//! | `resolve` | table entry ↔ input file, damaged names |
//! | `mapping` | true path ↔ short name |
//! | `write` | the module table with new names |
//! | `module` | what a module's own bitcode says: source file name, triple, hash |
//! | `guid` | symbol name → GUID |
//! | `definitions` | what an object must define |
//!
//! Everything here takes bytes that others made. What cannot be read is the value [`Unreadable`], never a panic; such a
//! job runs locally from the linker's own files.

#![forbid(unsafe_code)]

mod abbreviation;
mod bits;
mod definitions;
#[doc(hidden)]
pub mod fuzz;
mod guid;
mod mapping;
pub mod module;
mod resolve;
mod shard;
mod stream;
mod summary;
mod write;

#[cfg(test)]
mod tests;

pub use bits::Unreadable;
pub use definitions::Definitions;
pub use guid::guid;
pub use mapping::Mapping;
pub use resolve::{Mismatch, Resolved, Unmapped, resolve};
pub use shard::{Module, ModuleHash, Shard};
pub use summary::{Definition, Kind, Linkage};
