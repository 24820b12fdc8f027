//! SEARCH for FreeBSD (`freebsd/cc_search.c`), compiled for this machine over stand-ins for the kernel:
//! it answers the conformance vectors as the simulator does, with the interface of 14 and of 15.

use std::path::PathBuf;

use crate::core::{Compiled, compile};
use crate::{answers_as_the_simulator, vectors};

/// Headers of FreeBSD's kernel that `freebsd/host/standins.h` replaces: they are empty here.
const HEADERS: [&str; 12] = [
    "sys/kernel.h",
    "sys/malloc.h",
    "sys/module.h",
    "sys/socketvar.h",
    "sys/sysctl.h",
    "sys/systm.h",
    "net/vnet.h",
    "netinet/in_pcb.h",
    "netinet/tcp_timer.h",
    "netinet/tcp_var.h",
    "netinet/cc/cc.h",
    "netinet/cc/cc_module.h",
];

/// The program for a version of FreeBSD; `None`, with a printed reason, without a C compiler.
fn program(version: u32) -> Option<Compiled> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("freebsd");
    for header in HEADERS {
        let file = folder.join(header);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, "").expect("an empty file");
    }
    let options = [
        "-D_DEFAULT_SOURCE".to_owned(),
        format!("-D__FreeBSD_version={version}"),
        format!("-I{}", folder.display()),
    ];
    let name = format!("freebsd-{version}");
    let made = compile("freebsd/host/answer.c", &name, &options)?;
    Some(Compiled::of(&made))
}

#[test]
fn freebsd_answers_the_vectors_as_the_simulator_does() {
    for version in [1_400_000, 1_500_000] {
        let Some(kernel) = program(version) else {
            return;
        };
        let mut exits = 0;
        let mut count = 0;
        for vector in vectors() {
            let header = &vector.header;
            // The interface does not count bytes sent (4.0), and the module has no `missed=reset`.
            let others = ["version=4.0", "exit=drain", "missed=reset", "passive"];
            if !header.algorithm.contains("+search")
                || others.iter().any(|other| header.algorithm.contains(other))
            {
                continue;
            }
            count += 1;
            let exit = answers_as_the_simulator(&kernel, &vector);
            exits += usize::from(exit.is_some());
        }
        assert!(
            count >= 6 && exits >= 3,
            "FreeBSD {version}: {count} vectors, {exits} exits"
        );
    }
}
