//! The boundaries between the parts of a connection.

use std::fs;
use std::path::Path;

/// A part that could reach the sender could change every other part.
#[test]
fn no_part_depends_on_the_sender() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut parts = 0;
    for folder in [src.clone(), src.join("scoreboard"), src.join("receiver")] {
        for entry in fs::read_dir(&folder).expect("the sources are there") {
            let path = entry.expect("an entry").path();
            let is_outside = ["lib.rs", "sender.rs"]
                .iter()
                .all(|name| path != src.join(name));
            if is_outside && path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).expect("a source file");
                assert!(!text.contains("crate::sender"), "{}", path.display());
                parts += 1;
            }
        }
    }
    assert!(parts > 20, "only {parts} files were found");
}
