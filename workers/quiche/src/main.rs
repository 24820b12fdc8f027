//! A worker that runs quiche, which reads the clock itself, under slowstart's simulated clock.

mod endpoint;
mod system;

use std::io::{stdin, stdout};
use std::os::unix::process::CommandExt;
use std::process::Command;

use endpoint::Connection;
use slowstart_stack::{Endpoint, Identity, Settings, Stack};
use units::Instant;

/// The controllers: a name of quiche, and whether its HyStart++ is on, as it is by default.
const CONTROLLERS: [(&str, &str, bool); 6] = [
    ("cubic+hystart++", "cubic", true),
    ("cubic", "cubic", false),
    ("reno+hystart++", "reno", true),
    ("reno", "reno", false),
    ("bbr2", "bbr2", false),
    ("bbr2_gcongestion", "bbr2_gcongestion", false),
];

struct Quiche;

impl Stack for Quiche {
    fn identity(&self) -> Identity {
        Identity {
            name: "quiche".to_owned(),
            version: "0.24.6".to_owned(),
            controllers: CONTROLLERS.map(|(name, ..)| name.to_owned()).to_vec(),
        }
    }

    fn open(&mut self, now: Instant, settings: &Settings) -> Result<Box<dyn Endpoint>, String> {
        let (_, name, hystart) = CONTROLLERS
            .into_iter()
            .find(|(name, ..)| *name == settings.controller)
            .ok_or_else(|| format!("quiche has no controller {}", settings.controller))?;
        system::set_time(now.as_nanos());
        system::seed(&settings.seed);
        let connection = Connection::open(settings, name, hystart)
            .map_err(|error| format!("quiche opens no connection: {error}"))?;
        Ok(Box::new(connection))
    }
}

/// BoringSSL reads this variable before `main`; the value hides RDRAND from it.
const CAPABILITIES: (&str, &str) = ("OPENSSL_ia32cap", "~0x4000000000000000");

fn main() -> std::io::Result<()> {
    let (name, value) = CAPABILITIES;
    if std::env::var_os(name).is_none() {
        return Err(Command::new(std::env::current_exe()?)
            .env(name, value)
            .exec());
    }
    slowstart_stack::serve(&mut Quiche, stdin().lock(), stdout().lock())
}
