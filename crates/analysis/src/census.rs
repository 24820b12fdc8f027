//! A census: when and why slow start ended in all connections of many files, or of one large file.
//!
//! [`Plan`] lists the files and divides them into parts; the parts depend on the files only. [`run`]
//! reads parts on several threads and writes each to a Parquet file of its own, with one row per
//! connection ([`rows`]), and a JSON file beside it: what each input file gave, and counts
//! ([`tally`]). A part that is there is not read again, so a census that was killed continues.
//!
//! No row stays in memory for longer than a row group. The bytes of all files depend on the input
//! only, not on the number of threads (see `reading`).

mod quic;
mod reading;
pub mod rows;
pub mod tally;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

use measure::tables::TableFile;
use serde_json::json;

pub use reading::{FileNote, MOST_OPEN};
use rows::Row;
use tally::Tally;

/// A part has at least as many bytes of input as this, but for the last one.
const LEAST_PART: u64 = 1 << 20;
/// A part of several files has at most so many bytes, and so many files.
const MOST_PART: u64 = 64 << 20;
const MOST_FILES: usize = 4096;
/// Between these bounds, the whole input is divided by this number.
const PARTS: u64 = 256;
/// Rows that are converted to columns together.
const ROWS: usize = 1024;

/// The folders of a census, within its folder.
const CONNECTIONS: &str = "connections";
const FILES: &str = "files";

/// An input file.
#[derive(Clone, Debug)]
pub struct Source {
    path: PathBuf,
    size: u64,
    /// Nanoseconds since the Unix epoch, of its last change.
    changed: u128,
}

/// What is read, and in which parts.
#[derive(Clone, Debug)]
pub struct Plan {
    files: Vec<Source>,
    parts: Vec<Range<usize>>,
}

impl Plan {
    /// Lists the files of `inputs`, folders with all that is in them. What is in the folder
    /// `except` is no input, nor are files whose name begins with a dot, and links to folders.
    ///
    /// # Errors
    /// The path that cannot be read, and why.
    pub fn of(inputs: &[PathBuf], except: &Path) -> Result<Self, (PathBuf, io::Error)> {
        let mut files = Vec::new();
        for input in inputs {
            let failed = |error| (input.clone(), error);
            if fs::metadata(input).map_err(failed)?.is_dir() {
                list(input, except, &mut files)?;
            } else {
                capture::regular_file(input).map_err(|error| match error {
                    capture::ReadError::Io(error) => failed(error),
                    other => failed(io::Error::other(other.to_string())),
                })?;
                files.push(source(input.clone()).map_err(failed)?);
            }
        }
        let all: u64 = files.iter().map(|file| file.size).sum();
        let most = (all / PARTS).clamp(LEAST_PART, MOST_PART);
        let (mut parts, mut begin, mut size) = (Vec::new(), 0, 0);
        for (place, file) in files.iter().enumerate() {
            if place > begin && (size + file.size > most || place - begin >= MOST_FILES) {
                parts.push(begin..place);
                (begin, size) = (place, 0);
            }
            size += file.size;
        }
        if begin < files.len() {
            parts.push(begin..files.len());
        }
        Ok(Self { files, parts })
    }

    /// Number of files.
    #[must_use]
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Number of parts.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// A digest of the names, sizes and times of all files.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        for file in &self.files {
            (&file.path, file.size, file.changed).hash(&mut hasher);
        }
        self.parts.hash(&mut hasher);
        hasher.finish()
    }
}

fn source(path: PathBuf) -> io::Result<Source> {
    let metadata = fs::metadata(&path)?;
    let changed = metadata.modified().ok();
    let changed = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    Ok(Source {
        path,
        size: metadata.len(),
        changed: changed.map_or(0, |since| since.as_nanos()),
    })
}

/// Lists the files of a folder, in the order of their names.
fn list(folder: &Path, except: &Path, files: &mut Vec<Source>) -> Result<(), (PathBuf, io::Error)> {
    if folder.canonicalize().is_ok_and(|folder| folder == except) {
        return Ok(());
    }
    let failed = |error| (folder.to_owned(), error);
    let mut entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<io::Result<Vec<_>>>)
        .map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let is_hidden = |name: &OsStr| name.as_encoded_bytes().starts_with(b".");
        if is_hidden(&entry.file_name()) {
            continue;
        }
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            list(&path, except, files)?;
            continue;
        }
        // A link that leads nowhere is counted as a broken file when it is opened.
        match fs::metadata(&path) {
            Ok(target) if target.is_file() => files.push(source(path).map_err(failed)?),
            Ok(_) => {}
            Err(_) => files.push(Source {
                path,
                size: 0,
                changed: 0,
            }),
        }
    }
    Ok(())
}

/// How far a census is, and whether it shall stop.
#[derive(Debug, Default)]
pub struct Control {
    /// Bytes of the input that were read.
    pub done: Arc<AtomicU64>,
    /// Set by another thread, it ends the census soon. Parts that are not complete are lost.
    pub cancel: Arc<AtomicBool>,
}

/// Reads the parts of `plan` that are not in `folder` yet, on `threads` threads.
///
/// # Errors
/// Those of writing; files that cannot be read are counted. `created_by` names the program.
pub fn run(
    plan: &Plan,
    folder: &Path,
    threads: usize,
    created_by: &str,
    control: &Control,
) -> io::Result<()> {
    for name in [CONNECTIONS, FILES] {
        fs::create_dir_all(folder.join(name))?;
    }
    let is_missing = |part: &usize| !place(folder, CONNECTIONS, *part, "parquet").exists();
    let missing: Vec<usize> = (0..plan.parts()).filter(is_missing).collect();
    let there = (0..plan.parts()).filter(|part| !is_missing(part));
    let bytes = |part: usize| -> u64 {
        let files = &plan.files[plan.parts[part].clone()];
        files.iter().map(|file| file.size).sum()
    };
    control
        .done
        .fetch_add(there.map(bytes).sum(), Ordering::Relaxed);
    let workers = threads.min(missing.len()).max(1);
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<()> {
        while let Some(&part) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
            if control.cancel.load(Ordering::Relaxed) {
                return Ok(());
            }
            let written = write_part(plan, part, folder, threads / workers, created_by, control);
            if written.is_err() {
                control.cancel.store(true, Ordering::Relaxed);
            }
            written?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let spawned: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let mut outcome = Ok(());
        for worker in spawned {
            let ended = worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = outcome.and(ended);
        }
        outcome
    })
}

/// The file of a part.
fn place(folder: &Path, kind: &str, part: usize, extension: &str) -> PathBuf {
    folder.join(kind).join(format!("{part:05}.{extension}"))
}

/// Writes the files of a part aside, and puts them in place; the table last, so that it shows that
/// the part is complete.
fn write_part(
    plan: &Plan,
    part: usize,
    folder: &Path,
    threads: usize,
    created_by: &str,
    control: &Control,
) -> io::Result<()> {
    let table = place(folder, CONNECTIONS, part, "parquet");
    let facts = place(folder, FILES, part, "json");
    let aside = |file: &Path, kind: &str| file.with_file_name(format!(".{part:05}.{kind}"));
    let (new_table, new_facts) = (aside(&table, "parquet"), aside(&facts, "json"));
    let mut output = Output::new(File::create(&new_table)?)?;
    let mut notes = Vec::new();
    for source in &plan.files[plan.parts[part].clone()] {
        let failed = reading::read(source, threads, control, &mut notes, &mut |row| {
            let pushed = output.push(row);
            if pushed.is_err() {
                control.cancel.store(true, Ordering::Relaxed); // ends the reading
            }
            pushed
        });
        if let Err(error) = failed {
            let _ = fs::remove_file(&new_table);
            return Err(error);
        }
        if control.cancel.load(Ordering::Relaxed) {
            let _ = fs::remove_file(&new_table);
            return Ok(());
        }
    }
    let tally = output.finish(created_by)?;
    let mut text = json!({"files": notes, "tally": tally}).to_string();
    text.push('\n');
    let mut file = File::create(&new_facts)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new_facts, &facts)?;
    File::open(&new_table)?.sync_all()?;
    fs::rename(&new_table, &table)
}

/// The table of a part, and its counts.
struct Output {
    table: TableFile,
    pending: Vec<Row>,
    tally: Tally,
}

impl Output {
    fn new(file: File) -> io::Result<Self> {
        let schema = rows::table(&[]).map_err(io::Error::other)?.schema();
        Ok(Self {
            table: TableFile::new(file, &schema)?,
            pending: Vec::with_capacity(ROWS),
            tally: Tally::default(),
        })
    }

    fn push(&mut self, row: Row) -> io::Result<()> {
        self.tally.add(&row);
        self.pending.push(row);
        if self.pending.len() >= ROWS {
            self.write()?;
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let table = rows::table(&self.pending).map_err(io::Error::other)?;
        self.pending.clear();
        self.table.write(&table)
    }

    fn finish(mut self, created_by: &str) -> io::Result<Tally> {
        self.write()?;
        self.table.finish(created_by, &[])?;
        Ok(self.tally)
    }
}
