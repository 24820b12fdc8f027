//! The machine's first process makes one run on the machine's kernel, writes its answer, and
//! switches the machine off.
//!
//! The run is that of [`kernel_stack`], as on a real machine. Time is QEMU's: it passes with the
//! instructions that the processor executes, and jumps when the processor is idle.

use std::arch::asm;
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;

use kernel_stack::{self as stack, StackError};
use measure::Stack;
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use vm::exchange::{Answer, JOB, Job, MODULES, Output, PORT};

/// Prepares the machine, makes the run and switches the machine off.
pub(crate) fn run_and_end() {
    let answer = prepare()
        .and_then(|()| run())
        .unwrap_or_else(Answer::Failed);
    let mut bytes = serde_json::to_vec(&answer).unwrap_or_default();
    bytes.insert(0, b'\n');
    say(&bytes);
    // QEMU ends when the machine would reboot.
    let _ = reboot(RebootMode::RB_AUTOBOOT);
}

fn failed(what: impl AsRef<Path>) -> impl FnOnce(io::Error) -> String {
    let what = what.as_ref().display().to_string();
    move |error| format!("{what}: {error}")
}

/// Sets up the file systems, the port, and the kernel's modules.
fn prepare() -> Result<(), String> {
    open_port().map_err(failed("the debug console"))?;
    for (kind, folder) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        fs::create_dir_all(folder).map_err(failed(folder))?;
        mount(
            Some(kind),
            folder,
            Some(kind),
            MsFlags::empty(),
            None::<&str>,
        )
        .map_err(|error| failed(folder)(error.into()))?;
    }
    for folder in ["/run", "/tmp"] {
        fs::create_dir_all(folder).map_err(failed(folder))?;
    }
    let mut modules = fs::read_dir(MODULES)
        .and_then(|entries| {
            entries
                .map(|entry| Ok(entry?.path()))
                .collect::<io::Result<Vec<_>>>()
        })
        .map_err(failed(MODULES))?;
    modules.sort();
    for module in modules {
        let file = File::open(&module).map_err(failed(&module))?;
        let mut flags = ModuleInitFlags::empty();
        if module.extension().is_some_and(|end| end != "ko") {
            flags |= COMPRESSED;
        }
        finit_module(&file, &CString::default(), flags)
            .map_err(|error| failed(&module)(error.into()))?;
    }
    for (key, value) in SETTINGS {
        let file = format!("/proc/sys/{key}");
        fs::write(&file, value).map_err(failed(&file))?;
    }
    Ok(())
}

/// `MODULE_INIT_COMPRESSED_FILE` of linux/module.h.
const COMPRESSED: ModuleInitFlags = ModuleInitFlags::from_bits_retain(4);

const SETTINGS: [(&str, &str); 2] = [
    // Real-time threads may use the whole processor: the machine runs nothing else.
    ("kernel/sched_rt_runtime_us", "-1"),
    // TCP never lacks memory: the machine has 2 GiB, and these are pages.
    ("net/ipv4/tcp_mem", "400000 450000 500000"),
];

const RELEASE: &str = "/proc/sys/kernel/osrelease";

fn run() -> Result<Answer, String> {
    let job = fs::read(JOB).map_err(failed(JOB))?;
    let job: Job = serde_json::from_slice(&job).map_err(|error| format!("{JOB}: {error}"))?;
    let options = vm::stack_options(job.traces);
    thread::spawn(|| {
        loop {
            #[expect(
                clippy::disallowed_methods,
                reason = "reports the machine's seconds as they pass"
            )]
            thread::sleep(std::time::Duration::from_secs(1));
            say(b".");
        }
    });
    wait(job.scenario.0.seed.wrapping_add(u64::from(job.run)));
    let cancel = AtomicBool::new(false);
    Ok(
        match stack::run(&job.scenario.0, job.run, &options, &cancel) {
            Ok(mut output) => {
                output.result.stack = Stack::LinuxVm;
                Answer::Done(Box::new(Output {
                    result: output.result,
                    traces: output.traces,
                    check: output.check,
                    samples: output.samples,
                    longest_gap_ms: output.longest_gap.as_nanos() as f64 / 1e6,
                    kernel: fs::read_to_string(RELEASE)
                        .map_err(failed(RELEASE))?
                        .trim()
                        .to_owned(),
                    congestion: output.congestion,
                }))
            }
            Err(StackError::Unsupported(sentence)) => Answer::Unsupported(sentence),
            Err(error) => Answer::Failed(error.to_string()),
        },
    )
}

/// Waits for a part of a kernel tick that the run's seed determines. On a real machine, the phase
/// of the tick at which a connection begins is random, and it affects TCP's timers.
fn wait(seed: u64) {
    /// A second has 250 ticks (CONFIG_HZ of Debian).
    const TICK_NANOS: u64 = 4_000_000;
    // The golden ratio spreads whole numbers evenly.
    let fraction = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let nanos = (u128::from(fraction) * u128::from(TICK_NANOS)) >> 64;
    #[expect(
        clippy::disallowed_methods,
        reason = "time in the machine is a function of its instructions"
    )]
    thread::sleep(std::time::Duration::from_nanos(nanos as u64));
}

/// Lets this process and its threads write to the port.
#[expect(unsafe_code, reason = "there is no safe wrapper of ioperm(2)")]
fn open_port() -> io::Result<()> {
    // SAFETY: ioperm(2) takes three integers.
    match unsafe { libc::ioperm(libc::c_ulong::from(PORT), 1, 1) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Writes to the port. No driver is involved: nothing waits, and no process is interrupted.
#[expect(unsafe_code, reason = "writing to a port takes an instruction")]
fn say(bytes: &[u8]) {
    // SAFETY: the instruction reads `bytes.len()` bytes from `bytes` and writes them to the port,
    // which `open_port` opened. It changes no memory and no flag.
    unsafe {
        asm!(
            "rep outsb",
            in("dx") PORT,
            inout("rsi") bytes.as_ptr() => _,
            inout("rcx") bytes.len() => _,
            options(readonly, nostack, preserves_flags),
        );
    }
}
