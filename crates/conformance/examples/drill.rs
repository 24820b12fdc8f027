#![allow(clippy::print_stdout)]
use conformance::packetdrill as p;
fn main() {
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).unwrap();
        let script = match p::parse(&file, &text) { Ok(s) => s, Err(e) => { println!("REFUSED {e}"); continue; } };
        let mut stack = match p::Simulated::new(&script, None) { Ok(s) => s, Err(e) => { println!("REFUSED {file} {e}"); continue; } };
        let tolerance = script.tolerance.unwrap_or(units::Duration::ZERO).max(units::Duration::from_millis(10)) + units::Duration::from_millis(4);
        match p::run(&script, &mut stack, tolerance) {
            Err(e) => println!("REFUSED {e}"),
            Ok(r) => match r.difference { None => println!("PASS {file}"), Some(d) => println!("DIFF {d}") },
        }
    }
}
