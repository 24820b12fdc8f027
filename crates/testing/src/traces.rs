//! Recorded traces. They are not part of this project: whoever has them names their folder.

use std::path::{Path, PathBuf};

use crate::notes::not_judged;

/// The reason of a test that wants recorded traces where there are none.
pub const ABSENT: &str = "no recorded traces, SLOWSTART_TRACES is not set";

/// The folder that `SLOWSTART_TRACES` names; none, with a note, where it is not set.
pub fn folder() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("SLOWSTART_TRACES").filter(|name| !name.is_empty()) else {
        not_judged(ABSENT);
        return None;
    };
    // A test runs in the folder of its crate, and a relative name is meant from elsewhere.
    let folder = PathBuf::from(folder);
    let place = folder.display();
    assert!(
        folder.is_absolute() && folder.is_dir(),
        "SLOWSTART_TRACES = {place}: not the absolute name of a folder"
    );
    Some(folder)
}

/// The text of a recorded trace; none, with a note, where there is no folder of them.
pub fn read(name: &str) -> Option<String> {
    let file = folder()?.join(Path::new(name));
    let text = std::fs::read_to_string(&file);
    Some(text.unwrap_or_else(|error| panic!("{}: {error}", file.display())))
}
