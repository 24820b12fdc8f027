//! Reads a system call: `write(4, ..., 1000) = 1000`.

use crate::script::{Call, Outcome, SocketOption};

/// A call never writes or reads more.
const MOST_BYTES: u64 = 1 << 30;

/// Reads a call and what it returns.
pub(super) fn call(text: &str) -> Result<(Call, Outcome), String> {
    let open = text
        .find('(')
        .ok_or("expected `<`, `>`, `%{` or a system call")?;
    let name = text[..open].trim();
    let close = matching(text, open).ok_or_else(|| format!("`{name}(` does not end"))?;
    let arguments = arguments(&text[open + 1..close]);
    let outcome = outcome(text[close + 1..].trim())?;
    let call = of(name, &arguments)?;
    Ok((call, outcome))
}

fn matching(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, letter) in text[open..].char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(open + at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The arguments, split at commas outside of brackets.
fn arguments(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_i32);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

fn outcome(text: &str) -> Result<Outcome, String> {
    let value = text
        .strip_prefix('=')
        .ok_or("expected `= VALUE` after the system call")?
        .trim();
    let mut words = value.split_ascii_whitespace();
    match (words.next(), words.next()) {
        (Some("..."), None) => Ok(Outcome::Any),
        (Some("-1"), Some(error)) if error.starts_with('E') => Ok(Outcome::Error(error.into())),
        // `fcntl(3, F_GETFL) = 0x2 (flags O_RDWR)`: the flags of a descriptor change no packet.
        (Some(flags), Some("(flags")) if flags.starts_with("0x") => Ok(Outcome::Any),
        (Some(value), None) => value
            .parse()
            .map(Outcome::Value)
            .map_err(|_| format!("`{value}` is not a whole number")),
        _ => Err(format!("`= {value}` is not understood")),
    }
}

fn of(name: &str, arguments: &[&str]) -> Result<Call, String> {
    let number = |index: usize| -> Result<i64, String> {
        arguments
            .get(index)
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| format!("{name}: argument {} must be a whole number", index + 1))
    };
    let bytes = |index: usize| -> Result<u64, String> {
        u64::try_from(number(index)?)
            .ok()
            .filter(|bytes| *bytes <= MOST_BYTES)
            .ok_or_else(|| format!("{name}: expected at most {MOST_BYTES} bytes"))
    };
    let argument = |index: usize| arguments.get(index).copied().unwrap_or("");
    match name {
        "socket" => {
            if argument(1).contains("SOCK_STREAM") {
                Ok(Call::Socket)
            } else {
                Err("not in scope: sockets other than SOCK_STREAM".into())
            }
        }
        "bind" => Ok(Call::Bind { fd: number(0)? }),
        "listen" => Ok(Call::Listen { fd: number(0)? }),
        "accept" => Ok(Call::Accept { fd: number(0)? }),
        "connect" => Ok(Call::Connect { fd: number(0)? }),
        "fcntl" => Ok(Call::Fcntl { fd: number(0)? }),
        "close" => Ok(Call::Close { fd: number(0)? }),
        "shutdown" if argument(1) == "SHUT_WR" => Ok(Call::Shutdown { fd: number(0)? }),
        "shutdown" => Err(format!("not in scope: shutdown with {}", argument(1))),
        "write" | "send" | "sendto" => {
            let flags = argument(3);
            if !["", "0", "MSG_NOSIGNAL", "MSG_DONTWAIT"].contains(&flags) {
                return Err(if flags.contains("MSG_FASTOPEN") {
                    "not in scope: TCP Fast Open".into()
                } else {
                    format!("not in scope: {name} with {flags}")
                });
            }
            if argument(1) == "NULL" {
                return Err(format!("not in scope: {name} without a buffer"));
            }
            let (fd, len) = (number(0)?, bytes(2)?);
            Ok(Call::Write { fd, len })
        }
        "read" | "recv" | "recvfrom" => {
            let flags = argument(3);
            if !["", "0", "MSG_DONTWAIT"].contains(&flags) {
                return Err(format!("not in scope: {name} with {flags}"));
            }
            let (fd, len) = (number(0)?, bytes(2)?);
            Ok(Call::Read { fd, len })
        }
        "setsockopt" => {
            let option = option(argument(2), argument(3))?;
            Ok(Call::SetOption {
                fd: number(0)?,
                option,
            })
        }
        _ => Err(format!("not in scope: the system call {name}")),
    }
}

fn option(name: &str, value: &str) -> Result<SocketOption, String> {
    let inner = value
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(value);
    let number = || -> Result<u32, String> {
        inner
            .parse()
            .map_err(|_| format!("{name}: `{value}` is not a whole number"))
    };
    match name {
        "SO_REUSEADDR" => Ok(SocketOption::Indifferent),
        "SO_SNDBUF" => Ok(SocketOption::SendBuffer(number()?)),
        "SO_RCVBUF" => Ok(SocketOption::ReceiveBuffer(number()?)),
        "TCP_NODELAY" => Ok(SocketOption::NoDelay(number()? != 0)),
        "TCP_CONGESTION" => Ok(SocketOption::Congestion(inner.trim_matches('"').to_owned())),
        _ => Err(format!("not in scope: the socket option {name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_arguments_and_an_outcome() {
        assert_eq!(
            call("write(4, ..., 1000) = 1000"),
            Ok((Call::Write { fd: 4, len: 1000 }, Outcome::Value(1000)))
        );
        assert_eq!(
            call("connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)"),
            Ok((
                Call::Connect { fd: 3 },
                Outcome::Error("EINPROGRESS".into())
            ))
        );
        assert_eq!(
            call("fcntl(3, F_GETFL) = 0x2 (flags O_RDWR)"),
            Ok((Call::Fcntl { fd: 3 }, Outcome::Any))
        );
        let option = SocketOption::Congestion("reno".into());
        assert_eq!(
            call("setsockopt(3, SOL_TCP, TCP_CONGESTION, \"reno\", 4) = 0"),
            Ok((Call::SetOption { fd: 3, option }, Outcome::Value(0)))
        );
    }

    #[test]
    fn other_calls_are_refused() {
        for text in [
            "epoll_create(1) = 5",
            "socket(..., SOCK_DGRAM, IPPROTO_UDP) = 3",
            "setsockopt(3, SOL_TCP, TCP_FASTOPEN, [1], 4) = 0",
            "sendto(3, ..., 10, MSG_FASTOPEN, ..., ...) = 10",
            "write(4, ..., -1) = 1",
            "write(4, ..., 1000)",
            "write(4, ..., 1000",
            "shutdown(4, SHUT_RDWR) = 0",
            "close(x) = 0",
            "",
        ] {
            assert!(call(text).is_err(), "{text}");
        }
    }
}
