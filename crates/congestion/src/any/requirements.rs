//! What an algorithm needs of its transport, before a connection exists.

use units::{Bytes, Instant};

use super::parse::Parts;
use super::{Algorithm, BuildContext, StartupConfig};
use crate::CongestionControl;
use crate::startup::search::FewBins;

/// What an algorithm needs of its transport. A transport that lacks one of these cannot run the
/// algorithm as published: it should refuse it when it is configured.
///
/// [`CongestionControl::undo`] is not among them: every algorithm takes back a reduction that was a
/// mistake where the transport finds that out, and none depends on it. A transport that never finds
/// out, such as one that follows RFC 9002, runs all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// It sets the pace, at least at times.
    pub pacing: bool,
    /// It reads delivery-rate samples.
    pub rate_samples: bool,
    /// It must be notified of each packet that leaves.
    pub sent_events: bool,
    /// It must know which packets, or how many bytes, were lost, and what was in flight when they
    /// left.
    pub loss_attribution: bool,
    /// It reads the handshake's round-trip time before it sends data.
    pub handshake_rtt: bool,
    /// It reads what earlier connections over the path left.
    pub memory: bool,
    /// The routers of the path take part.
    pub routers: bool,
    /// It reads what only a simulator knows of the path.
    pub known_path: bool,
    /// It retransmits data that was not lost.
    pub copies: bool,
    /// It draws random numbers, so that it needs a seed of its own in each run.
    pub draws: bool,
    /// It does nothing of its own where the transport paces by itself.
    pub unpaced: bool,
    /// It reads the count of marks in each ACK, of packets that carry ECT(1) (RFC 9331), and is
    /// another algorithm without.
    pub marks: bool,
}

impl Requirements {
    /// The names of the needs.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        // Without `..`, so that a new need does not compile before it has a name.
        let Self {
            pacing,
            rate_samples,
            sent_events,
            loss_attribution,
            handshake_rtt,
            memory,
            routers,
            known_path,
            copies,
            draws,
            unpaced,
            marks,
        } = *self;
        let all = [
            (pacing, "pacing"),
            (rate_samples, "rate-samples"),
            (sent_events, "sent-events"),
            (loss_attribution, "loss-attribution"),
            (handshake_rtt, "handshake-rtt"),
            (memory, "memory"),
            (routers, "routers"),
            (known_path, "known-path"),
            (copies, "copies"),
            (draws, "draws"),
            (unpaced, "unpaced"),
            (marks, "marks"),
        ];
        let needed = all.into_iter().filter(|(is_needed, _)| *is_needed);
        needed.map(|(_, word)| word)
    }
}

impl Algorithm {
    /// Whether a connection with `other` is the same to the last packet: both have a passive start-up
    /// that differs in nothing but what it decides, and does not carry out.
    #[must_use]
    pub fn acts_as(&self, other: &Self) -> bool {
        let mut parts = self.parts;
        let (
            Parts::Classic { startup, .. },
            Parts::Classic {
                startup: others, ..
            },
        ) = (&mut parts, other.parts)
        else {
            return false;
        };
        let are_passive = startup.is_passive() && others.is_passive();
        *startup = others;
        are_passive && parts == other.parts && self.needs() == other.needs()
    }

    /// What it needs of its transport: the sum over its parts.
    #[must_use]
    pub fn needs(&self) -> Requirements {
        // The answers never change, and do not depend on the connection.
        let smss = Bytes::new(1_200);
        let mut control = self.build(BuildContext {
            now: Instant::ZERO,
            smss,
            initial_window: smss * 10,
            seed: 0,
            handshake_rtt: None,
        });
        let needs = control.needs();
        let routers =
            control.header_bytes().is_some() || control.requested_rate(Bytes::MAX).is_some();
        Requirements {
            pacing: needs.pacing,
            rate_samples: needs.rate_samples,
            sent_events: needs.sent,
            loss_attribution: needs.losses || control.watches_losses(),
            handshake_rtt: needs.handshake_rtt,
            memory: needs.memory,
            routers,
            known_path: control.knows_path(),
            copies: needs.copies,
            draws: needs.draws,
            unpaced: needs.unpaced,
            marks: needs.marks,
        }
    }
}

impl StartupConfig {
    /// Whether it decides, and neither sets the window nor withholds growth.
    fn is_passive(&self) -> bool {
        matches!(self, Self::Search(config) if config.passive && config.few_bins != FewBins::Hold)
    }
}

#[cfg(test)]
mod tests {
    use super::Requirements;
    use crate::Algorithm;

    fn needs(name: &str) -> Requirements {
        let algorithm: Algorithm = name.parse().expect(name);
        algorithm.needs()
    }

    const NONE: Requirements = Requirements {
        pacing: false,
        rate_samples: false,
        sent_events: false,
        loss_attribution: false,
        handshake_rtt: false,
        memory: false,
        routers: false,
        known_path: false,
        copies: false,
        draws: false,
        unpaced: false,
        marks: false,
    };

    #[test]
    fn round_trip_times_and_acknowledgments_serve_most() {
        for name in ["cubic", "reno+standard", "cubic+hystart++", "bic+limited"] {
            assert_eq!(needs(name), NONE, "{name}");
        }
        for version in ["2.0", "3.1", "4.0"] {
            let search = needs(&std::format!("cubic+search:version={version}"));
            let rate_samples = version == "4.0";
            assert_eq!(
                search,
                Requirements {
                    sent_events: true,
                    rate_samples,
                    ..NONE
                }
            );
        }
    }

    #[test]
    fn passive_start_ups_act_alike_whatever_they_decide() {
        let alike = |one: &str, other: &str| {
            let [one, other]: [Algorithm; 2] = [one, other].map(|name| name.parse().expect(name));
            assert_eq!(one.acts_as(&other), other.acts_as(&one));
            one.acts_as(&other)
        };
        let own = "cubic+search:passive=true";
        for option in [
            "threshold=20",
            "window=2",
            "bins=40,extra_bins=60",
            "as_published=true",
        ] {
            assert!(alike(own, &std::format!("{own},{option}")), "{option}");
        }
        for other in [
            "cubic+search",
            "cubic+standard",
            "reno+search:passive=true",
            "cubic+search:passive=true+plain",
            "bbr",
        ] {
            assert!(!alike(own, other), "{other}");
        }
        // It reads rate samples; it withholds growth.
        for option in ["version=4.0", "few_bins=hold"] {
            assert!(!alike(own, &std::format!("{own},{option}")), "{option}");
        }
        assert!(!alike("cubic+search", "cubic+search:threshold=20"));
    }

    #[test]
    fn the_needs_have_names() {
        let words = |name| needs(name).words().collect::<std::vec::Vec<_>>();
        assert_eq!(words("cubic"), [""; 0]);
        assert_eq!(words("cubic+oracle"), ["pacing", "known-path"]);
        let asking = crate::PARTS.iter().filter(|part| {
            let needs = part.algorithm().needs();
            needs.routers || needs.memory || needs.known_path
        });
        let asking: std::vec::Vec<_> = asking.map(|part| part.name).collect();
        assert_eq!(
            asking,
            [
                "careful-resume",
                "oracle",
                "quick-start",
                "stateful",
                "rcp",
                "xcp"
            ]
        );
    }

    #[test]
    fn each_of_the_others_says_what_it_needs() {
        let jump = needs("cubic+jump-start");
        assert!(jump.pacing && jump.handshake_rtt && !jump.loss_attribution);
        let rapid = needs("cubic+rapid-start");
        assert!(rapid.pacing && rapid.handshake_rtt && rapid.loss_attribution);
        assert!(needs("cubic+careful-resume").memory);
        assert!(!needs("cubic+careful-resume:saved_cwnd=100").memory);
        assert!(needs("cubic+stateful").memory);
        assert!(needs("cubic+suss").pacing && needs("bbr").rate_samples);
        assert!(needs("prague").marks && !needs("reno").marks && !needs("c4").marks);
        assert!(needs("cubic+suss").unpaced && !needs("cubic+hystart++").unpaced);
        assert!(needs("bbr3").loss_attribution && !needs("bbr").loss_attribution);
        assert!(needs("cubic+halfback").copies && needs("cubic+oracle").known_path);
        for name in ["bbr", "bbr3", "bbrp", "cubic+quick-start"] {
            assert!(needs(name).draws, "{name}");
        }
        assert!(!needs("cubic+suss").draws && !needs("rcp").draws);
        for name in ["cubic+quick-start", "xcp", "rcp"] {
            assert!(needs(name).routers, "{name}");
        }
    }
}
