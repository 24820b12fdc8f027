//! Recorded traces. The project does not contain them; `SLOWSTART_TRACES` names their folder.

use std::path::{Path, PathBuf};

use crate::notes::not_judged;

/// The reason of a test that is skipped because it needs recorded traces.
pub const ABSENT: &str = "no recorded traces, SLOWSTART_TRACES is not set";

/// The folder that `SLOWSTART_TRACES` names; `None`, with a note, if it is not set.
pub fn folder() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("SLOWSTART_TRACES").filter(|name| !name.is_empty()) else {
        not_judged(ABSENT);
        return None;
    };
    // Tests run in the folder of their crate, where a relative path would not resolve as intended.
    let folder = PathBuf::from(folder);
    let place = folder.display();
    assert!(
        folder.is_absolute() && folder.is_dir(),
        "SLOWSTART_TRACES = {place}: not the absolute path of a folder"
    );
    Some(folder)
}

/// The text of a recorded trace; `None`, with a note, without a folder of traces.
pub fn read(name: &str) -> Option<String> {
    let file = folder()?.join(Path::new(name));
    let text = std::fs::read_to_string(&file);
    Some(text.unwrap_or_else(|error| panic!("{}: {error}", file.display())))
}

/// A capture or log of others: a file in the folder `captures` inside of the folder of traces or
/// beside it; `None`, with a note, if it is not there.
pub fn capture(name: &str) -> Option<PathBuf> {
    let folder = folder()?;
    let places = [folder.join("captures"), folder.join("../captures")];
    let mut found = places.into_iter().map(|place| place.join(name));
    let found = found.find(|file| file.is_file());
    if found.is_none() {
        not_judged("no captures of others beside the recorded traces");
    }
    found
}
