//! Compiles the simulated clock and the seeded randomness, and puts them in the place of the
//! system's.

fn main() {
    let include = "../../python/slowstart/include";
    println!("cargo:rerun-if-changed=src/world.c");
    println!("cargo:rerun-if-changed={include}/slowstart_clock.h");
    cc::Build::new()
        .file("src/world.c")
        .include(include)
        .compile("world");
    for replaced in ["syscall", "CRYPTO_rdrand", "CRYPTO_rdrand_multiple8_buf"] {
        println!("cargo:rustc-link-arg-bins=-Wl,--wrap={replaced}");
    }
}
