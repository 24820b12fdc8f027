//! Reads captures and prints how many packets and TCP segments they have.
//!
//! `cargo run --release -p slowstart-capture --example speed -- FILE...`, under `time`.

use std::io::Write;

fn main() {
    for file in std::env::args().skip(1) {
        let input = capture::open(file.as_ref()).expect("a capture");
        let mut decoder = capture::Decoder::default();
        let (mut segments, mut bytes) = (0_u64, 0_u64);
        let summary = capture::packets::read(input.reader, |frame| {
            if let Some(segment) = decoder.decode(frame) {
                segments += 1;
                bytes += u64::from(segment.payload);
            }
        })
        .expect("a capture");
        let text =
            format!("{file}: {summary:?}, {segments} segments, {bytes} bytes, {decoder:?}\n");
        std::io::stdout()
            .write_all(text.as_bytes())
            .expect("a terminal");
    }
}
