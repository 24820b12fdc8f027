//! The machine: QEMU without root, without hardware virtualization, and without a wall clock.
//!
//! `-icount shift=0,sleep=off` lets time pass with the instructions, one nanosecond for each. An
//! idle processor jumps to the next timer. The machine type is that of QEMU 7.0, the last one that
//! does not pass random numbers of its own to the kernel at start (`-seed` does not affect these).
//! The processor has no instruction for random numbers either. QEMU records the run (to /dev/null),
//! because its own threads take turns while it records. Without this, once in some ten thousand
//! times that the processor goes idle, the timer thread advances the clock before the last
//! instructions are counted, and time is off by some nanoseconds (`icount_start_warp_timer`;
//! measured: two of five transfers of 20 MB). A run therefore depends only on its files and its
//! command line.
//!
//! Nothing is written to disk: input and output are in memory that QEMU opens through
//! `/proc/self/fd`. QEMU ends when the thread that started it ends (`PR_SET_PDEATHSIG`), even after
//! kill -9.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::poll::ppoll;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

use crate::VmError;
use crate::exchange::{Answer, JOB, Job, MODULES, Output};
use crate::initramfs::Archive;

/// The name of the installed program.
pub const PROGRAM: &str = "qemu-system-x86_64";

/// `-M`: see above. `-cpu`: only features that every host has.
const ARGUMENTS: &[&str] = &[
    "-nodefaults",
    "-no-user-config",
    "-no-reboot",
    "-display",
    "none",
    "-M",
    "pc-i440fx-7.0",
    "-cpu",
    "qemu64,-rdrand,-rdseed",
    "-m",
    "2048",
    "-accel",
    "tcg,thread=single",
    "-icount",
    "shift=0,sleep=off,rr=record,rrfile=/dev/null",
    "-rtc",
    "base=2026-01-01,clock=vm",
    "-seed",
    "1",
];

/// The clock is the processor's, whose rate is known and need not be measured. The timers are the
/// HPET's: measuring the processor's own timer would take longer than the rest of the boot. Without
/// huge pages no thread collects the emulator's small ones into a large one, which takes the machine's
/// only processor for 2 ms while ACKs wait.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet panic=-1 reboot=t tsc=reliable \
    tsc_early_khz=1000000 clocksource=tsc nolapic_timer no_timer_check nokaslr norandmaps \
    mitigations=off audit=0 apparmor=0 random.trust_cpu=off transparent_hugepage=never";

/// Time without a sign of life after which the machine is stopped. The boot takes some seconds, and
/// a second of the machine's time takes one or two seconds under load.
const PATIENCE_S: u64 = 300;

/// How often the machine is polled.
const PERIOD_MS: u64 = 20;

/// Largest file that is packed into a machine.
const MAX_FILE: u64 = 100_000_000;

/// The components of a machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// QEMU.
    pub qemu: PathBuf,
    /// The kernel (`vmlinuz`).
    pub kernel: PathBuf,
    /// The folder of its modules (`tun.ko`, `tcp_*.ko`).
    pub modules: PathBuf,
    /// The statically linked `slowstart-guest`.
    pub guest: PathBuf,
}

impl Machine {
    /// The module files, in the order of their names.
    fn module_files(&self) -> Result<Vec<PathBuf>, VmError> {
        let list = || -> io::Result<Vec<PathBuf>> {
            let entries = fs::read_dir(&self.modules)?;
            entries.map(|entry| Ok(entry?.path())).collect()
        };
        let mut files = list().map_err(VmError::system(&self.modules))?;
        files.retain(|file| module_name(file).is_some());
        files.sort();
        Ok(files)
    }

    /// The congestion controls of its kernel.
    ///
    /// # Errors
    /// The modules cannot be listed.
    pub fn congestion_controls(&self) -> Result<Vec<String>, VmError> {
        let files = self.module_files()?;
        let names = files.iter().filter_map(|file| module_name(file));
        Ok(crate::algorithms::available(names))
    }

    /// Makes one run.
    ///
    /// # Errors
    /// The machine does not start, fails, or gives no sign of life for minutes; or one of `cancel`
    /// became true. The machine has ended in every case.
    pub fn run(&self, job: &Job, cancel: &[&AtomicBool]) -> Result<Output, VmError> {
        let memory = VmError::system("memory for the virtual machine");
        let make = |name: &str| memfd_create(name, MFdFlags::MFD_CLOEXEC).map(File::from);
        let make = |name: &str| make(name).map_err(|error| memory(error.into()));
        let (initramfs, answer) = (make("initramfs")?, make("answer")?);
        let (console, messages) = (make("console")?, make("messages")?);
        self.pack(job, &initramfs)?;
        let path = |file: &File| format!("/proc/self/fd/{}", file.as_raw_fd());
        let mut command = Command::new(&self.qemu);
        command
            .args(ARGUMENTS)
            .arg("-kernel")
            .arg(&self.kernel)
            .args(["-append", KERNEL_ARGUMENTS, "-initrd", &path(&initramfs)])
            .args(["-debugcon", &format!("file:{}", path(&answer))])
            .args(["-serial", &format!("file:{}", path(&console))])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(messages.try_clone().map_err(VmError::system(&self.qemu))?);
        let inherited = [&initramfs, &answer, &console].map(AsRawFd::as_raw_fd);
        let child = start(&mut command, inherited).map_err(VmError::system(&self.qemu))?;
        let mut running = Running(child);
        running.watch(&answer, cancel)?;
        let written = contents(&answer).map_err(VmError::system("the virtual machine's answer"))?;
        let parsed = written
            .iter()
            .position(|&byte| byte == b'\n')
            .and_then(|end| serde_json::from_slice(&written[end..]).ok());
        match parsed {
            Some(Answer::Done(output)) => Ok(*output),
            Some(Answer::Unsupported(sentence)) => Err(VmError::Unsupported(sentence)),
            Some(Answer::Failed(sentence)) => Err(VmError::Failed(sentence)),
            None => Err(VmError::Failed(format!(
                "the machine ended without an answer ({})",
                last_line([&messages, &console])
            ))),
        }
    }

    /// The machine's files.
    fn pack(&self, job: &Job, to: &File) -> Result<(), VmError> {
        let job = serde_json::to_vec(job).map_err(|error| VmError::Failed(error.to_string()))?;
        let read = |file: &Path| {
            scenario::read_bytes(file, MAX_FILE)
                .map_err(|reason| VmError::Failed(format!("{}: {reason}", file.display())))
        };
        let guest = read(&self.guest)?;
        let mut modules = Vec::new();
        for file in self.module_files()? {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            modules.push((format!("{}/{name}", &MODULES[1..]), read(&file)?));
        }
        let write = || -> io::Result<()> {
            let mut archive = Archive::new(BufWriter::new(to));
            archive.folder("dev")?;
            archive.character_device("dev/console", (5, 1))?;
            archive.folder(&MODULES[1..])?;
            for (name, content) in &modules {
                archive.file(name, content)?;
            }
            archive.program("init", &guest)?;
            archive.file(&JOB[1..], &job)?;
            archive.finish().map(drop)
        };
        write().map_err(VmError::system("the virtual machine's files"))
    }
}

/// `tcp_bbr` of `tcp_bbr.ko` and `tcp_bbr.ko.xz`.
fn module_name(file: &Path) -> Option<&str> {
    let (name, end) = file.file_name()?.to_str()?.split_once('.')?;
    matches!(end, "ko" | "ko.xz" | "ko.zst" | "ko.gz").then_some(name)
}

/// Starts QEMU with these files, so that it ends with the calling thread.
#[expect(
    unsafe_code,
    reason = "the signal at the parent's end is set between fork(2) and exec(2)"
)]
fn start(command: &mut Command, inherited: [RawFd; 3]) -> io::Result<Child> {
    let parent = nix::unistd::getpid();
    // SAFETY: the closure only makes system calls, on descriptors that stay open until the child
    // has started, and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            prctl::set_pdeathsig(Signal::SIGKILL)?;
            if nix::unistd::getppid() != parent {
                return Err(io::Error::from(io::ErrorKind::Interrupted));
            }
            for file in inherited {
                if libc::fcntl(file, libc::F_SETFD, 0) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
    command.spawn()
}

/// QEMU, which is stopped when this value is dropped.
struct Running(Child);

impl Running {
    /// Waits until QEMU ends.
    fn watch(&mut self, answer: &File, cancel: &[&AtomicBool]) -> Result<(), VmError> {
        let (mut seen, mut since) = (0, monotonic_seconds());
        loop {
            match self.0.try_wait() {
                Ok(Some(_)) => return Ok(()),
                Ok(None) => {}
                Err(error) => return Err(VmError::system(PROGRAM)(error)),
            }
            if cancel.iter().any(|cancel| cancel.load(Ordering::Relaxed)) {
                return Err(VmError::Cancelled);
            }
            let now = monotonic_seconds();
            let length = answer.metadata().map_or(0, |file| file.len());
            if length > seen {
                (seen, since) = (length, now);
            }
            if now > since + PATIENCE_S {
                return Err(VmError::Failed(format!(
                    "no sign of life for {PATIENCE_S} seconds"
                )));
            }
            let wait = TimeSpec::from_duration(std::time::Duration::from_millis(PERIOD_MS));
            // A signal may end the wait early, which does no harm.
            let _ = ppoll(&mut [], Some(wait), None);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // If QEMU has already ended, both calls do nothing.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn monotonic_seconds() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |time| time.tv_sec().cast_unsigned())
}

fn contents(mut file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The last non-empty line of the first file that has one.
fn last_line(files: [&File; 2]) -> String {
    files
        .iter()
        .find_map(|file| {
            let text = contents(file).ok()?;
            let text = String::from_utf8_lossy(&text);
            let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
            Some(line.to_owned())
        })
        .unwrap_or_else(|| "no output".to_owned())
}
