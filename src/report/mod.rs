//! What a person or a script learns of a link: told what happened, decides nothing.

pub mod json;
pub mod voice;
