//! A handshake without cryptography whose flights have the sizes of real ones.
//!
//! TLS 1.3 (RFC 8446) with a certificate of 1.2 kB: a ClientHello, a ServerHello, the server's
//! flight of EncryptedExtensions, Certificate, CertificateVerify and Finished, and the client's
//! Finished. Real keys would make runs irreproducible: they come from the system's random numbers,
//! and the length of a DER signature varies by a byte.

/// Bytes of an AEAD tag (RFC 9001, section 5.3).
pub const TAG: usize = 16;
/// What a tag holds.
const SEAL: u8 = 0x5a;
/// Bytes of the handshake's messages.
const CLIENT_HELLO: usize = 300;
const SERVER_HELLO: usize = 90;
const SERVER_FLIGHT: usize = 1_600;
const FINISHED: usize = 52;

/// Fills the tag at the end of a packet.
pub fn seal(packet: &mut [u8]) {
    let payload = packet.len().saturating_sub(TAG);
    packet[payload..].fill(SEAL);
}

/// The length of the payload of a packet with a valid tag.
pub fn open(packet: &[u8]) -> Option<usize> {
    let payload = packet.len().checked_sub(TAG)?;
    packet[payload..]
        .iter()
        .all(|byte| *byte == SEAL)
        .then_some(payload)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The client sends its hello.
    Hello,
    Wait,
    /// Keys of the handshake are due; the server's hello before them.
    Answer,
    /// Keys of the application are due; the own flight before them.
    Flight,
    Done,
}

/// What a flight of the peer brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing yet.
    None,
    /// The peer's transport parameters.
    Parameters(Vec<u8>),
}

/// One side of the handshake.
#[derive(Clone, Debug)]
pub struct Handshake {
    is_client: bool,
    step: Step,
    /// The own transport parameters.
    own: Vec<u8>,
    input: Vec<u8>,
    has_hello: bool,
    has_parameters: bool,
    is_finished: bool,
}

impl Handshake {
    /// A handshake that passes `own` transport parameters to the peer.
    pub const fn new(is_client: bool, own: Vec<u8>) -> Self {
        Self {
            is_client,
            step: if is_client { Step::Hello } else { Step::Wait },
            own,
            input: Vec::new(),
            has_hello: false,
            has_parameters: false,
            is_finished: false,
        }
    }

    /// Whether it is not complete yet.
    pub const fn is_in_progress(&self) -> bool {
        !self.is_finished
    }

    /// Bytes of the peer arrived.
    pub fn read(&mut self, bytes: &[u8]) -> Progress {
        self.input.extend_from_slice(bytes);
        if self.is_client {
            if !self.has_hello && self.take(SERVER_HELLO).is_some() {
                self.has_hello = true;
                self.step = Step::Answer;
            }
            if self.has_hello
                && !self.has_parameters
                && let Some(flight) = self.take(SERVER_FLIGHT)
            {
                self.has_parameters = true;
                // The keys of the handshake come first.
                if self.step == Step::Wait {
                    self.step = Step::Flight;
                }
                return Progress::Parameters(parameters(&flight));
            }
        } else if !self.has_parameters {
            if let Some(hello) = self.take(CLIENT_HELLO) {
                self.has_parameters = true;
                self.step = Step::Answer;
                return Progress::Parameters(parameters(&hello));
            }
        } else if self.take(FINISHED).is_some() {
            self.is_finished = true;
        }
        Progress::None
    }

    /// Writes the own next message; true if keys of the next level follow it.
    pub fn write(&mut self, out: &mut Vec<u8>) -> bool {
        match (self.is_client, self.step) {
            (true, Step::Hello) => {
                out.extend(self.message(CLIENT_HELLO));
                self.step = Step::Wait;
                false
            }
            (true, Step::Answer) => {
                self.step = if self.has_parameters {
                    Step::Flight
                } else {
                    Step::Wait
                };
                true
            }
            (true, Step::Flight) => {
                out.extend([0; FINISHED]);
                self.step = Step::Done;
                self.is_finished = true;
                true
            }
            (false, Step::Answer) => {
                out.extend([0; SERVER_HELLO]);
                self.step = Step::Flight;
                true
            }
            (false, Step::Flight) => {
                out.extend(self.message(SERVER_FLIGHT));
                self.step = Step::Done;
                true
            }
            _ => false,
        }
    }

    /// The own transport parameters with their length, filled up to `size`.
    fn message(&self, size: usize) -> Vec<u8> {
        let length = u16::try_from(self.own.len()).unwrap_or(u16::MAX);
        let mut message = length.to_be_bytes().to_vec();
        message.extend(&self.own);
        message.resize(size, 0);
        message
    }

    fn take(&mut self, size: usize) -> Option<Vec<u8>> {
        (self.input.len() >= size).then(|| self.input.drain(..size).collect())
    }
}

/// The transport parameters in a message.
fn parameters(message: &[u8]) -> Vec<u8> {
    let length = usize::from(u16::from_be_bytes([message[0], message[1]]));
    message[2..].iter().copied().take(length).collect()
}
