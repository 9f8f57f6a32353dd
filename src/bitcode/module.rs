//! What a module's own bitcode says of itself. Only the records of the module block are looked at; functions, types and
//! metadata are passed over by their word counts.

use super::bits::Unreadable;
use super::shard::{MODULE_BLOCK, ModuleHash, hash_words};
use super::stream::{Entry, Stream};

// Numbers of records in a module block: llvm/Bitcode/LLVMBitCodes.h.
const TRIPLE: u64 = 2;
const SOURCE_FILENAME: u64 = 16;
const HASH: u64 = 17;

/// What stands at the head of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The name of the source file: part of the GUIDs of local symbols. May be empty.
    pub source_file: Vec<u8>,
    /// The target triple, where the module has one.
    pub triple: Option<Vec<u8>>,
}

/// The head of the first module in `bytes`; `None` when it cannot be read. Reads no further than it must.
pub fn facts(bytes: &[u8]) -> Option<Facts> {
    let mut triple = None;
    let source_file = find(bytes, |code, operands| {
        match code {
            TRIPLE => triple = text(operands),
            SOURCE_FILENAME => return text(operands),
            _ => {}
        }
        None
    });
    let source_file = source_file.ok().flatten()?;
    Some(Facts { source_file, triple })
}

/// The hash of the first module in `bytes`; `None` when it has none or cannot be read. It stands at the module's end.
pub fn hash(bytes: &[u8]) -> Option<ModuleHash> {
    find(bytes, |code, operands| (code == HASH).then(|| hash_words(operands)).flatten()).ok().flatten()
}

/// Shows the records of the first module block one by one, code and operands, until `wanted` makes something of one.
fn find<T>(bytes: &[u8], mut wanted: impl FnMut(u64, &[u64]) -> Option<T>) -> Result<Option<T>, Unreadable> {
    let mut stream = Stream::new(bytes)?;
    while let Some(block) = stream.next_block()? {
        if block.id != MODULE_BLOCK {
            continue;
        }
        let mut reader = stream.open(&block);
        while let Some(entry) = reader.next()? {
            let Entry::Record(code) = entry else { continue };
            // A record too long to be kept is none of those that matter.
            let Ok(operands) = reader.whole_operands() else { continue };
            if let Some(found) = wanted(code, operands) {
                return Ok(Some(found));
            }
        }
        break;
    }
    Ok(None)
}

fn text(operands: &[u64]) -> Option<Vec<u8>> {
    operands.iter().map(|byte| u8::try_from(*byte).ok()).collect()
}
