//! The requirements of loading, and whether they are met: checked before anything is tried.

use std::fs;
use std::path::Path;

/// The oldest kernel: BPF can call CUBIC's functions since then.
const OLDEST: (u64, u64) = (5, 13);
/// The first kernel without `cubictcp_cwnd_event`.
const TOO_NEW: (u64, u64) = (7, 1);
/// The oldest kernel that unregisters a congestion control when the process that registered it
/// ends.
const LINKS: (u64, u64) = (6, 4);
/// The kernel's functions that the programs call.
const FUNCTIONS: [&str; 7] = [
    "cubictcp_init",
    "cubictcp_recalc_ssthresh",
    "cubictcp_cong_avoid",
    "cubictcp_state",
    "cubictcp_cwnd_event",
    "cubictcp_acked",
    "tcp_reno_undo_cwnd",
];
/// Bits of `CapEff`.
const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;

/// One requirement of loading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// Its name: `kernel`, `types`, `functions`, `compiler`, `capabilities`, `lockdown`, `libbpf`
    /// or `objects`.
    pub what: &'static str,
    /// What was found.
    pub found: String,
    /// One sentence on what is missing and how to get it; `None` if nothing is.
    pub missing: Option<String>,
}

/// The requirements of loading, in the order in which to meet them.
#[must_use]
pub fn needs() -> Vec<Need> {
    let mut needs = needs_of(Path::new("/"));
    needs.push(libbpf());
    needs.push(objects());
    needs
}

/// The sentences on what a [`Guest`](crate::Guest) or a [`Probe`](crate::Probe) lacks.
#[must_use]
pub fn missing_for_guests() -> Vec<String> {
    let mut missing: Vec<String> = needs()
        .into_iter()
        .filter_map(|need| need.missing)
        .collect();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if missing.is_empty() && version(&release) < LINKS {
        missing.push(format!(
            "the kernel is {}; congestion controls that end with their process need Linux {}.{}",
            release.trim(),
            LINKS.0,
            LINKS.1
        ));
    }
    missing
}

/// The requirements on the kernel, whose `/proc` and `/sys` are below `root`.
fn needs_of(root: &Path) -> Vec<Need> {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    vec![
        kernel(read("proc/sys/kernel/osrelease")),
        types(root),
        functions(root),
        compiler(read("proc/sys/net/core/bpf_jit_enable")),
        capabilities(read("proc/self/status"), read("proc/self/uid_map")),
        lockdown(read("sys/kernel/security/lockdown")),
    ]
}

fn need(what: &'static str, found: impl Into<String>, missing: Option<String>) -> Need {
    Need {
        what,
        found: found.into(),
        missing,
    }
}

fn kernel(release: Option<String>) -> Need {
    let what = "kernel";
    let Some(release) = release else {
        let sentence = "/proc/sys/kernel/osrelease cannot be read: this needs Linux with /proc";
        return need(what, "unknown", Some(sentence.to_owned()));
    };
    let release = release.trim();
    let version = version(release);
    let missing = if version < OLDEST {
        Some(format!(
            "the kernel is {release}; BPF can call its CUBIC since Linux {}.{}",
            OLDEST.0, OLDEST.1
        ))
    } else if version >= TOO_NEW {
        Some(format!(
            "the kernel is {release}; CUBIC has had other functions since Linux {}.{}, which \
             these programs do not support",
            TOO_NEW.0, TOO_NEW.1
        ))
    } else {
        None
    };
    need(what, release, missing)
}

fn version(release: &str) -> (u64, u64) {
    let mut numbers = release
        .split(|letter: char| !letter.is_ascii_digit())
        .map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

fn types(root: &Path) -> Need {
    let there = root.join("sys/kernel/btf/vmlinux").exists();
    let sentence = "/sys/kernel/btf/vmlinux is missing: the kernel must be built with \
         CONFIG_DEBUG_INFO_BTF=y (distribution kernels are)";
    let found = if there {
        "/sys/kernel/btf/vmlinux"
    } else {
        "none"
    };
    need("types", found, (!there).then(|| sentence.to_owned()))
}

fn functions(root: &Path) -> Need {
    let folder = root.join("sys/kernel/btf");
    let mut missing = FUNCTIONS.to_vec();
    for file in ["vmlinux", "tcp_cubic"] {
        let types = fs::read(folder.join(file)).unwrap_or_default();
        strike(&mut missing, &types);
    }
    let found = format!("{} of {}", FUNCTIONS.len() - missing.len(), FUNCTIONS.len());
    let sentence = (!missing.is_empty()).then(|| {
        format!(
            "the kernel does not offer {}: it needs CUBIC (CONFIG_TCP_CONG_CUBIC; `modprobe \
             tcp_cubic` where it is a module)",
            missing.join(", ")
        )
    });
    need("functions", found, sentence)
}

/// Removes from `names` the strings of `table`, each of which ends with a zero.
fn strike(names: &mut Vec<&str>, table: &[u8]) {
    for string in table.split(|byte| *byte == 0) {
        names.retain(|name| name.as_bytes() != string);
    }
}

fn compiler(setting: Option<String>) -> Need {
    let off = setting.as_deref().map(str::trim) == Some("0");
    let sentence = "the kernel's BPF compiler is off: sysctl net.core.bpf_jit_enable=1";
    let found = if off { "off" } else { "on" };
    need("compiler", found, off.then(|| sentence.to_owned()))
}

fn capabilities(status: Option<String>, uid_map: Option<String>) -> Need {
    let what = "capabilities";
    let status = status.unwrap_or_default();
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or(0);
    let has = |capability| effective & capability != 0;
    let names = [
        ("CAP_SYS_ADMIN", CAP_SYS_ADMIN),
        ("CAP_BPF", CAP_BPF),
        ("CAP_PERFMON", CAP_PERFMON),
    ];
    let held: Vec<&str> = names
        .into_iter()
        .filter_map(|(name, capability)| has(capability).then_some(name))
        .collect();
    let found = if held.is_empty() {
        "none of these".to_owned()
    } else {
        held.join(", ")
    };
    let words = uid_map.unwrap_or_default();
    let outermost = words.split_whitespace().eq(["0", "0", "4294967295"]) || words.is_empty();
    let enough = has(CAP_SYS_ADMIN) || has(CAP_BPF) && has(CAP_PERFMON);
    let missing = if !enough {
        Some(
            "the capabilities CAP_BPF and CAP_PERFMON are missing: run it as root, once; using a \
             loaded congestion control needs no privileges",
        )
    } else if !outermost {
        Some(
            "this is a user namespace, whose root has no privileges in the kernel: run it \
             outside, as root",
        )
    } else {
        None
    };
    need(what, found, missing.map(str::to_owned))
}

fn lockdown(state: Option<String>) -> Need {
    let state = state.unwrap_or_else(|| "none".to_owned());
    let strict = state.contains("[confidentiality]");
    let sentence = "kernel lockdown is set to confidentiality, which forbids BPF programs to read \
         kernel memory: boot with lockdown=integrity or none";
    need(
        "lockdown",
        state.trim(),
        strict.then(|| sentence.to_owned()),
    )
}

fn libbpf() -> Need {
    if cfg!(feature = "bpf") {
        return need("libbpf", "built in", None);
    }
    let sentence = "this program was built without libbpf: apt install clang llvm libbpf-dev \
         bpftool libelf-dev zlib1g-dev pkg-config, then build it again (make)";
    need("libbpf", "none", Some(sentence.to_owned()))
}

fn objects() -> Need {
    let built = crate::loader::OBJECTS.len();
    // One more for the probe.
    let all = crate::CONTROLS.len() + 1;
    let sentence = "the BPF programs were not built: run make -C bpf (needs clang, llvm, \
         libbpf-dev, bpftool), then build this program again";
    need(
        "objects",
        format!("{built} of {all}"),
        (built < all).then(|| sentence.to_owned()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn versions() {
        let missing = |release| kernel(words(release)).missing;
        assert_eq!(missing("6.18.44-fc\n"), None);
        assert_eq!(missing("5.13.0"), None);
        assert_eq!(missing("7.0-rc1"), None);
        let old = missing("5.4.0-42-generic").expect("too old");
        assert_eq!(
            old,
            "the kernel is 5.4.0-42-generic; BPF can call its CUBIC since Linux 5.13"
        );
        assert!(missing("7.1.2").is_some());
        assert!(missing("strange").is_some());
        assert!(kernel(None).missing.is_some());
    }

    #[test]
    fn rights() {
        let check = |set: &str, map| {
            capabilities(words(&format!("Name:\tx\nCapEff:\t{set}\n")), words(map))
        };
        let all = "         0          0 4294967295\n";
        assert_eq!(check("000001ffffffffff", all).missing, None);
        assert_eq!(check("000000c000000000", all).missing, None);
        assert_eq!(check("0000000000200000", all).found, "CAP_SYS_ADMIN");
        assert!(
            check("0000008000000000", all)
                .missing
                .expect("half")
                .contains("CAP_PERFMON")
        );
        assert!(check("0000000000000000", all).missing.is_some());
        let inside = check("000001ffffffffff", "0 1000 1\n")
            .missing
            .expect("inside");
        assert!(inside.contains("user namespace"));
        assert!(capabilities(None, None).missing.is_some());
    }

    #[test]
    fn strings_are_found_whole() {
        let table = b"\0cubictcp_init\0my_cubictcp_state\0cubictcp_acked2\0";
        let mut names = vec!["cubictcp_init", "cubictcp_state", "cubictcp_acked"];
        strike(&mut names, table);
        assert_eq!(names, ["cubictcp_state", "cubictcp_acked"]);
    }

    #[test]
    fn other_settings() {
        assert!(compiler(words("0\n")).missing.is_some());
        assert_eq!(compiler(words("1\n")).missing, None);
        assert_eq!(compiler(None).missing, None);
        assert!(
            lockdown(words("none integrity [confidentiality]"))
                .missing
                .is_some()
        );
        assert_eq!(
            lockdown(words("none [integrity] confidentiality")).missing,
            None
        );
        let nothing = needs_of(Path::new("/nonexistent"));
        let missing: Vec<&str> = nothing
            .iter()
            .filter(|need| need.missing.is_some())
            .map(|need| need.what)
            .collect();
        assert_eq!(missing, ["kernel", "types", "functions", "capabilities"]);
    }
}
