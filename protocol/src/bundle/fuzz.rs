//! The bodies of the fuzz targets for what travels into an environment.

use super::{Head, PRELUDE_LEN, head, head_length};
use crate::manifest::Manifest;

/// A bundle as the entry program reads it.
pub fn fuzz_bundle(data: &[u8]) {
    let Some((prelude, rest)) = data.split_first_chunk::<PRELUDE_LEN>() else { return };
    let Some(body) = head_length(prelude).ok().and_then(|length| rest.get(..length)) else { return };
    let Ok(parsed) = Head::parse(body) else { return };
    let again = head(&parsed.arguments, &parsed.files).expect("what was taken can be sent");
    assert_eq!(again, data[..again.len()]);
}

/// A manifest as the entry program reads it.
pub fn fuzz_manifest(data: &[u8]) {
    let Ok(manifest) = Manifest::parse(data) else { return };
    let text = manifest.text().expect("what was read can be written");
    assert_eq!(Manifest::parse(text.as_bytes()), Ok(manifest));
}
