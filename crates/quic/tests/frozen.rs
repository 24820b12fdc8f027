//! Fingerprints of runs: of every packet that leaves a host, and of the result.
//!
//! They hold for every process and profile. A change of one needs a reason.

use std::sync::atomic::AtomicBool;

use quic_stacks::{STACKS, Stack, run_observed};
use scenario::Scenario;
use simulator::RunOptions;

/// FNV-1a.
struct Fnv(u64);

impl Fnv {
    fn put(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// The fingerprints of the packets and of the result.
fn fingerprints(text: &str, stack: &Stack, own: Option<&str>) -> [u64; 2] {
    let scenario = Scenario::parse(text, "frozen.toml", ".".as_ref()).expect("a valid scenario");
    let [mut packets, mut result] = [0; 2].map(|_: u8| Fnv(0xcbf2_9ce4_8422_2325));
    let (options, cancel) = (RunOptions::default(), AtomicBool::new(false));
    let mut observe = |passing: quic_stacks::Passing<'_>| {
        if passing.arrives {
            return;
        }
        packets.put(&passing.now.as_nanos().to_le_bytes());
        packets.put(&passing.flow.to_le_bytes());
        packets.put(&[u8::from(passing.is_forward)]);
        packets.put(&passing.size().to_le_bytes());
    };
    let output = run_observed(&scenario, 1, stack, own, &options, &cancel, &mut observe);
    let output = output.expect("nothing cancels it");
    result.put(&serde_json::to_vec(&output.result).expect("a result is JSON"));
    [packets.0, result.0]
}

/// A name, the scenario, and a controller of the stack's own.
const RUNS: [(&str, &str, Option<&str>); 8] = [
    (
        "random loss",
        "[path]\npreset = 'wired'\nloss = '0.5 %'\n\
         [[flow]]\nalgorithm = 'cubic+search'\nsize = '3 MB'\nstart = '70 ms'\n",
        None,
    ),
    (
        "a deep buffer and one of the stack's own",
        "[path]\nrate = '50 Mbit/s'\nrtt = '100 ms'\nbuffer = '900 packets'\n\
         [[flow]]\nalgorithm = 'cubic'\nsize = '8 MB'\n",
        Some("own"),
    ),
    (
        "marks",
        "[path]\nrate = '20 Mbit/s'\nrtt = '40 ms'\nbuffer = '300 packets'\naqm = 'codel'\n\
         [[flow]]\nalgorithm = 'cubic+hystart++'\nsize = '3 MB'\necn = true\n",
        None,
    ),
    (
        "fair queueing and jitter",
        "[path]\nrate = '20 Mbit/s'\nrtt = '40 ms'\nbuffer = '300 packets'\naqm = 'fq-codel'\n\
         jitter = '2 ms'\n[[flow]]\nalgorithm = 'reno+standard'\nsize = '3 MB'\n",
        None,
    ),
    (
        "an application that writes",
        "[path]\npreset = 'wired'\n[[flow]]\nalgorithm = 'cubic+search'\nsize = '1 MB'\n\
         application = { write = '50 kB', every = '30 ms' }\n",
        None,
    ),
    (
        "a flow that stops",
        "duration = '4 s'\n[path]\npreset = 'wired'\n\
         [[flow]]\nalgorithm = 'cubic'\nduration = '2 s'\n",
        None,
    ),
    (
        "a run that stops",
        "duration = '2 s'\n[path]\npreset = 'wired'\n\
         [[flow]]\nalgorithm = 'cubic'\nduration = '2 s'\n",
        None,
    ),
    (
        "an access network",
        "[path]\npreset = 'lte'\n[[flow]]\nalgorithm = 'cubic+hystart'\nsize = '2 MB'\n",
        None,
    ),
];

/// What [`fingerprints`] gives, for each run with quinn, then with noq.
const EXPECTED: [[[u64; 2]; 2]; 8] = [
    [
        [0x8e39_af97_b877_c3d5, 0x3882_8f19_7756_c34d],
        [0xf54f_a6d4_d6bb_4477, 0xd581_ce5a_6375_e5e0],
    ],
    [
        [0x4243_f416_3a22_522e, 0xbbc2_c3b6_a080_5bf6],
        [0x7015_26c3_f301_7854, 0xd6af_6c17_0f35_9227],
    ],
    [
        [0x4230_766e_40c1_6ab1, 0xf5f6_2cf5_60f0_b9f1],
        [0xc186_9ed6_2595_cafc, 0x4ab9_81a3_e008_4545],
    ],
    [
        [0x7a01_c4f3_0c5a_6ef8, 0x0935_f380_5fa4_3c8a],
        [0x68a5_dc0f_0906_24f8, 0x84c6_6d66_aa9d_e3ca],
    ],
    [
        [0x4019_79c4_1409_ce98, 0x57c9_de2e_34f1_1348],
        [0x2add_ea4e_6d60_08cd, 0x36bd_6fea_68b5_077e],
    ],
    [
        // The same as below: a flow that stops sends nothing more.
        [0x56fb_eea3_997e_8196, 0x4a25_0b2b_5fbe_2b88],
        [0x16f8_0b1e_7487_3085, 0x2e34_d002_4ab8_6d02],
    ],
    [
        [0x56fb_eea3_997e_8196, 0x4a25_0b2b_5fbe_2b88],
        [0x16f8_0b1e_7487_3085, 0x2e34_d002_4ab8_6d02],
    ],
    [
        [0xb0f8_61c0_7648_919f, 0x1ef3_6b21_919e_87d1],
        [0xa29d_fecb_d95d_bf38, 0xf428_36ea_af13_1318],
    ],
];

#[test]
fn every_packet_and_every_result_is_the_same() {
    let mut failed = false;
    for ((name, text, own), expected) in RUNS.iter().zip(EXPECTED) {
        for (stack, expected) in STACKS.iter().zip(expected) {
            let found = fingerprints(text, stack, *own);
            println!("{} {name}: {found:#018x?}", stack.name);
            failed |= found != expected;
        }
    }
    assert!(!failed);
}
