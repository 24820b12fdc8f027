//! Writes the substitute for recorded traces as a Tmix file in the original format:
//!
//! ```sh
//! cargo run --release -p slowstart-workload --example substitute -- SEED PER_SECOND SECONDS > FILE
//! ```
//!
//! The same arguments give the same bytes on every machine.

use std::error::Error;
use std::io::{BufWriter, stdout};

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use units::Instant;
use workload::generate::{Synthetic, SyntheticConfig};
use workload::tmix::{Format, Writer};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [seed, per_second, seconds] = &arguments[..] else {
        return Err("expected a seed, connections per second and seconds".into());
    };
    let config = SyntheticConfig::new(per_second.parse()?);
    let end = Instant::from_secs(seconds.parse()?);
    let connections = Synthetic::new(config, ChaCha8Rng::seed_from_u64(seed.parse()?));
    let mut writer = Writer::new(BufWriter::new(stdout().lock()), Format::Original);
    writer.comment(&format!(
        "synthetic connection vectors: seed {seed}, {per_second} per second for {seconds} s"
    ))?;
    for connection in connections.take_while(|connection| connection.start < end) {
        writer.connection(&connection)?;
    }
    writer.finish()?;
    Ok(())
}
