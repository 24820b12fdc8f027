//! The process of a stack of others, and the pipe to it.

use std::time::Duration;

use slowstart_stack::Identity;
use slowstart_stack::wire::{Answer, Request};

/// How a stack of others is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// As commands name it.
    pub given: String,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// A hash of the files that the command names, so that a store of results notices a new build.
    pub fingerprint: u64,
    /// How long an answer may take, in real time.
    pub patience: Duration,
}

const PATIENCE: Duration = Duration::from_secs(10);

impl Program {
    /// The program of a shared object, which `host` serves, or of a worker.
    pub fn named(given: &str, host: &[String]) -> Result<Self, String> {
        let words: Vec<String> = match given.strip_prefix("worker:") {
            Some(command) => command.split_whitespace().map(str::to_owned).collect(),
            None => {
                // The loader looks for a name without a folder elsewhere.
                let file = std::fs::canonicalize(given)
                    .map_err(|error| format!("{given} cannot be read: {error}"))?;
                let file = file
                    .to_str()
                    .ok_or_else(|| format!("{given}: the name of the file is not UTF-8"))?;
                let file = file.to_owned();
                host.iter().cloned().chain([file]).collect()
            }
        };
        if words.is_empty() {
            return Err(format!(
                "{given:?} names no program: write \"worker: ./my-program\""
            ));
        }
        let fingerprint = fingerprint(&words);
        Ok(Self {
            given: given.to_owned(),
            words,
            fingerprint,
            patience: PATIENCE,
        })
    }
}

/// FNV-1a of the words, and of the files that they name.
fn fingerprint(words: &[String]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for word in words {
        let content = std::fs::read(word).unwrap_or_default();
        for byte in word.bytes().chain(content) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    hash
}

#[cfg(unix)]
pub(crate) use unix::Worker;

/// Elsewhere there are none.
#[cfg(not(unix))]
#[derive(Debug)]
pub(crate) struct Worker(String);

#[cfg(not(unix))]
impl Worker {
    pub fn start(program: &Program) -> Result<Self, String> {
        let given = &program.given;
        Err(format!("{given}: stacks of others run on Unix only"))
    }

    pub fn hello(&mut self) -> Result<Identity, String> {
        Err(self.0.clone())
    }

    pub fn ask(&mut self, _request: &Request) -> Result<Answer, String> {
        Err(self.0.clone())
    }

    pub fn end(self) -> String {
        self.0
    }
}

#[cfg(unix)]
mod unix {
    use std::io::ErrorKind;
    use std::net::Shutdown;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command, ExitStatus, Stdio};
    use std::time::Duration;

    use slowstart_stack::wire;

    use super::{Answer, Identity, Program, Request};

    /// A process has a second to end when its input has ended.
    const PAUSE: Duration = Duration::from_micros(200);
    const LOOKS: u32 = 5_000;

    /// A running process.
    #[derive(Debug)]
    pub(crate) struct Worker {
        given: String,
        patience: Duration,
        child: Child,
        stream: UnixStream,
    }

    impl Worker {
        pub fn start(program: &Program) -> Result<Self, String> {
            let given = &program.given;
            let failed = |error: std::io::Error| format!("{given} cannot be started: {error}");
            let (stream, end) = UnixStream::pair().map_err(failed)?;
            stream
                .set_read_timeout(Some(program.patience))
                .map_err(failed)?;
            stream
                .set_write_timeout(Some(program.patience))
                .map_err(failed)?;
            let input = OwnedFd::from(end.try_clone().map_err(failed)?);
            let child = Command::new(&program.words[0])
                .args(&program.words[1..])
                .stdin(Stdio::from(input))
                .stdout(Stdio::from(OwnedFd::from(end)))
                .spawn()
                .map_err(failed)?;
            Ok(Self {
                given: given.clone(),
                patience: program.patience,
                child,
                stream,
            })
        }

        /// What the stack states about itself.
        pub fn hello(&mut self) -> Result<Identity, String> {
            let given = self.given.clone();
            match self.ask(&Request::Hello) {
                Ok(Answer::Hello(identity)) => Ok(identity),
                Ok(Answer::Error(sentence)) => Err(sentence),
                Ok(Answer::Turn(_)) => Err(format!("{given} does not state its name")),
                Err(what) => Err(format!("{given} {what} (when it was asked for its name)")),
            }
        }

        /// The answer to a request; if there is none, what the stack did, after its name.
        pub fn ask(&mut self, request: &Request) -> Result<Answer, String> {
            let answer = wire::write(&mut self.stream, &request.encode())
                .and_then(|()| wire::read(&mut self.stream));
            match answer {
                Ok(Some(message)) => Answer::decode(&message)
                    .map_err(|error| format!("answered with no message of the protocol: {error}")),
                Ok(None) => Err(self.ended()),
                Err(error) => Err(match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                        format!("did not answer within {} s", self.patience.as_secs())
                    }
                    ErrorKind::InvalidData => {
                        format!("answered with no message of the protocol: {error}")
                    }
                    _ => self.ended(),
                }),
            }
        }

        /// How it ended.
        fn ended(&mut self) -> String {
            match self.finish() {
                Some(status) => match (status.signal(), status.code()) {
                    (Some(signal), _) => format!("was killed by signal {signal}{}", word(signal)),
                    (None, code) => format!("ended with exit status {}", code.unwrap_or_default()),
                },
                None => "closed its standard output".to_owned(),
            }
        }

        /// Ends it, and returns how commands name it.
        pub fn end(self) -> String {
            self.given.clone()
        }

        /// Ends its input and waits until it ends; its exit status if it does.
        fn finish(&mut self) -> Option<ExitStatus> {
            // Its next read finds the end, and its next write fails.
            let _ = self.stream.shutdown(Shutdown::Both);
            for _ in 0..LOOKS {
                if let Ok(Some(status)) = self.child.try_wait() {
                    return Some(status);
                }
                #[allow(
                    clippy::disallowed_methods,
                    reason = "a process ends in real time; no result depends on it"
                )]
                std::thread::sleep(PAUSE);
            }
            None
        }
    }

    impl Drop for Worker {
        fn drop(&mut self) {
            if self.finish().is_none() {
                // It fails if the process has ended meanwhile.
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
        }
    }

    /// What a signal means.
    const fn word(signal: i32) -> &'static str {
        match signal {
            6 => ": it aborted",
            8 => ": it divided by zero",
            11 => ": it used memory that it does not have",
            _ => "",
        }
    }
}
