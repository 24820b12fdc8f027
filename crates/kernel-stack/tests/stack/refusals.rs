//! What the kernel cannot do is refused; a setting of the whole machine is restored.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use kernel_stack::{self as stack, StackError, StackOptions};
use scenario::{Application, Flow, PathModel, Place, Scenario};
use units::{Bytes, Duration};

use crate::common;
use crate::helpers::{flow, run_in, traced, wired, with};

#[test]
fn what_the_kernel_cannot_do_is_refused_with_a_sentence() {
    let path = wired(10, 20, 50);
    let refused = |flows: Vec<Flow>, options: &StackOptions| {
        let scenario = Scenario::new(path.clone(), flows);
        match stack::run(&scenario, 0, options, &AtomicBool::new(false)) {
            Err(StackError::Unsupported(sentence)) => sentence,
            other => panic!("{other:?}"),
        }
    };
    let plain = StackOptions::default();
    let reno = || flow("reno", 1000);
    let mut from_a_host = reno();
    from_a_host.ends.from = Some(Place::Hosts(0));
    let cases = [
        (vec![flow("reno+limited", 1000)], "`reno+limited`"),
        (vec![flow("reno+hystart", 1000)], "`reno+hystart`"),
        (
            vec![flow("cubic+search:bins=12", 1000)],
            "no congestion control of the kernel",
        ),
        (
            vec![flow("cubic+oracle", 1000)],
            "`cubic+oracle` needs the simulator's knowledge of the path",
        ),
        (vec![from_a_host], "`from` is not supported on the kernel"),
        (
            vec![with(reno(), |of| of.sack = false)],
            "`sack` is not supported on the kernel: the kernel's flows use SACK",
        ),
        (
            vec![with(reno(), |of| of.tso_segments = 64)],
            "hold 1 to 45 segments",
        ),
        (
            vec![
                reno(),
                with(reno(), |of| of.receive_buffer = Bytes::new(1 << 20)),
            ],
            "`receive_buffer` must be the same for all flows",
        ),
        (
            vec![reno(), with(reno(), |of| of.restart_after_idle = false)],
            "`restart_after_idle` must be the same",
        ),
        (
            vec![reno(), with(reno(), |of| of.tso_segments = 1)],
            "`tso_segments` must be the same",
        ),
        (
            vec![Flow {
                application: Application::Pausing {
                    write: Bytes::new(1000),
                    pause: Duration::from_secs(1),
                },
                ..reno()
            }],
            "`every` is supported",
        ),
        (vec![], "1 to 65534 flows"),
    ];
    for (flows, expected) in cases {
        let sentence = refused(flows, &plain);
        assert!(sentence.contains(expected), "{sentence}");
        assert!(
            !sentence.contains('\n') && !sentence.ends_with('.'),
            "{sentence}"
        );
    }
    let text = "[path]\nrate = '10 Mbit/s'\nrtt = '20 ms'\n[[traffic]]\nkind = 'bulk'\n";
    let busy = PathModel::parse(text, "text", Path::new("")).unwrap();
    let busy = stack::supports(&Scenario::new(busy, vec![reno()]), &plain).unwrap_err();
    assert_eq!(
        busy.to_string(),
        "traffic `bulk`: `kind = \"bulk\"` is not supported on the kernel: background traffic of this \
         kind is available in simulations only"
    );
    // Congestion controls that this project loads into the kernel may or may not be loaded.
    let own = StackOptions {
        guests: false,
        ..StackOptions::default()
    };
    let available =
        fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    let loaded = |name: &str| {
        available
            .split_ascii_whitespace()
            .any(|other| other == name)
    };
    for (name, kernel) in [
        ("cubic+search", "ss_search"),
        ("cubic+search:version=3.1", "ss_search31"),
        ("cubic+search:version=4.0", "ss_search40"),
        ("cubic+search:version=4.0,exit=plain", "none with options"),
        ("cubic+hystart++", "ss_hspp"),
    ] {
        let scenario = Scenario::new(path.clone(), vec![flow(name, 1000)]);
        match stack::supports(&scenario, &own) {
            Ok(()) => assert!(loaded(kernel)),
            Err(error) => {
                assert!(!loaded(kernel));
                let sentence = error.to_string();
                assert!(sentence.contains("`slowstart kernel load"), "{sentence}");
                assert!(!sentence.contains('\n'), "{sentence}");
            }
        }
    }
    // A switch for the whole machine is not touched without permission, nor for some of the flows.
    if !loaded("ss_cubic_std") && loaded("cubic") {
        let sentence = refused(vec![flow("cubic+standard", 1000)], &own);
        assert!(sentence.contains("`ss_cubic_std`"), "{sentence}");
        let both = vec![flow("cubic+standard", 1000), flow("cubic", 1000)];
        let switched = StackOptions {
            guests: false,
            ..traced()
        };
        let sentence = refused(both, &switched);
        assert!(sentence.contains("in one run"), "{sentence}");
    }
}

#[test]
fn hystart_is_on_again_after_a_run_without() {
    let Some(_turn) = common::may_emulate() else {
        return;
    };
    const SWITCH: &str = "/sys/module/tcp_cubic/parameters/hystart";
    common::turns::with_turns("the exit with HyStart on again", |turn| {
        let output = run_in(
            turn,
            &Scenario::new(wired(50, 40, 165), vec![flow("cubic+standard", 3_000_000)]),
        );
        let exit = output.result.flows[0]
            .slow_start_exit
            .clone()
            .expect("an exit");
        assert_eq!(exit.reason, "loss", "{exit:?}");
        if output.congestion == ["cubic"] {
            // Another process may have taken its turn, but a run with HyStart waits for its end.
            let output = run_in(
                turn,
                &Scenario::new(wired(50, 40, 165), vec![flow("cubic", 3_000_000)]),
            );
            let exit = output.result.flows[0]
                .slow_start_exit
                .clone()
                .expect("an exit");
            assert_ne!(exit.reason, "loss", "{exit:?}");
            assert_eq!(fs::read_to_string(SWITCH).unwrap().trim(), "1");
        }
    });
}
