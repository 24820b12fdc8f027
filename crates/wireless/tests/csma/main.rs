//! IEEE 802.15.4: docs/reference/networks/adhoc-802.15.4.md has the numbers.

mod contention;
mod energy;
mod harness;
mod loss;
mod ns2;
mod numbers;
mod properties;
mod reference;
mod slots;
