//! What the names in an object tell.

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
