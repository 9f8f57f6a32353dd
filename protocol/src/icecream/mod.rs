//! The icecream protocol, versions 30 to 44, every end: client, local daemon, scheduler and compile server.
//!
//! All of them speak it the same way: a [`Channel`] greets its peer, agrees with it on a [`Version`] and then receives
//! [`Message`]s; [`Message::encode`] gives the bytes to send. Files travel as [`Chunk`]s that end with
//! [`Message::End`]; [`pack_file`] makes them, a [`FileReceiver`] puts them together. [`discovery`] is what finds a
//! scheduler by UDP.
//!
//! | role | connects to | sends | receives |
//! |---|---|---|---|
//! | client | compile server | `TransferEnv`, `VerifyEnv`, `CompileFile`, files | `VerifyEnvResult`, `CompileResult`, `StatusText`, files |
//! | client | its local daemon | `GetNativeEnv`, `GetCs`, `JobLocalBegin`, `JobDone`, `BlacklistHostEnv` | `NativeEnv`, `UseCs`, `JobLocalBegin` |
//! | daemon | scheduler | `Login`, `Stats`, `GetCs`, `JobBegin`, `JobDone`, `BlacklistHostEnv`, `StatusText` | `ConfCs`, `UseCs`, `NoCs`, `GetInternals` |
//!
//! A field that the agreed version does not have is not sent, and reads as the value that its documentation names.

mod channel;
mod chunk;
pub mod discovery;
mod error;
mod fields;
#[doc(hidden)]
pub mod fuzz;
pub mod limits;
mod message;
mod text;
mod version;

pub use channel::{Channel, Progress};
pub use chunk::{Algorithm, BadChunk, Chunk, FileReceiver, pack_file};
pub use error::{Error, Fault, Incompatibility, Misbehaviour, Unsendable};
pub use message::{
    BlacklistHostEnv, CompileFile, CompileResult, ConfCs, EnvironmentId, GetCs, GetNativeEnv, JobBegin, JobDone,
    JobLocalBegin, Kind, Language, Login, Message, Sender, Stats, Subject, UseCs, arg_flags, features,
};
pub use text::Text;
pub use version::Version;
