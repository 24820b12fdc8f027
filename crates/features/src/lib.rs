//! No code: `Cargo.toml` names the features with which shared dependencies are compiled, so that
//! builds of different packages share them.
