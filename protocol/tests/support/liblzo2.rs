//! liblzo2 as the oracle of tests and benchmarks: the copy that distcc itself depends on, loaded at run time, so that
//! neither a development package nor a link against GPL code is needed.

use std::ffi::{c_int, c_void};
use std::ptr;

use libloading::Library;

/// What both of the library's functions look like: source and its length, destination and its length (in and out for
/// the decompressor, out for the compressor), working memory.
type Function = unsafe extern "C" fn(*const u8, usize, *mut u8, *mut usize, *mut c_void) -> c_int;

/// The working memory of `lzo1x_1_compress`: 2^14 entries of the size of a pointer.
const WORK_ENTRIES: usize = 1 << 14;

/// The library, loaded, with the two functions that stock distcc calls.
pub(crate) struct Liblzo2 {
    compress: Function,
    decompress: Function,
    // Keeps the functions mapped.
    _library: Library,
}

impl Liblzo2 {
    /// Loads the library. Where it is missing, prints why nothing is compared and gives `None`; under CI (`CI` is set)
    /// that is a failure.
    pub(crate) fn load() -> Option<Self> {
        match Self::open() {
            Ok(library) => Some(library),
            Err(error) if std::env::var_os("CI").is_some() => panic!("liblzo2 cannot be loaded: {error}"),
            Err(error) => {
                println!("skipped: liblzo2 (a dependency of the distcc package) cannot be loaded: {error}");
                None
            }
        }
    }

    fn open() -> Result<Self, libloading::Error> {
        // SAFETY: loading runs the library's initialisers; those of liblzo2 do nothing that others could notice.
        let library = unsafe { Library::new("liblzo2.so.2") }?;
        // SAFETY: `Function` is the signature that the library's public header declares for both.
        let (compress, decompress) = unsafe {
            (*library.get::<Function>("lzo1x_1_compress")?, *library.get::<Function>("lzo1x_decompress_safe")?)
        };
        Ok(Self { compress, decompress, _library: library })
    }

    /// Compresses with `lzo1x_1_compress`.
    pub(crate) fn compress(&self, src: &[u8]) -> Vec<u8> {
        // The worst case that the library documents.
        let mut out = vec![0; src.len() + src.len() / 16 + 64 + 3];
        let length = self.compress_to(src, &mut out, &mut Work::new());
        out.truncate(length);
        out
    }

    /// Compresses into `out`, which holds at least `n + n / 16 + 67` bytes, and gives the number of bytes written.
    pub(crate) fn compress_to(&self, src: &[u8], out: &mut [u8], work: &mut Work) -> usize {
        assert!(out.len() >= src.len() + src.len() / 16 + 64 + 3);
        let mut length = out.len();
        // SAFETY: every pointer comes from a live slice, `out` is as long as the library's documentation asks, and
        // `work` is as large and as aligned as it asks.
        let code = unsafe {
            (self.compress)(src.as_ptr(), src.len(), out.as_mut_ptr(), &mut length, work.0.as_mut_ptr().cast())
        };
        assert_eq!(code, 0, "lzo1x_1_compress never fails");
        length
    }

    /// Decompresses with `lzo1x_decompress_safe` to at most `cap` bytes, or gives the library's error code.
    pub(crate) fn decompress(&self, src: &[u8], cap: usize) -> Result<Vec<u8>, c_int> {
        let mut out = vec![0; cap];
        let length = self.decompress_to(src, &mut out)?;
        out.truncate(length);
        Ok(out)
    }

    /// Decompresses into `out` and gives the number of bytes written, or the library's error code.
    pub(crate) fn decompress_to(&self, src: &[u8], out: &mut [u8]) -> Result<usize, c_int> {
        let mut length = out.len();
        // SAFETY: every pointer comes from a live slice, `length` is that of `out`, and the `_safe` function stays
        // within both; it needs no working memory.
        let code =
            unsafe { (self.decompress)(src.as_ptr(), src.len(), out.as_mut_ptr(), &mut length, ptr::null_mut()) };
        if code == 0 { Ok(length) } else { Err(code) }
    }
}

/// The working memory of the library's compressor.
pub(crate) struct Work(Vec<*mut c_void>);

impl Work {
    /// New working memory, to be used any number of times.
    pub(crate) fn new() -> Self {
        Self(vec![ptr::null_mut(); WORK_ENTRIES])
    }
}
