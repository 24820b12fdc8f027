//! The only program of the machine of `slowstart --stack linux-vm`. On other systems it does
//! nothing.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod init;

fn main() {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    init::run_and_end();
}
