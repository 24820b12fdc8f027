//! quiche as a worker of slowstart: `--stack "worker: .../slowstart-quiche"`.

mod configuration;
mod endpoint;

use slowstart_stack::{Endpoint, Identity, Settings, Stack};
use units::Instant;

/// The version in `Cargo.toml`.
const QUICHE: &str = "0.30.0";

struct Quiche;

impl Stack for Quiche {
    fn identity(&self) -> Identity {
        Identity {
            name: "quiche".to_owned(),
            version: QUICHE.to_owned(),
            controllers: configuration::CONTROLLERS.map(str::to_owned).to_vec(),
        }
    }

    fn open(&mut self, now: Instant, settings: &Settings) -> Result<Box<dyn Endpoint>, String> {
        match endpoint::Quiche::open(now, settings) {
            Ok(opened) => Ok(Box::new(opened)),
            Err(error) => Err(format!("quiche cannot open an endpoint: {error}")),
        }
    }
}

fn main() -> std::io::Result<()> {
    slowstart_stack::serve(
        &mut Quiche,
        std::io::stdin().lock(),
        std::io::stdout().lock(),
    )
}
