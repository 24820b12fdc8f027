//! Settings of the host that a script's commands make: `sysctl`, writes to `/proc/sys`, `tc`. The
//! commands are never executed; the settings in them are recognized.

/// The settings. The defaults are those that packetdrill's test suites make before each script
/// (`defaults.sh`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Every sysctl of the network, by its name with dots (`net.ipv4.tcp_sack`), in order.
    pub sysctls: Vec<(String, String)>,
    /// The device has the queue discipline `fq`, which paces.
    pub fq: bool,
    /// The device segments bursts (TSO).
    pub tso: bool,
}

/// What `defaults.sh` sets, as far as a sender or receiver here depends on it.
const DEFAULTS: &[(&str, &str)] = &[
    ("net.ipv4.tcp_rmem", "4096 540000 15728640"),
    ("net.ipv4.tcp_wmem", "4096 262144 4194304"),
    ("net.ipv4.tcp_timestamps", "1"),
    ("net.ipv4.tcp_sack", "1"),
    ("net.ipv4.tcp_dsack", "1"),
    ("net.ipv4.tcp_frto", "2"),
    ("net.ipv4.tcp_reordering", "3"),
    ("net.ipv4.tcp_congestion_control", "cubic"),
    ("net.ipv4.tcp_slow_start_after_idle", "0"),
    ("net.ipv4.tcp_early_retrans", "4"),
    ("net.ipv4.tcp_recovery", "1"),
    ("net.ipv4.tcp_tso_win_divisor", "3"),
    ("net.ipv4.tcp_ecn", "0"),
    ("net.ipv4.tcp_pacing_ss_ratio", "200"),
    ("net.ipv4.tcp_pacing_ca_ratio", "120"),
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.tcp_syncookies", "1"),
    ("net.ipv4.tcp_syn_retries", "5"),
    ("net.ipv4.tcp_synack_retries", "5"),
];

impl Default for Settings {
    fn default() -> Self {
        let pair = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        Self {
            sysctls: DEFAULTS.iter().map(pair).collect(),
            fq: false,
            tso: true,
        }
    }
}

impl Settings {
    /// The value of `net.ipv4.NAME`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.sysctls
            .iter()
            .find(|(known, _)| known.strip_prefix("net.ipv4.") == Some(name))
            .map(|(_, value)| value.as_str())
    }

    /// The same as a whole number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name)?.parse().ok()
    }

    /// Number `index` of a value of several.
    #[must_use]
    pub fn part(&self, name: &str, index: usize) -> Option<u64> {
        self.get(name)?
            .split_ascii_whitespace()
            .nth(index)?
            .parse()
            .ok()
    }

    /// Sets `name`, dotted or with slashes.
    pub fn set(&mut self, name: &str, value: &str) {
        let name = name.replace('/', ".");
        match self.sysctls.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => value.clone_into(known),
            None => self.sysctls.push((name, value.to_owned())),
        }
    }

    /// Takes the settings of the shell commands in `text`. Returns notes of what has no effect.
    ///
    /// # Errors
    /// A command that is not recognized, in a sentence.
    pub(crate) fn take_commands(
        &mut self,
        text: &str,
        read: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<String>, String> {
        let mut notes = Vec::new();
        for line in text.replace("\\\n", " ").lines() {
            for command in line.split(" && ").flat_map(|part| part.split(';')) {
                let words = words(command)?;
                if let Some((first, rest)) = words.split_first() {
                    self.take_command(first, rest, read, &mut notes)
                        .map_err(|reason| format!("`{}`: {reason}", command.trim()))?;
                }
            }
        }
        Ok(notes)
    }

    fn take_command(
        &mut self,
        name: &str,
        words: &[String],
        read: &dyn Fn(&str) -> Option<String>,
        notes: &mut Vec<String>,
    ) -> Result<(), String> {
        let base = name.rsplit('/').next().unwrap_or(name);
        let words: Vec<&str> = words
            .iter()
            .map(String::as_str)
            // Neither a comment nor the redirection of the command's output.
            .take_while(|word| {
                let redirects = [">", "2>", "&>"].iter().any(|mark| word.starts_with(mark));
                !word.starts_with('#') && (name == "echo" || !redirects)
            })
            .collect();
        match base {
            "sysctl" => {
                for pair in words.iter().filter(|word| !word.starts_with('-')) {
                    let (name, value) = pair.split_once('=').ok_or("expected NAME=VALUE")?;
                    self.set(name, value);
                }
            }
            "set_sysctls.py" => {
                for pair in &words {
                    let (path, value) = pair.split_once('=').ok_or("expected PATH=VALUE")?;
                    self.set_path(path, value)?;
                }
            }
            "echo" => match words.as_slice() {
                [value, ">", path] => self.set_path(path, value)?,
                _ => return Err("only `echo VALUE > PATH` is in scope".into()),
            },
            "tc" => match words.as_slice() {
                ["qdisc", "add" | "replace", "dev", _, "root", kind] => self.fq = *kind == "fq",
                ["qdisc", "del", ..] => self.fq = false,
                _ => return Err("not in scope: this queue discipline".into()),
            },
            "ethtool" => {
                let off = |what: &str| words.windows(2).any(|pair| pair == [what, "off"]);
                self.tso &= !off("tso") && !off("gso");
            }
            // They restore, clear or count what begins anew with each run here.
            "ip" if words.first() == Some(&"tcp_metrics") => {}
            _ if base.starts_with("sysctl_restore") => {}
            "nstat" => notes.push("the counters of nstat are not compared".into()),
            "defaults.sh" => {
                if let Some(text) = read(name) {
                    notes.extend(self.take_commands(&text, &|_| None)?);
                }
            }
            _ => return Err(format!("not in scope: the command {base}")),
        }
        Ok(())
    }

    fn set_path(&mut self, path: &str, value: &str) -> Result<(), String> {
        if let Some(name) = path.strip_prefix("/proc/sys/") {
            self.set(name, value);
        } else if path == "/sys/module/tcp_cubic/parameters/hystart_detect" {
            if value != "3" {
                return Err("not in scope: HyStart with one of its two rules".into());
            }
        } else {
            return Err(format!("not in scope: {path}"));
        }
        Ok(())
    }
}

/// The words of a command without quotes, with `$((...))` computed.
fn words(command: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
    let mut rest = command.chars();
    while let Some(letter) = rest.next() {
        if letter == '$' && rest.as_str().starts_with("((") {
            let inner = &rest.as_str()[2..];
            let end = inner.find("))").ok_or("`$((` does not end")?;
            word.push_str(&product(&inner[..end])?.to_string());
            rest = inner[end + 2..].chars();
            begun = true;
            continue;
        }
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => word.push(letter),
            None if letter == '"' || letter == '\'' => {
                quote = Some(letter);
                begun = true;
            }
            None if letter.is_whitespace() => {
                if begun || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            None if letter == '#' && word.is_empty() => break,
            None => word.push(letter),
        }
    }
    if quote.is_some() {
        return Err("a quotation does not end".into());
    }
    if begun || !word.is_empty() {
        words.push(word);
    }
    Ok(words)
}

/// The product of whole numbers.
fn product(text: &str) -> Result<u64, String> {
    text.split('*')
        .map(|factor| factor.trim().parse().ok())
        .try_fold(1_u64, |product, factor: Option<u64>| {
            product.checked_mul(factor?)
        })
        .ok_or_else(|| format!("`$(({text}))` is not a product of whole numbers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_set_what_they_name() {
        let mut settings = Settings::default();
        let text = "./defaults.sh\nsysctl -q net.ipv4.tcp_rmem=\"4096 131072 $((32*1024*1024))\"\n\
            ../set_sysctls.py /proc/sys/net/ipv4/tcp_timestamps=0 \\\n  /proc/sys/net/ipv4/tcp_ecn=2\n\
            tc qdisc replace dev tun0 root fq # paced\nethtool -K tun0 tso off gso off\n\
            echo 0 > /proc/sys/net/ipv4/tcp_sack";
        let notes = settings.take_commands(text, &|_| None);
        assert_eq!(notes, Ok(Vec::new()));
        assert_eq!(settings.part("tcp_rmem", 2), Some(32 << 20));
        assert_eq!(settings.number("tcp_timestamps"), Some(0));
        assert_eq!(settings.number("tcp_ecn"), Some(2));
        assert_eq!(settings.number("tcp_sack"), Some(0));
        assert!(settings.fq && !settings.tso);
    }

    #[test]
    fn other_commands_are_refused() {
        for command in [
            "rm -rf /",
            "tc qdisc replace dev tun0 root pfifo limit 0",
            "echo 1 > /etc/passwd",
            "sysctl \"net",
            "sysctl -q a=$((1+1))",
        ] {
            let refused = Settings::default().take_commands(command, &|_| None);
            assert!(refused.is_err(), "{command}");
        }
    }
}
