//! Files that are whole or absent: written without a name, named when they are complete.
//!
//! A file without a name (`O_TMPFILE`) is gone when the process is, so that nothing half-written is
//! left by kill -9. Where the file system has no such files, the file itself is written.

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

impl Output {
    pub(crate) fn create(path: &Path) -> Result<Self, EmulatorError> {
        let fail = |error| EmulatorError::File(path.display().to_string(), error);
        let metadata = fs::metadata(path);
        if metadata.as_ref().is_ok_and(fs::Metadata::is_dir) {
            return Err(fail(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        // A pipe or a device is written as it is.
        let regular = metadata.map_or(true, |metadata| metadata.is_file());
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let unnamed = OpenOptions::new()
            .write(true)
            .custom_flags(libc::O_TMPFILE | libc::O_CLOEXEC)
            .mode(0o666)
            .open(folder);
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
        let mut aside = self.path.clone().into_os_string();
        aside.push(format!(".{}", std::process::id()));
        let unnamed = format!("/proc/self/fd/{}", self.writer.get_ref().as_raw_fd());
        linkat(
            AT_FDCWD,
            unnamed.as_str(),
            AT_FDCWD,
            aside.as_os_str(),
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
