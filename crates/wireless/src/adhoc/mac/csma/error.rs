//! Bit errors of the 2.4 GHz O-QPSK physical layer.
//!
//! Source: IEEE Std 802.15.4-2006, annex E (coexistence): 16 quasi-orthogonal sequences of 32
//! chips, detected without coherence, in white noise.

/// Binomial coefficients of 16 over 2 to 16, with alternating signs.
const TERMS: [f64; 15] = [
    120.0, -560.0, 1820.0, -4368.0, 8008.0, -11440.0, 12870.0, -11440.0, 8008.0, -4368.0, 1820.0,
    -560.0, 120.0, -16.0, 1.0,
];

/// Bit error rate at a ratio `sinr` (not in dB) of signal to noise and interference.
#[must_use]
pub fn bit_error_rate(sinr: f64) -> f64 {
    let mut sum = 0.0;
    for (place, term) in TERMS.iter().enumerate() {
        let k = (place + 2) as f64;
        sum += term * libm::exp(20.0 * sinr * (1.0 / k - 1.0));
    }
    // Rounding may leave a sum below zero.
    (sum / 30.0).clamp(0.0, 0.5)
}

/// Probability that a frame of `bits` bits has an error at `sinr`.
#[must_use]
pub fn frame_error_rate(sinr: f64, bits: u32) -> f64 {
    -libm::expm1(f64::from(bits) * libm::log1p(-bit_error_rate(sinr)))
}
