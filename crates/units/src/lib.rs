//! Quantities with the unit in the type.
//!
//! Every public quantity of the project has one of these types: [`Instant`] and [`Duration`] in
//! nanoseconds, [`Rate`] in bits per second, [`Bytes`]. All are plain 64-bit integers, so that
//! results are the same on every machine. Arithmetic beyond the end of the range saturates. A
//! subtraction below zero gives zero if the name begins with `saturating_`, and otherwise is a bug
//! (a panic in debug builds).
//!
//! [`feedback`] is what hosts and routers write into a packet for each other.
#![no_std]

/// Sums, differences and multiples of a quantity; `$negative` is what a difference below zero would be.
macro_rules! saturating_arithmetic {
    ($quantity:ident, $negative:literal) => {
        impl core::ops::Add for $quantity {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl core::ops::AddAssign for $quantity {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl core::ops::Sub for $quantity {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                debug_assert!(self.0 >= other.0, $negative);
                self.saturating_sub(other)
            }
        }

        impl core::ops::SubAssign for $quantity {
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl core::ops::Mul<u64> for $quantity {
            type Output = Self;
            fn mul(self, factor: u64) -> Self {
                Self(self.0.saturating_mul(factor))
            }
        }

        impl core::ops::Div<u64> for $quantity {
            type Output = Self;
            fn div(self, divisor: u64) -> Self {
                Self(self.0 / divisor)
            }
        }
    };
}

pub mod feedback;
mod quantity;
mod show;
mod time;

pub use quantity::{Bytes, Pace, Rate, Transmission};
pub use time::{Duration, Instant};
