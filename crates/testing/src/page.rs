//! Pages of the documentation that are made from the code.

use std::path::Path;

/// Compares a file with its expected content, or writes it if SLOWSTART_SNAPSHOT is `write`.
///
/// # Panics
/// If they differ, or the file cannot be read or written.
#[allow(
    clippy::disallowed_methods,
    reason = "the environment decides whether the pages are written"
)]
pub fn settle(file: &Path, made: &str) {
    if std::env::var("SLOWSTART_SNAPSHOT").is_ok_and(|mode| mode == "write") {
        std::fs::write(file, made).expect("a page can be written");
    }
    let found = std::fs::read_to_string(file).expect("a page");
    assert!(
        found == made,
        "{} is not what the code says; write it with SLOWSTART_SNAPSHOT=write",
        file.display()
    );
}

/// The same for the part of a file between `<!-- made: NAME -->` and `<!-- end of NAME -->`.
///
/// # Panics
/// As [`settle`], and if the file has no such part.
pub fn settle_part(file: &Path, name: &str, made: &str) {
    let text = std::fs::read_to_string(file).expect("a page");
    let (begin, end) = (
        format!("<!-- made: {name} -->"),
        format!("<!-- end of {name} -->"),
    );
    let (before, rest) = text.split_once(&begin).expect(&begin);
    let (_, after) = rest.split_once(&end).expect(&end);
    settle(file, &format!("{before}{begin}\n\n{made}\n{end}{after}"));
}
