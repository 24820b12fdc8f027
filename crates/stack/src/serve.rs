//! A worker: a stack that answers the messages of the pipe protocol.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use units::Instant;

use crate::wire::{self, Answer, Event, Request, Turn};
use crate::{Endpoint, Stack};

/// Answers requests from `input` on `output`, in order, until `input` ends.
///
/// # Errors
/// The pipe fails, or `input` is not the protocol.
pub fn serve(
    stack: &mut dyn Stack,
    mut input: impl Read,
    mut output: impl Write,
) -> io::Result<()> {
    let mut endpoints: BTreeMap<u32, Box<dyn Endpoint>> = BTreeMap::new();
    while let Some(message) = wire::read(&mut input)? {
        let request = Request::decode(&message)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let answer = match request {
            Request::Hello => Answer::Hello(stack.identity()),
            Request::Open {
                endpoint,
                now,
                settings,
            } => match stack.open(now, &settings) {
                Ok(mut opened) => {
                    let answer = turn(&mut *opened, now);
                    endpoints.insert(endpoint, opened);
                    answer
                }
                Err(sentence) => Answer::Error(sentence),
            },
            Request::Turn {
                endpoint,
                now,
                events,
            } => match endpoints.get_mut(&endpoint) {
                Some(endpoint) => {
                    for event in events {
                        match event {
                            Event::Receive { ecn, datagram } => {
                                endpoint.receive(now, ecn, &datagram);
                            }
                            Event::Expire => endpoint.expire(now),
                            Event::Application(act) => endpoint.application(now, act),
                        }
                    }
                    turn(&mut **endpoint, now)
                }
                None => Answer::Error(format!("endpoint {endpoint} was not opened")),
            },
        };
        wire::write(&mut output, &answer.encode())?;
        output.flush()?;
    }
    Ok(())
}

fn turn(endpoint: &mut dyn Endpoint, now: Instant) -> Answer {
    let mut transmits = Vec::new();
    while let Some(transmit) = endpoint.transmit(now) {
        if transmits.len() == wire::MOST_DATAGRAMS {
            return Answer::Error(format!(
                "transmit returned more than {} datagrams at one instant",
                wire::MOST_DATAGRAMS
            ));
        }
        transmits.push(transmit);
    }
    Answer::Turn(Turn {
        deadline: endpoint.deadline(),
        report: endpoint.report(),
        transmits,
    })
}
