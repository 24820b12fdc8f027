//! Files that are complete or absent: written without a name, and named when they are complete.
//!
//! A file without a name (`O_TMPFILE`) disappears with the process, so kill -9 leaves nothing
//! half-written. Where the file system does not support this, the file itself is written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::linkat;

use crate::error::{EmulatorError, io_error};

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Output {
    writer: BufWriter<File>,
    path: PathBuf,
    named: bool,
}

/// What becomes of a file that is there already, and holds something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the emulation is refused.
    #[default]
    Keep,
    /// It is replaced when the emulation ends.
    Replace,
}

/// Refuses to write two files of the same name: the second would replace the first.
pub(crate) fn refuse_one_name_for_two<'a>(
    files: impl Iterator<Item = &'a Path>,
) -> Result<(), EmulatorError> {
    let mut places: Vec<PathBuf> = Vec::new();
    for file in files {
        let place = place_of(file);
        // Both may go to one pipe or device.
        if places.contains(&place) && fs::metadata(file).map_or(true, |found| found.is_file()) {
            return Err(EmulatorError::Invalid(format!(
                "{}: two files of one emulation cannot have one name",
                file.display()
            )));
        }
        places.push(place);
    }
    Ok(())
}

/// Where a file is or will be, whatever links lead there.
fn place_of(file: &Path) -> PathBuf {
    let there = fs::canonicalize(file).ok();
    let beside = || {
        Some(
            fs::canonicalize(folder_of(file))
                .ok()?
                .join(file.file_name()?),
        )
    };
    there.or_else(beside).unwrap_or_else(|| file.to_owned())
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

impl Output {
    pub(crate) fn create(path: &Path, existing: Existing) -> Result<Self, EmulatorError> {
        let fail = |error| EmulatorError::File(path.display().to_string(), error);
        let metadata = match fs::metadata(path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(fail(error)),
        };
        if metadata.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(fail(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        // A pipe or a device is written as it is.
        let regular = metadata.as_ref().is_none_or(fs::Metadata::is_file);
        let holds_something = metadata.is_some_and(|metadata| metadata.len() > 0);
        if regular && holds_something && existing == Existing::Keep {
            return Err(EmulatorError::Invalid(format!(
                "{}: this file exists; --force replaces it",
                path.display()
            )));
        }
        let unnamed = OpenOptions::new()
            .write(true)
            .custom_flags(libc::O_TMPFILE | libc::O_CLOEXEC)
            .mode(0o666)
            .open(folder_of(path));
        let (file, named) = match unnamed {
            Ok(file) if regular => (file, false),
            _ => (File::create(path).map_err(fail)?, true),
        };
        Ok(Self {
            writer: BufWriter::with_capacity(1 << 18, file),
            path: path.to_owned(),
            named,
        })
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.writer.flush()?;
        if self.named {
            return Ok(());
        }
        let descriptor = self.writer.get_ref().as_raw_fd();
        // Short, whatever the file's own name is: that may be as long as the file system allows.
        let aside = format!(".slowstart-{}-{descriptor}", std::process::id());
        let aside = folder_of(&self.path).join(aside);
        let unnamed = format!("/proc/self/fd/{descriptor}");
        linkat(
            AT_FDCWD,
            unnamed.as_str(),
            AT_FDCWD,
            &aside,
            AtFlags::AT_SYMLINK_FOLLOW,
        )
        .map_err(io_error)?;
        fs::rename(&aside, &self.path)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test's own, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
            fs::create_dir(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    fn write(path: &Path, text: &str, existing: Existing) -> Result<(), EmulatorError> {
        let mut output = Output::create(path, existing)?;
        output.write_all(text.as_bytes()).unwrap();
        output.finish().unwrap();
        Ok(())
    }

    #[test]
    fn a_file_that_holds_something_is_replaced_only_by_force() {
        let folder = Folder::new("slowstart-existing");
        let file = folder.0.join("capture");
        File::create(&file).unwrap();
        write(&file, "first", Existing::Keep).unwrap();
        let error = write(&file, "second", Existing::Keep).unwrap_err();
        assert!(error.to_string().contains("--force"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "first");
        write(&file, "second", Existing::Replace).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "second");
        write(Path::new("/dev/null"), "nothing", Existing::Keep).unwrap();
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    }

    #[test]
    fn the_longest_name_is_written_and_a_longer_one_refused_at_once() {
        let folder = Folder::new("slowstart-longest");
        let name = |length| folder.0.join("n".repeat(length));
        for length in [245, 246, 255] {
            write(&name(length), "text", Existing::Keep).unwrap();
            assert_eq!(fs::read_to_string(name(length)).unwrap(), "text");
        }
        assert!(Output::create(&name(256), Existing::Keep).is_err());
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 3);
    }

    #[test]
    fn two_files_do_not_have_one_name() {
        let folder = Folder::new("slowstart-one-name");
        let (one, other) = (folder.0.join("one"), folder.0.join("other"));
        let same = folder.0.join(".").join("one");
        let refused = |files: [&Path; 2]| refuse_one_name_for_two(files.into_iter()).is_err();
        assert!(!refused([&one, &other]) && refused([&one, &one]) && refused([&one, &same]));
        File::create(&one).unwrap();
        std::os::unix::fs::symlink(&one, &other).unwrap();
        assert!(refused([&one, &other]));
        assert!(!refused([Path::new("/dev/null"); 2]));
    }
}
