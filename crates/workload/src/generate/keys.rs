//! Keys of `[[traffic]]` that several kinds have, in groups.

use tables::{Key, Kind, MAX_DURATION, MAX_SIZE, Rules, Wrong, described};
use units::{Bytes, Duration, Rate};

use super::{Epochs, REQUEST};
use crate::draw::{Sizes, Times};
use crate::{TruncatedPareto, Truncation};

/// Least arrivals in a second (one in a day or so), and most.
pub const ARRIVALS: (f64, f64) = (1e-5, 1e5);
/// Least time between two writes of an application, so that a run ends.
pub const MIN_INTERVAL: Duration = Duration::from_micros(1);
/// Most flows of one table.
const MAX_COUNT: u64 = 10_000;

/// The arrivals per second until the rate of the path is known.
pub(crate) const UNKNOWN: f64 = 1.0;

pub(crate) const AT: Kind = Kind::Time(Duration::ZERO, MAX_DURATION);
pub(crate) const INTERVAL: Kind = Kind::Time(MIN_INTERVAL, MAX_DURATION);
pub(crate) const TRANSFER: Kind = Kind::Size(Bytes::new(1), MAX_SIZE);
const SIGMA: Kind = Kind::Number(0.0, 5.0);

/// Makes the keys of a kind from groups of keys.
macro_rules! groups {
    ($(#[$doc:meta])* pub struct $name:ident { $($field:ident: $group:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name {
            $( pub(crate) $field: $group, )+
        }

        impl $name {
            /// Each key at its default.
            pub(crate) const DEFAULT: Self = Self { $( $field: <$group>::DEFAULT, )+ };
            /// The keys of each group.
            pub(crate) const KEYS: &'static [&'static [tables::Key]] =
                &[ $( <$group>::TABLE.keys, )+ ];
        }

        impl $crate::generate::traffic::Groups for $name {
            fn groups(&mut self) -> Vec<&mut dyn tables::Described> {
                vec![ $( &mut self.$field, )+ ]
            }
        }
    };
}
pub(crate) use groups;

described! {
    #[derive(Clone, Debug)]
    pub struct Load("load", "[[traffic]]", "How much of a link its data takes.") {
        /// Offered load as a fraction of the (mean) rate of the direction. For web it counts
        /// payload, else the acceptors' payload and 52 bytes of headers for each segment of 1448
        /// bytes. 100 % or more only if the traffic ends.
        load: Option<f64> = None => Key::of(Kind::Share(f64::MIN_POSITIVE, 200.0))
            .sometimes("35 %", "needed, or `arrivals`; for tmix, `scale`");
    }
}

described! {
    #[derive(Clone, Debug)]
    pub struct Arrivals("arrivals", "[[traffic]]", "How often something starts.") {
        /// Mean number of starts per second, in place of `load`: of responses, connections,
        /// sessions (persistent) or pages (multiplexed).
        arrivals: Option<f64> = None => Key::of(Kind::Frequency(ARRIVALS.0, ARRIVALS.1));
    }
}

described! {
    #[derive(Clone, Debug)]
    pub struct Sources("sources", "[[traffic]]", "Sources that start at random.") {
        /// Number of sources or clients.
        count: u32 = 1 => Key::of(Kind::Integer(1, MAX_COUNT));
        /// Each source or client starts at a random time within this span.
        spread: Option<Duration> = None => Key::of(AT).usually(
            "\"1 s\"; for videos one segment, for datagrams and on-off one period of on and off",
        );
    }
}

described! {
    #[derive(Clone, Debug)]
    pub struct Pareto("pareto", "[[traffic]]", "Sizes of a truncated Pareto distribution.") {
        /// Mean size of a response, or of an object of a page.
        mean: Bytes = Bytes::new(14_000) => Key::of(TRANSFER);
        /// Shape of the Pareto distribution of these sizes.
        shape: f64 = 1.1 => Key::of(Kind::Number(0.1, 10.0));
        /// Largest of these sizes; the smallest follows from the mean.
        cut: Bytes = Bytes::new(10_000_000) => Key::of(TRANSFER);
    }
}

described! {
    #[derive(Clone, Debug)]
    pub struct Cut("cut", "[[traffic]]", "How these sizes end.") {
        /// Sizes above `cut` are drawn again, or set to `cut`; or drawn again, with `mean` as the
        /// mean without a cut.
        truncation: Truncation = Truncation::Bounded => Key::of(Kind::Words(Truncation::WORDS));
    }
}

described! {
    #[derive(Clone, Debug)]
    pub struct Size("size", "[[traffic]]", "One size.") {
        /// Bytes of each flow, or of each response in place of `mean`, `shape` and `cut`.
        size: Option<Bytes> = None => Key::of(TRANSFER)
            .usually("unlimited flows, random responses");
    }
}

described! {
    #[derive(Clone, Debug)]
    pub struct Request("request", "[[traffic]]", "The size of a request.") {
        /// Median size of a request.
        request: Bytes = REQUEST => Key::of(TRANSFER);
    }
}

described! {
    #[derive(Clone, Debug)]
    pub struct Work("work", "[[traffic]]", "How requests differ, and what they cost a server.") {
        /// Standard deviation of the logarithm of that size; 0 for requests of equal size.
        request_sigma: Option<f64> = None => Key::of(SIGMA)
            .usually("0.6; for http10 and multiplexed 0");
        /// Mean time for which a server works on a request (exponential).
        server_delay: Option<Duration> = None => Key::of(AT)
            .usually("\"20 ms\"; for http10 none");
    }
}

described! {
    #[derive(Clone, Debug)]
    pub struct Thoughts("thoughts", "[[traffic]]", "Requests of a client, and pauses between.") {
        /// Mean number of requests of a connection or a session (geometric); for request-response
        /// the number of each client.
        requests: Option<f64> = None => Key::of(Kind::Number(1.0, 1e6))
            .usually("1/0.35 for synthetic, 10 for persistent, 100 for request-response");
        /// Median time from a response to the client's next request.
        think: Duration = Duration::from_secs(1) => Key::of(AT);
        /// Standard deviation of the logarithm of that time.
        think_sigma: f64 = 1.3 => Key::of(SIGMA);
    }
}

described! {
    #[derive(Clone, Debug)]
    pub struct Segment("segment", "[[traffic]]", "A segment of a video.") {
        /// Playing time of a segment of a video.
        segment: Duration = Duration::from_secs(4) => Key::of(INTERVAL);
    }
}

described! {
    #[derive(Clone, Debug)]
    pub struct Bursts("bursts", "[[traffic]]", "Sources that pause.") {
        /// Rate of one source while it sends: in bytes of IP (datagrams) or of payload (on-off).
        rate: Rate = Rate::ZERO => Key::of(Kind::RATE).needed("5 Mbit/s");
        /// Time for which a source sends; for on-off the mean (exponential).
        on: Duration = Duration::from_secs(1) => Key::of(INTERVAL);
        /// Time for which it then pauses; for on-off the mean (exponential).
        off: Option<Duration> = None => Key::of(AT).usually("\"0 s\"; for on-off \"1 s\"");
    }
}

macro_rules! no_rules {
    ($($group:ty),+ $(,)?) => { $( impl Rules for $group {} )+ };
}
no_rules!(
    Load, Arrivals, Sources, Pareto, Cut, Size, Request, Work, Thoughts, Segment, Bursts
);

impl Sources {
    /// How many there are, and the span of their starts.
    pub(crate) fn starts(&self, spread: Duration) -> (u32, Duration) {
        (self.count, self.spread.unwrap_or(spread))
    }
}

impl Pareto {
    /// Whether there is such a distribution.
    pub(crate) fn check(&self, given: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        let Self { mean, cut, .. } = self;
        if mean < cut {
            return Ok(());
        }
        Err(Wrong::at(
            if given("mean") { "mean" } else { "cut" },
            format!(
                "no distribution has a mean of {mean} and a largest size of {cut}: the mean must \
                 be below the cut"
            ),
        ))
    }
}

/// Sizes of responses.
pub(crate) fn responses(
    pareto: &Pareto,
    cut: &Cut,
    size: &Size,
    given: &dyn Fn(&str) -> bool,
) -> Result<Sizes, Wrong> {
    if let Some(size) = size.size {
        let others = ["mean", "shape", "cut", "truncation"];
        return match others.into_iter().find(|key| given(key)) {
            Some(key) => Err(Wrong::at(
                key,
                format!("[[traffic]] takes size, or {}, not both", others.join(", ")),
            )),
            None => Ok(Sizes::Constant(size)),
        };
    }
    pareto.check(given)?;
    let truncation = cut.truncation;
    let Pareto { mean, shape, cut } = *pareto;
    if truncation == Truncation::MeanBeforeCut && shape <= 1.0 {
        return Err(Wrong::at(
            if given("shape") {
                "shape"
            } else {
                "truncation"
            },
            "without a cut, a shape of at most 1 has no mean",
        ));
    }
    Ok(Sizes::Pareto(TruncatedPareto::new(
        truncation,
        mean.get() as f64,
        shape,
        cut.get() as f64,
    )))
}

/// Sizes of requests; `sigma` is the default spread.
pub(crate) fn requests(request: &Request, work: &Work, sigma: f64) -> Sizes {
    let size = request.request;
    let sigma = work.request_sigma.unwrap_or(sigma);
    match sigma > 0.0 {
        true => Sizes::LogNormal {
            median: size.get() as f64,
            sigma,
        },
        false => Sizes::Constant(size),
    }
}

impl Work {
    /// How long the server works on a request.
    pub(crate) fn delay(&self, default: Times) -> Times {
        match self.server_delay {
            None => default,
            Some(mean) if mean.is_zero() => Times::Constant(mean),
            Some(mean) => Times::Exponential { mean },
        }
    }
}

impl Thoughts {
    /// The epochs of a connection.
    pub(crate) fn epochs(&self, request: &Request, work: &Work, response: Sizes) -> Epochs {
        let (median, sigma) = (self.think, self.think_sigma);
        Epochs {
            request: requests(request, work, 0.6),
            delay: work.delay(Epochs::default().delay),
            response,
            think: match sigma > 0.0 {
                true => Times::LogNormal { median, sigma },
                false => Times::Constant(median),
            },
        }
    }
}
