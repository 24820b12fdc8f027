//! Losses of the medium, drawn for each packet as by Linux `sch_netem`.

use alloc::boxed::Box;

use rand_chacha::ChaCha8Rng;

use crate::random::{Chance, Purpose, stream};
use crate::{GilbertElliott, LossConfig};

/// A loss model, if there is one.
pub(crate) type Loss = Option<Box<LossModel>>;

#[derive(Clone, Debug)]
pub(crate) struct LossModel {
    kind: Kind,
    rng: ChaCha8Rng,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Bernoulli(Chance),
    GilbertElliott {
        bad: bool,
        good_state: State,
        bad_state: State,
    },
}

#[derive(Clone, Copy, Debug)]
struct State {
    leave: Chance,
    lose: Chance,
}

pub(crate) fn new(config: LossConfig, rng: &ChaCha8Rng) -> Loss {
    let kind = match config {
        LossConfig::None => return None,
        LossConfig::Bernoulli(probability) => Kind::Bernoulli(Chance::new(probability)),
        LossConfig::GilbertElliott(GilbertElliott {
            p,
            r,
            bad_loss,
            good_loss,
        }) => Kind::GilbertElliott {
            bad: false,
            good_state: State {
                leave: Chance::new(p),
                lose: Chance::new(good_loss),
            },
            bad_state: State {
                leave: Chance::new(r),
                lose: Chance::new(bad_loss),
            },
        },
    };
    Some(Box::new(LossModel {
        kind,
        rng: stream(rng, Purpose::Loss),
    }))
}

impl LossModel {
    /// Whether the medium loses the next packet.
    pub(crate) fn loses(&mut self) -> bool {
        match &mut self.kind {
            Kind::Bernoulli(chance) => chance.draw(&mut self.rng),
            Kind::GilbertElliott {
                bad,
                good_state,
                bad_state,
            } => {
                // First the transition, then the loss with the state before it. Both are always drawn, so
                // that a packet takes the same number of draws in either state.
                let state = if *bad { bad_state } else { good_state };
                *bad ^= state.leave.draw(&mut self.rng);
                state.lose.draw(&mut self.rng)
            }
        }
    }
}
