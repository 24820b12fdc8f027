//! A connection of quinn that quinn's own endpoints drive, over sockets and with timers of the
//! system. What is measured of it is what is measured in virtual time.

use std::time;

use measure::{FlowResult, FlowTrace};
use quinn_proto::TransportConfig;
use scenario::Flow;
use simulator::{Ended, Meter};
use units::{Duration, Instant};

use crate::dial::{Control, Dial};
use crate::observer::Observer;
use crate::outcome::{Fault, Watch};
use crate::quinn;

/// The client of a connection in real time, which sends the data, and what is seen of it.
#[derive(Clone, Debug)]
pub struct RealClient {
    control: Control,
    observer: Observer,
}

impl RealClient {
    /// The client of flow number `flow`; with `traced`, its time series are recorded.
    #[must_use]
    pub fn new(control: Control, flow: u32, config: &Flow, traced: bool) -> Self {
        let observer = Observer::new(traced.then(|| FlowTrace {
            flow,
            name: config.name.clone(),
            algorithm: control.name(),
            ..Default::default()
        }));
        // The network's side is known after the run.
        observer.seen().probe.let_arrivals_lag();
        Self { control, observer }
    }

    /// The name of its congestion control in results.
    #[must_use]
    pub fn algorithm(&self) -> String {
        self.control.name()
    }

    /// The transports of the client and of the server. Measurements count from `zero`.
    #[must_use]
    pub fn transports(
        &self,
        zero: time::Instant,
        flow: u32,
        config: &Flow,
        seed: u64,
    ) -> [TransportConfig; 2] {
        let dial = Dial {
            flow,
            control: &self.control,
            initial_window: config.initial_window,
            receive_window: config.receive_buffer.get(),
            seed: seed.wrapping_add(flow.into()),
            // Its endpoints have the system's random numbers.
            seeds: [[0; 32]; 2],
        };
        quinn::transports(zero, &dial, &self.observer)
    }

    /// The receiving application has this many bytes in order.
    pub fn on_delivered(&self, bytes: u64) {
        self.observer.seen().delivered = bytes;
    }

    /// A packet with data arrived, `latency` after it left. Calls come in order of time, after the
    /// run.
    pub fn on_arrival(&self, now: Instant, latency: Duration) {
        self.observer.seen().probe.on_arrival(now, latency);
    }

    /// The network dropped a packet with data.
    pub fn on_drop(&self, at: Instant) {
        self.observer.seen().probe.on_drop(at);
    }

    /// The result of the flow, and its time series.
    #[must_use]
    pub fn end(self, ended: &Ended<'_>) -> (FlowResult, Option<FlowTrace>) {
        let mut watch = Watch {
            observer: self.observer,
            control: self.control,
            fault: Fault::default(),
        };
        let result = watch.result(ended);
        let mut trace = watch.take_trace();
        if let Some(trace) = &mut trace {
            // quinn reports the datagrams of one system call as one packet.
            trace.quic = Vec::new();
        }
        (result, trace)
    }
}
