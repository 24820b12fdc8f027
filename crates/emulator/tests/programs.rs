//! Commands behind a path, and that they leave nothing behind.

#![allow(clippy::unwrap_used, reason = "a test panics if it cannot continue")]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Folder, may_emulate, path, skip};
use emulator::{
    CaptureTo, EmulateOptions, Emulation, EmulationOptions, EmulatorError, Side, emulate,
};
use nix::time::{ClockId, clock_gettime};
use units::Duration;

/// This test binary, running one of its ignored tests, as a program behind a path.
fn this(role: &str) -> Vec<std::ffi::OsString> {
    let program = std::env::current_exe().unwrap().into_os_string();
    let mut words = vec![program];
    words.extend(["--exact", role, "--ignored", "--nocapture"].map(Into::into));
    words
}

fn short() -> scenario::PathModel {
    path(20, Duration::from_millis(20), 100)
}

fn run(options: EmulateOptions) -> Result<emulator::EmulateOutcome, EmulatorError> {
    let never = AtomicBool::new(false);
    emulate(&short(), 1, options, &never, &mut |_| {})
}

fn shell(line: &str) -> EmulateOptions {
    EmulateOptions {
        command: ["sh", "-c", line].map(Into::into).to_vec(),
        ..EmulateOptions::default()
    }
}

#[test]
fn the_exit_status_is_the_commands() {
    let Some(_guard) = may_emulate() else { return };
    assert_eq!(run(shell("exit 7")).unwrap().status, 7);
    assert_eq!(run(shell("kill -15 $$")).unwrap().status, 128 + 15);
    let environment = "test $SLOWSTART_ADDRESS = 10.77.0.1 && test $SLOWSTART_PEER = 10.77.0.2";
    assert_eq!(run(shell(environment)).unwrap().status, 0);
    let missing = EmulateOptions {
        command: vec!["no-such-program".into()],
        ..EmulateOptions::default()
    };
    let error = run(missing).unwrap_err().to_string();
    assert!(
        error.starts_with("`no-such-program` cannot be run: "),
        "{error}"
    );
    let error = run(EmulateOptions::default()).unwrap_err().to_string();
    assert_eq!(error, "there is no command to run");
}

#[test]
fn a_download_takes_the_forward_link_and_an_upload_with_upload() {
    let Some(_guard) = may_emulate() else { return };
    // The server sends 300 kB to each client.
    for upload in [false, true] {
        let outcome = run(EmulateOptions {
            command: this("role_client"),
            server_command: Some(quoted(&this("role_server"))),
            upload,
            ..EmulateOptions::default()
        })
        .unwrap();
        assert_eq!(outcome.status, 0);
        let report = outcome.report;
        let (data, acks) = if upload {
            (report.reverse, report.forward)
        } else {
            (report.forward, report.reverse)
        };
        assert!(
            data.counters.bytes_out.get() > 300_000,
            "{:?}",
            data.counters
        );
        assert!(
            acks.counters.bytes_out.get() < 60_000,
            "{:?}",
            acks.counters
        );
    }
}

#[test]
#[ignore = "a program that another test runs"]
fn role_server() {
    let listener = TcpListener::bind("0.0.0.0:8080").unwrap();
    for stream in listener.incoming() {
        stream.unwrap().write_all(&vec![1; 300_000]).unwrap();
    }
}

#[test]
#[ignore = "a program that another test runs"]
fn role_client() {
    let mut received = Vec::new();
    let mut stream = TcpStream::connect("10.77.0.2:8080").unwrap();
    stream.read_to_end(&mut received).unwrap();
    assert_eq!(received.len(), 300_000);
}

#[test]
fn a_server_that_ends_is_reported() {
    let Some(_guard) = may_emulate() else { return };
    let error = run(EmulateOptions {
        server_command: Some("exit 3".into()),
        ..shell("true")
    });
    assert!(
        matches!(error, Err(EmulatorError::ServerEnded(3))),
        "{error:?}"
    );
}

#[test]
fn a_cancelled_command_is_asked_to_end() {
    let Some(_guard) = may_emulate() else { return };
    let cancel = AtomicBool::new(false);
    // The shell handles SIGTERM only after its `sleep`, unless it waits for a background job.
    let options = shell("trap 'exit 5' TERM; sleep 60 & wait");
    let outcome = emulate(&short(), 1, options, &cancel, &mut |snapshot| {
        if snapshot.at > units::Instant::from_millis(500) {
            cancel.store(true, Ordering::Relaxed);
        }
    });
    assert_eq!(outcome.unwrap().status, 5);
}

/// The innermost command reaches the servers of all levels, over all the paths between.
#[test]
fn emulations_nest() {
    let Some(_guard) = may_emulate() else { return };
    let outcome = run(EmulateOptions {
        command: this("role_inner"),
        server_command: Some(quoted(&this("role_echo"))),
        ..EmulateOptions::default()
    })
    .unwrap();
    assert_eq!(outcome.status, 0);
    let report = outcome.report;
    let outer = "10.77.0.2:7007".parse().unwrap();
    let data = report.flows.iter().filter(|flow| flow.key.source == outer);
    let from: Vec<String> = data.map(|flow| flow.key.destination.to_string()).collect();
    // One inside this one, and two at a time inside that, came with their own addresses.
    for address in ["10.77.32.1:", "10.77.36.1:", "10.77.40.1:"] {
        let count = from.iter().filter(|name| name.starts_with(address)).count();
        assert_eq!(count, 1, "{from:?}");
    }
    // Nothing is missing except what this path dropped.
    assert!(report.forward.conserved() && report.reverse.conserved());
}

fn quoted(words: &[std::ffi::OsString]) -> std::ffi::OsString {
    let words: Vec<_> = words
        .iter()
        .map(|word| format!("'{}'", word.display()))
        .collect();
    words.join(" ").into()
}

fn inner(mbit: u64, rtt_ms: u64, options: EmulateOptions) -> i32 {
    let path = path(mbit, Duration::from_millis(rtt_ms), 1000);
    let never = AtomicBool::new(false);
    let outcome = emulate(&path, 2, options, &never, &mut |_| {}).unwrap();
    outcome.status
}

#[test]
#[ignore = "a program that another test runs"]
fn role_echo() {
    let socket = UdpSocket::bind("0.0.0.0:7007").unwrap();
    let mut bytes = [0; 2000];
    loop {
        let (length, from) = socket.recv_from(&mut bytes).unwrap();
        socket.send_to(&bytes[..length], from).unwrap();
    }
}

fn monotonic() -> std::time::Duration {
    clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap().into()
}

/// A socket that reaches the outermost server, over 20 Mbit/s and 20 ms and `rtt` in all.
fn reach(rtt: std::time::Duration) -> UdpSocket {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("10.77.0.2:7007").unwrap();
    let longest = std::time::Duration::from_secs(5);
    socket.set_read_timeout(Some(longest)).unwrap();
    let times = (0..20).map(|_| {
        let began = monotonic();
        socket.send(&[1]).unwrap();
        socket.recv(&mut [0; 9]).unwrap();
        monotonic() - began
    });
    let shortest = times.min().unwrap();
    assert!(shortest >= rtt, "{shortest:?} of {rtt:?}");
    assert!(shortest < rtt.mul_f64(1.2), "{shortest:?} of {rtt:?}");
    socket
}

#[test]
#[ignore = "a program that another test runs"]
fn role_inner() {
    let status = inner(
        10,
        30,
        EmulateOptions {
            command: this("role_middle"),
            ..EmulateOptions::default()
        },
    );
    assert_eq!(status, 0);
    // The environment of a nested server command; its port is the enclosing host's.
    let own = "test $SLOWSTART_ADDRESS = 10.77.32.1 && test $SLOWSTART_PEER = 10.77.32.2";
    let status = inner(
        10,
        30,
        EmulateOptions {
            server_command: Some(quoted(&this("role_echo"))),
            ..shell(own)
        },
    );
    assert_eq!(status, 0);
}

#[test]
#[ignore = "a program that another test runs"]
fn role_middle() {
    let variable = |name| std::env::var_os(name).unwrap();
    assert_eq!(variable("SLOWSTART_ADDRESS"), "10.77.32.1");
    assert_eq!(variable("SLOWSTART_PEER"), "10.77.0.2");
    let socket = reach(std::time::Duration::from_millis(50));
    // 50 packets, which fit into a socket's buffer, come back at 20 and then at 10 Mbit/s: that is
    // 49 intervals of 1.1424 ms.
    for _ in 0..50 {
        socket.send(&[2; 1400]).unwrap();
    }
    let arrivals: Vec<_> = (0..50)
        .map(|_| {
            socket.recv(&mut [0; 1500]).unwrap();
            monotonic()
        })
        .collect();
    let span = arrivals[49] - arrivals[0];
    assert!(span.as_micros() > 49 * 1142 * 9 / 10, "{span:?}");
    std::thread::scope(|scope| {
        let innermost = || {
            let options = EmulateOptions {
                command: this("role_innermost"),
                ..EmulateOptions::default()
            };
            assert_eq!(inner(100, 25, options), 0);
        };
        scope.spawn(innermost);
        scope.spawn(innermost);
    });
}

#[test]
#[ignore = "a program that another test runs"]
fn role_innermost() {
    reach(std::time::Duration::from_millis(75));
}

#[test]
fn wrong_input_is_reported_before_anything_is_created() {
    let Some(_guard) = may_emulate() else { return };
    let start = |options| {
        Emulation::start(&short(), 1, options)
            .err()
            .unwrap()
            .to_string()
    };
    let error = start(EmulationOptions {
        addresses: ["10.77.0.1", "10.77.0.5"].map(|address| address.parse().unwrap()),
        ..EmulationOptions::default()
    });
    assert!(
        error.contains("are not the two hosts of a private /30 network"),
        "{error}"
    );
    let file = PathBuf::from("/nowhere/at/all.pcapng");
    let error = start(EmulationOptions {
        captures: vec![CaptureTo {
            at: Side::Sender.into(),
            file,
            snap_length: 100,
        }],
        ..EmulationOptions::default()
    });
    assert!(
        error.starts_with("/nowhere/at/all.pcapng: cannot be written"),
        "{error}"
    );
}

/// Network namespaces of the processes on this machine, by inode.
fn namespaces() -> BTreeSet<u64> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| fs::metadata(process.path().join("ns/net")).ok())
        .map(|metadata| metadata.ino())
        .collect()
}

/// Processes whose command line contains `word`.
fn processes_with(word: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(word))
        .collect()
}

/// Names and mounts of the namespaces `made`, which are alive. The kernel uses the numbers of dead
/// ones again, for namespaces of other programs.
fn names_of(made: &[u64]) -> Vec<String> {
    let named = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let named = named.filter(|entry| {
        let file = fs::metadata(entry.path());
        file.is_ok_and(|file| made.contains(&file.ino()))
    });
    let named = named.map(|entry| entry.path().display().to_string());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let marks: Vec<String> = made.iter().map(|inode| format!("net:[{inode}]")).collect();
    let mounts = mounts
        .lines()
        .filter(|line| marks.iter().any(|mark| line.contains(mark.as_str())))
        .map(str::to_owned);
    named.chain(mounts).collect()
}

/// Devices of the emulator in this namespace.
fn devices() -> Vec<String> {
    let devices = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let names = devices
        .lines()
        .filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
    names.filter(|name| name.starts_with("slowstart")).collect()
}

#[test]
fn ten_runs_killed_leave_nothing_behind() {
    let Some(_guard) = may_emulate() else { return };
    // A time that no other process on this machine sleeps for.
    let seconds = format!("86{:07}", std::process::id());
    let folder = Folder::new("killed");
    let before = devices();
    for _ in 0..10 {
        let words = this("role_victim");
        let mut victim = Command::new(&words[0])
            .args(&words[1..])
            .env("VICTIM_SLEEP", &seconds)
            .env("VICTIM_FOLDER", &folder.0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut made = Vec::new();
        for line in BufReader::new(victim.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if let Some(inodes) = line.strip_prefix("made ") {
                made.extend(inodes.split(' ').map(|inode| inode.parse::<u64>().unwrap()));
                break;
            }
        }
        assert_eq!(made.len(), 2, "the victim did not start");
        // What has no name is gone with its last process.
        assert_eq!(names_of(&made), Vec::<String>::new());
        // A program that was started needs a moment until its exec.
        let mut looks = 0;
        while processes_with(&seconds).len() < 3 {
            looks += 1;
            assert!(looks < 100, "its programs did not start");
            let _ = nix::poll::poll(&mut [], 20_u16);
        }
        victim.kill().unwrap();
        victim.wait().unwrap();
        // The kernel needs a moment to end a PID namespace.
        let mut looks = 0;
        loop {
            let alive = namespaces();
            let rest = processes_with(&seconds);
            if made.iter().all(|inode| !alive.contains(inode)) && rest.is_empty() {
                break;
            }
            looks += 1;
            assert!(looks < 100, "left behind: {rest:?}");
            let _ = nix::poll::poll(&mut [], 20_u16);
        }
    }
    assert_eq!(devices(), before);
    assert_eq!(
        fs::read_dir(&folder.0).unwrap().count(),
        0,
        "half-written files"
    );
}

#[test]
#[ignore = "a program that another test kills"]
fn role_victim() {
    let (Some(seconds), Some(folder)) = (
        std::env::var_os("VICTIM_SLEEP"),
        std::env::var_os("VICTIM_FOLDER"),
    ) else {
        return;
    };
    let emulation = Emulation::start(
        &short(),
        1,
        EmulationOptions {
            probes: 0,
            captures: vec![CaptureTo {
                at: Side::Sender.into(),
                file: PathBuf::from(folder).join("sender.pcapng"),
                snap_length: 100,
            }],
            ..EmulationOptions::default()
        },
    )
    .unwrap();
    // One in the foreground, one that became a daemon with a session of its own.
    let line = format!(
        "setsid sleep {0} & sleep {0} & echo up; sleep {0}",
        seconds.display()
    );
    let mut command = Command::new("sh");
    command.args(["-c", &line]).stdout(Stdio::piped());
    let mut running = emulation.spawn(Side::Sender, command).unwrap();
    let mut up = [0; 3];
    running
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut up)
        .unwrap();
    let inodes = [Side::Sender, Side::Receiver].map(|side| {
        fs::metadata(emulation.namespace_path(side))
            .unwrap()
            .ino()
            .to_string()
    });
    println!("\nmade {}", inodes.join(" "));
    running.wait();
}

/// As a user without privileges, in a user namespace, where that user may open the device.
#[test]
fn a_user_namespace_suffices() {
    let Some(_guard) = may_emulate() else { return };
    let folder = Folder::new("rootless");
    // Another user may have no access to this binary where it is.
    let program = folder.0.join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let lines = "set -e; chmod 755 .; mknod tun c 10 200; chmod 666 tun; \
         mount --bind tun /dev/net/tun; \
         exec setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user \
         ./test --exact role_rootless --ignored --nocapture";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", lines])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    if !output.status.success() && text.contains("unshare:") {
        return skip(&format!("user namespaces are not allowed here: {text}"));
    }
    assert!(output.status.success(), "{text}");
    assert!(text.contains("carried as nobody"), "{text}");
}

#[test]
#[ignore = "run by another test, as another user"]
fn role_rootless() {
    let outcome = run(shell("exit 9")).unwrap();
    assert_eq!(outcome.status, 9);
    println!("carried as nobody");
}

/// A missing requirement is reported in one sentence, also by `missing`.
#[test]
fn what_is_missing_is_reported() {
    let Some(_guard) = may_emulate() else { return };
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    let folder = Folder::new("missing");
    let program = folder.0.join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    command
        .arg(&program)
        .args(["--exact", "role_without", "--ignored", "--nocapture"]);
    command.process_group(0);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("emulation needs"), "{text}");
}

#[test]
#[ignore = "run by another test, as another user"]
fn role_without() {
    let sentence = emulator::missing().unwrap();
    assert_eq!(run(shell("true")).unwrap_err().to_string(), sentence);
    println!("{sentence}");
}
