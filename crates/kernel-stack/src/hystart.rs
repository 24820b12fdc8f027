//! The kernel's switch for HyStart in CUBIC, which acts on the whole machine.
//!
//! `/sys/module/tcp_cubic/parameters/hystart` acts at once on every connection of every namespace,
//! so runs that need it on and runs that need it off must not overlap. A lock file prevents that
//! among the processes of this project: runs that need it on share the lock, and a run that needs
//! it off holds it alone. That run saves the value to restore in the file before it touches the
//! switch. If it is killed, the next run of either kind finds the value and restores it first.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use units::Duration;

use crate::error::StackError;
use crate::plan::HyStart;
use crate::sys;
use emulator::pause;

const SWITCH: &str = "/sys/module/tcp_cubic/parameters/hystart";
const LOCK: &str = "/run/slowstart-hystart.lock";
/// How long to wait before trying the lock again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Keeps HyStart as requested until it is dropped.
#[derive(Debug)]
pub(crate) struct HystartSetting {
    /// The lock, and the value to restore.
    locked: Option<(File, Option<String>)>,
}

impl HystartSetting {
    /// Waits until HyStart can be as `wanted`, and sets it.
    pub(crate) fn new(wanted: HyStart, cancel: &AtomicBool) -> Result<Self, StackError> {
        match wanted {
            HyStart::Unused => Ok(Self { locked: None }),
            HyStart::On => hold_on(cancel),
            HyStart::Off => hold_off(cancel),
        }
    }
}

fn system(what: &str) -> impl FnOnce(io::Error) -> StackError {
    let what = what.to_owned();
    move |error| StackError::System(what, error)
}

fn hold_on(cancel: &AtomicBool) -> Result<HystartSetting, StackError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(LOCK);
    let mut locked = None;
    // A process that may not write there cannot switch either, and need not wait for those that
    // can.
    if let Ok(mut file) = file {
        lock(&file, true, cancel)?;
        recover(&mut file, SWITCH).map_err(system(SWITCH))?;
        lock(&file, false, cancel)?;
        locked = Some((file, None));
    }
    match read_switch() {
        Some(true) | None => Ok(HystartSetting { locked }),
        Some(false) => Err(StackError::Unsupported(format!(
            "`cubic+hystart` needs HyStart, which is switched off in this kernel: write 1 to \
             {SWITCH}"
        ))),
    }
}

fn hold_off(cancel: &AtomicBool) -> Result<HystartSetting, StackError> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(LOCK)
        .map_err(system(LOCK))?;
    lock(&file, true, cancel)?;
    recover(&mut file, SWITCH).map_err(system(SWITCH))?;
    let before = fs::read_to_string(SWITCH).map_err(system(SWITCH))?;
    let before = before.trim().to_owned();
    file.write_all(before.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(system(LOCK))?;
    let setting = HystartSetting {
        locked: Some((file, Some(before))),
    };
    // From here on, dropping `setting` restores the value.
    fs::write(SWITCH, "0").map_err(system(SWITCH))?;
    Ok(setting)
}

fn read_switch() -> Option<bool> {
    Some(fs::read_to_string(SWITCH).ok()?.trim() != "0")
}

fn lock(file: &File, alone: bool, cancel: &AtomicBool) -> Result<(), StackError> {
    while !sys::try_lock(file, alone).map_err(system(LOCK))? {
        if cancel.load(Ordering::Relaxed) {
            return Err(StackError::Cancelled);
        }
        pause(LOOK_AGAIN);
    }
    Ok(())
}

/// Restores the value that a killed run left behind.
fn recover(file: &mut File, switch: impl AsRef<Path>) -> io::Result<()> {
    let mut left = String::new();
    file.rewind()?;
    file.read_to_string(&mut left)?;
    if !left.is_empty() {
        fs::write(switch, left.trim())?;
        file.set_len(0)?;
    }
    file.rewind()
}

impl Drop for HystartSetting {
    fn drop(&mut self) {
        if let Some((file, Some(before))) = &self.locked
            && fs::write(SWITCH, before).is_ok()
        {
            // The next run need not restore; closing the file unlocks it.
            let _ = file.set_len(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_left_is_restored_once() {
        let folder = std::env::temp_dir().join(format!("slowstart-switch-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (switch, lock) = (folder.join("switch"), folder.join("lock"));
        fs::write(&switch, "0").unwrap();
        fs::write(&lock, "1\n").unwrap();
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&lock)
            .unwrap();
        recover(&mut file, &switch).unwrap();
        assert_eq!(fs::read_to_string(&switch).unwrap(), "1");
        assert_eq!(fs::read_to_string(&lock).unwrap(), "");
        // A later change by another program stays.
        fs::write(&switch, "0").unwrap();
        recover(&mut file, &switch).unwrap();
        assert_eq!(fs::read_to_string(&switch).unwrap(), "0");
        fs::remove_dir_all(&folder).unwrap();
    }
}
