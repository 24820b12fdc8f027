//! Makes the server's certificate, and lets shared libraries find the functions of `system.rs`.

#![allow(
    clippy::disallowed_methods,
    reason = "a build script learns its folders this way"
)]

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg=-rdynamic");
    if let Ok(folder) = std::env::var("QUICHE_BSSL_PATH") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
    let folder = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let status = Command::new("openssl")
        .args(["req", "-new", "-x509", "-batch", "-nodes", "-days", "10000"])
        .args(["-newkey", "rsa:2048", "-subj", "/CN=slowstart"])
        .args(["-keyout", "key.pem", "-out", "certificate.pem"])
        .current_dir(folder)
        .status()
        .expect("openssl makes the certificate");
    assert!(status.success(), "openssl made no certificate");
}
