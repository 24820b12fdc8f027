//! Reads a script.

mod call;
mod tcp;

use std::path::Path;

use units::Duration;

use crate::Error;
use crate::expression::Block;
use crate::script::{Action, Event, Script, When};
use crate::settings::Settings;

/// Longest time of a script.
const LONGEST_S: f64 = 86_400.0;

/// Reads the script in `text`. `file` is what messages call it; commands such as `./defaults.sh` are
/// read from its folder, if they are there.
///
/// # Errors
/// The first thing that is wrong or not in scope, with line and column.
pub fn parse(file: &str, text: &str) -> Result<Script, Error> {
    let folder = Path::new(file).parent();
    let read = |name: &str| std::fs::read_to_string(folder?.join(name)).ok();
    Parser {
        file,
        text,
        at: 0,
        script: Script {
            file: file.to_owned(),
            settings: Settings::default(),
            tolerance: None,
            mss: None,
            events: Vec::new(),
            notes: Vec::new(),
        },
        changed: None,
        read: &read,
    }
    .parse()
}

struct Parser<'a> {
    file: &'a str,
    text: &'a str,
    at: usize,
    script: Script,
    /// Where a command changed settings after the first event.
    changed: Option<usize>,
    read: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Parser<'a> {
    fn error_at(&self, at: usize, message: impl Into<String>) -> Error {
        let before = &self.text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|letter| *letter != '\n');
        Error::at(self.file, line, column.count() + 1, message)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Result<(), Error> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") || trimmed.starts_with('#') {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                let end = trimmed
                    .find("*/")
                    .ok_or_else(|| self.error_at(self.at, "a comment does not end"))?;
                self.at += end + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn parse(mut self) -> Result<Script, Error> {
        loop {
            self.skip()?;
            let start = self.at;
            let rest = self.rest();
            if rest.is_empty() {
                break;
            }
            if rest.starts_with("--") {
                let line = self.take_line();
                self.option(line).map_err(|why| self.error_at(start, why))?;
            } else if rest.starts_with('`') {
                self.commands()?;
            } else {
                self.event()?;
            }
        }
        if self.script.events.is_empty() {
            return Err(Error::whole(self.file, "the script has no events"));
        }
        Ok(self.script)
    }

    /// The rest of the line without a comment.
    fn take_line(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find('\n').unwrap_or(rest.len());
        self.at += end;
        without_comment(&rest[..end])
    }

    fn option(&mut self, line: &str) -> Result<(), String> {
        for option in line.split_ascii_whitespace() {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            match name {
                "--tolerance_usecs" => {
                    let micros = value.parse().map_err(|_| "expected microseconds")?;
                    self.script.tolerance = Some(Duration::from_micros(micros));
                }
                "--ip_version" if value == "ipv4" => {}
                "--ip_version" => return Err(format!("not in scope: {option}")),
                "--mss" => {
                    let mss = value.parse().ok().filter(|mss| *mss > 0);
                    self.script.mss = Some(mss.ok_or("expected a segment size")?);
                }
                // The addresses are those of this runner.
                "--local_ip"
                | "--remote_ip"
                | "--gateway_ip"
                | "--netmask_ip"
                | "--bind_port"
                | "--connect_port"
                | "--speed"
                | "--tcp_ts_tick_usecs" => {}
                _ => return Err(format!("not in scope: the option {name}")),
            }
        }
        Ok(())
    }

    /// What stands between the delimiters here.
    fn take_between(&mut self, open: &str, close: &str) -> Result<&'a str, Error> {
        let start = self.at;
        let inner = &self.rest()[open.len()..];
        let end = inner
            .find(close)
            .ok_or_else(|| self.error_at(start, format!("`{open}` has no `{close}`")))?;
        self.at += open.len() + end + close.len();
        Ok(&inner[..end])
    }

    fn commands(&mut self) -> Result<(), Error> {
        let start = self.at;
        let commands = self.take_between("`", "`")?;
        let line = self.line_of(start);
        let before = self.script.settings.clone();
        let notes = self
            .script
            .settings
            .take_commands(commands, self.read)
            .map_err(|why| self.error_at(start, why))?;
        if !self.script.events.is_empty() && before != self.script.settings {
            // At the end of the script, they only restore.
            self.changed.get_or_insert(start);
            self.script.settings = before;
        }
        let notes = notes.into_iter().map(|note| (line, note));
        self.script.notes.extend(notes);
        Ok(())
    }

    fn line_of(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    fn event(&mut self) -> Result<(), Error> {
        let start = self.at;
        let changed = self.changed;
        let rest = self.rest();
        let word_end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let time = &rest[..word_end];
        let when = when(time).map_err(|why| self.error_at(start, why))?;
        self.at += word_end;
        self.skip()?;
        let begin = self.at;
        let line = self.line_of(begin);
        let rest = self.rest();
        let action = if rest.starts_with('`') {
            return self.commands();
        } else if rest.starts_with("%{") {
            let code = self.take_between("%{", "}%")?;
            let block = Block::parse(code).map_err(|why| self.error_at(begin, why))?;
            Action::Code(block)
        } else if let Some(packet) = rest.strip_prefix(['<', '>']) {
            let is_inbound = rest.starts_with('<');
            self.at += rest.len() - packet.len();
            let text = self.take_line();
            let packet = tcp::packet(text, is_inbound).map_err(|why| self.error_at(begin, why))?;
            if is_inbound {
                Action::Inject(packet)
            } else {
                Action::Expect(packet)
            }
        } else {
            let text = self.take_call();
            let (call, outcome) = call::call(&text).map_err(|why| self.error_at(begin, why))?;
            Action::Call(call, outcome)
        };
        if matches!(action, Action::Inject(_)) && when == When::Any {
            return Err(self.error_at(start, "a packet cannot be injected at any time"));
        }
        if let Some(at) = changed {
            let why = "not in scope: a setting that changes during the connection";
            return Err(self.error_at(at, why));
        }
        let text = without_comment(self.text[start..self.at].trim_end());
        self.script.events.push(Event {
            line,
            text: text.lines().next().unwrap_or(text).trim_end().to_owned(),
            when,
            action,
        });
        Ok(())
    }

    /// A call, on several lines while a bracket is open.
    fn take_call(&mut self) -> String {
        let mut text = String::new();
        loop {
            text.push_str(self.take_line());
            let open = text.matches(['(', '[', '{']).count();
            let closed = text.matches([')', ']', '}']).count();
            if open <= closed || self.rest().is_empty() {
                return text;
            }
            self.at += 1;
            text.push(' ');
        }
    }
}

fn without_comment(line: &str) -> &str {
    match line.find("//") {
        Some(at) => line[..at].trim_end(),
        None => line.trim_end(),
    }
}

fn when(text: &str) -> Result<When, String> {
    if text == "*" {
        return Ok(When::Any);
    }
    if text.contains("...") {
        return Err("not in scope: a system call that blocks".into());
    }
    let (first, second) = match text.split_once('~') {
        Some((first, second)) => (first, Some(second)),
        None => (text, None),
    };
    let is_relative = first.starts_with('+');
    let from = seconds(first)?;
    let to = match second {
        None => from,
        Some(second) if second.starts_with('+') == is_relative => seconds(second)?,
        Some(_) => {
            return Err(format!(
                "`{text}`: both ends must be absolute, or both relative"
            ));
        }
    };
    if to < from {
        return Err(format!("`{text}` ends before it begins"));
    }
    Ok(if is_relative {
        When::Relative(from, to)
    } else {
        When::Absolute(from, to)
    })
}

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("expected a time in seconds such as `0.1`, `+.1` or `*`, not `{text}`");
    let digits = text.strip_prefix('+').unwrap_or(text);
    if !digits.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.') {
        return Err(wrong());
    }
    let value: f64 = digits.parse().map_err(|_| wrong())?;
    if !(0.0..=LONGEST_S).contains(&value) {
        return Err(wrong());
    }
    Ok(Duration::from_micros((value * 1e6).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_absolute_relative_ranges_or_any() {
        let ms = Duration::from_millis;
        assert_eq!(when("0.1"), Ok(When::Absolute(ms(100), ms(100))));
        assert_eq!(when("+.1"), Ok(When::Relative(ms(100), ms(100))));
        assert_eq!(when("+0.2~+.25"), Ok(When::Relative(ms(200), ms(250))));
        assert_eq!(when("1~2"), Ok(When::Absolute(ms(1000), ms(2000))));
        assert_eq!(when("*"), Ok(When::Any));
        for wrong in [
            "",
            "+",
            "-1",
            "1~+2",
            "2~1",
            "0.1...0.2",
            "nan",
            "inf",
            "1e99",
        ] {
            assert!(when(wrong).is_err(), "{wrong}");
        }
    }
}
