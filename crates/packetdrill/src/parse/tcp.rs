//! Reads a packet: `[ect0] SEW 0:0(0) ack 1 win 32792 <mss 1000,sackOK,wscale 7>`.

use crate::{Ecn, Flags, Options, Packet, Timestamps};

/// Sequence numbers beyond this do not fit into one connection here.
const LARGEST: u64 = 1 << 31;
/// Bytes of options that a header holds.
const OPTIONS_SIZE: usize = 40;

/// Reads the packet after `<` (`is_inbound`) or `>`.
pub(super) fn packet(text: &str, is_inbound: bool) -> Result<Packet, String> {
    let (head, options) = match text.find('<') {
        Some(at) => (&text[..at], Some(&text[at..])),
        None => (text, None),
    };
    let mut words = head.split_ascii_whitespace().peekable();
    let mut packet = Packet::default();
    if let Some(field) = words.next_if(|word| word.starts_with('[')) {
        packet.ecn = Some(ecn(field)?);
    }
    let word = words.next().ok_or("expected a packet")?;
    if ["icmp", "udp", "sctp", "ipv4", "ipv6", "gre", "mpls"].contains(&word) || word == "(" {
        return Err(format!("not in scope: {word} packets"));
    }
    packet.flags = flags(word)?;
    let range = words.next().ok_or("expected START:END(LENGTH)")?;
    (packet.seq, packet.len) = range_of(range)?;
    while let Some(word) = words.next() {
        let value = words
            .next()
            .and_then(|value| value.parse::<u64>().ok())
            .filter(|value| *value < LARGEST);
        let value = value.ok_or_else(|| format!("`{word}` needs a whole number below 2^31"))?;
        match word {
            "ack" => packet.ack = value,
            "win" => {
                let field = u16::try_from(value).map_err(|_| "`win` has 16 bits")?;
                packet.window = Some(u32::from(field));
            }
            "urg" => return Err("not in scope: urgent data".into()),
            _ => {
                return Err(format!(
                    "`{word}` is not understood; expected `ack`, `win` or `<`"
                ));
            }
        }
    }
    packet.options = match options.map(str::trim) {
        Some("<...>") if is_inbound => {
            return Err("the options of an injected packet must be known".into());
        }
        Some("<...>") => None,
        Some(text) => Some(options_of(text)?),
        None => Some(Options::default()),
    };
    if is_inbound && packet.window.is_none() && !packet.flags.rst {
        return Err("an injected packet needs `win`".into());
    }
    if is_inbound && packet.len > 65_000 {
        return Err("an injected packet has at most 65000 bytes".into());
    }
    Ok(packet)
}

fn ecn(field: &str) -> Result<Ecn, String> {
    match field {
        "[noecn]" => Ok(Ecn::NotEct),
        "[ect0]" => Ok(Ecn::Ect0),
        "[ect1]" => Ok(Ecn::Ect1),
        "[ce]" => Ok(Ecn::Ce),
        _ => Err(format!("not in scope: {field}")),
    }
}

fn flags(word: &str) -> Result<Flags, String> {
    let mut flags = Flags::default();
    for letter in word.chars() {
        let flag = match letter {
            'F' => &mut flags.fin,
            'S' => &mut flags.syn,
            'R' => &mut flags.rst,
            'P' => &mut flags.psh,
            '.' => &mut flags.ack,
            'E' => &mut flags.ece,
            'W' => &mut flags.cwr,
            'A' => return Err("not in scope: AccECN".into()),
            'U' => return Err("not in scope: urgent data".into()),
            _ => return Err(format!("`{word}` are no TCP flags")),
        };
        *flag = true;
    }
    Ok(flags)
}

/// `START:END(LENGTH)`.
fn range_of(text: &str) -> Result<(u64, u32), String> {
    let read = || {
        let (start, rest) = text.split_once(':')?;
        let (end, len) = rest.strip_suffix(')')?.split_once('(')?;
        let start: u64 = start.parse().ok().filter(|start| *start < LARGEST)?;
        let (end, len): (u64, u32) = (end.parse().ok()?, len.parse().ok()?);
        (start.checked_add(u64::from(len))? == end && end < LARGEST).then_some((start, len))
    };
    read().ok_or_else(|| format!("`{text}` is not START:END(LENGTH)"))
}

fn options_of(text: &str) -> Result<Options, String> {
    let inner = text
        .strip_prefix('<')
        .and_then(|text| text.strip_suffix('>'))
        .ok_or_else(|| format!("`{text}` is not <OPTIONS>"))?;
    let mut options = Options::default();
    let mut size = 0;
    for option in inner.split(',') {
        let mut words = option.split_ascii_whitespace();
        let name = words.next().unwrap_or("");
        let wrong = || format!("the option `{}` is not understood", option.trim());
        let words: Vec<&str> = words.collect();
        match (name, words.as_slice()) {
            ("nop" | "eol", []) => {}
            ("sackOK", []) => {
                options.sack_permitted = true;
                size += 2;
            }
            ("mss", [value]) => {
                options.mss = Some(value.parse().map_err(|_| wrong())?);
                size += 4;
            }
            ("wscale", [value]) => {
                let shift = value.parse().ok().filter(|shift| *shift <= 14);
                options.window_scale = Some(shift.ok_or_else(wrong)?);
                size += 3;
            }
            ("sack", blocks) if !blocks.is_empty() => {
                for block in blocks {
                    let ends = block.split_once(':').ok_or_else(wrong)?;
                    let number = |text: &str| text.parse().ok().filter(|it| *it < LARGEST);
                    let start = number(ends.0).ok_or_else(wrong)?;
                    let end = number(ends.1)
                        .filter(|end| *end > start)
                        .ok_or_else(wrong)?;
                    options.sack.push((start, end));
                }
                size += 2 + 8 * blocks.len();
            }
            ("TS", ["val", val, "ecr", ecr]) => {
                options.timestamps = Some(Timestamps {
                    val: val.parse().map_err(|_| wrong())?,
                    ecr: ecr.parse().map_err(|_| wrong())?,
                });
                size += 10;
            }
            ("FO" | "FOEXP", _) => return Err("not in scope: TCP Fast Open".into()),
            ("md5" | "md5OK", _) => return Err("not in scope: TCP MD5 signatures".into()),
            ("ECN" | "EXP-ECN", _) => return Err("not in scope: AccECN".into()),
            _ => return Err(wrong()),
        }
    }
    if size > OPTIONS_SIZE {
        return Err(format!("the options take {size} bytes of {OPTIONS_SIZE}"));
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_reads_as_it_prints() {
        for text in [
            "S 0:0(0) win 32792 <mss 1000,sackOK,wscale 7>",
            "S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,TS val 100 ecr 700,wscale 8>",
            "[ce] P. 1:1001(1000) ack 1 win 257",
            "E. 1:1(0) ack 1 win 257 <sack 1001:2001 3001:4001>",
            "FW. 5:5(0) ack 1 win 0",
        ] {
            let packet = packet(text, true).expect("a packet");
            let printed = packet.to_string();
            assert_eq!(
                self::packet(&printed, true).as_ref(),
                Ok(&packet),
                "{printed}"
            );
        }
    }

    #[test]
    fn what_is_not_in_scope_is_refused() {
        for text in [
            "S 0:0(0) win 100 <FO abcd>",
            "SA 0:0(0) win 100",
            "U. 1:2(1) ack 1 win 5",
            "icmp unreachable",
            ". 1:3(1) ack 1 win 5",
            ". 1:1(0) ack 1 win 70000",
            ". 1:1(0) ack 1",
            ". 1:1(0) ack 1 win 5 <...>",
            ". 1:1(0) ack 1 win 5 <sack 2:1>",
            ". 1:1(0) ack 99999999999 win 5",
            ".",
            "",
        ] {
            assert!(packet(text, true).is_err(), "{text}");
        }
        assert!(packet("> . 1:1(0) ack 1 <...>", false).is_err());
        assert_eq!(
            packet(". 1:1(0) ack 1 <...>", false).map(|it| it.options),
            Ok(None)
        );
    }
}
