//! What the names in an object tell, and how long they may be.

/// How many times the size of their string table the names of an object may be long together. Names share bytes where
/// one ends like another; of 11,000 objects of system and Rust libraries none has names of three times its table.
const MAX_SHARED: usize = 16;
/// What names may always be long together, in bytes: in a small table more is shared, and this is read in no time.
const MIN_BUDGET: usize = 16 << 20;

/// What the names of an object may still be long together, in bytes.
///
/// Every name is read and hashed, and all of them may be one string: a small object could keep us at it for hours.
pub(super) struct Budget(usize);

impl Budget {
    /// For all names in one string table.
    pub(super) fn of(strings: &[u8]) -> Self {
        Self(strings.len().saturating_mul(MAX_SHARED).max(MIN_BUDGET))
    }

    /// Takes up a name; false when the names are too long now.
    pub(super) fn allows(&mut self, name: &[u8]) -> bool {
        let left = self.0.checked_sub(name.len());
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// Whether `name`, a file symbol, is what a compiler writes for a module whose `source_filename` is `source`: the last
/// component of the path, as the compiler's own system splits paths.
pub(super) fn is_source(name: &[u8], source: &[u8]) -> bool {
    let posix = source.rsplit(|&byte| byte == b'/').next();
    let windows = source.rsplit(|&byte| matches!(byte, b'/' | b'\\')).next();
    // LLVM takes the last component of `a/` for `.`, that of `/` and `//a/` for `/`, and `//a` for one component.
    let folder = source.ends_with(b"/") && matches!(name, b"." | b"/");
    folder || [Some(source), posix, windows].contains(&Some(name))
}

/// Whether an ELF symbol carries a version, `f@V1` or `f@@V1`, as `.symver` in module-level assembly gives it. The symbol
/// may have had quite another name before.
pub(super) fn is_versioned(name: &[u8]) -> bool {
    name.iter().skip(1).any(|&byte| byte == b'@')
}
