//! The test files of a crate that are the modules of one program.
//!
//! One program is linked in place of twenty, and what the files use in common is compiled once.

use std::fs;
use std::path::Path;

/// Asserts that every Rust file beside `root`, in the folder `tests` of a crate, is a module of it.
///
/// `manifest` is the crate's folder, `root` the name of the file with the modules.
///
/// # Panics
/// A file is missing there, so that its tests would never run; or the folder cannot be read.
pub fn assert_complete(manifest: &str, root: &str) {
    let folder = Path::new(manifest).join("tests");
    let text = fs::read_to_string(folder.join(root)).expect("the file with the modules");
    for entry in fs::read_dir(folder).expect("the folder of the tests") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_str().expect("a name in UTF-8");
        if let Some(module) = name.strip_suffix(".rs").filter(|_| name != root) {
            let line = format!("mod {module};");
            assert!(
                text.lines().any(|each| each == line),
                "tests/{root} lacks `{line}`"
            );
        }
    }
}
