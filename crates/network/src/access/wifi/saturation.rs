//! The probability that a saturated station sends in a slot (Bianchi 2000).

/// Probabilities that one of `stations` sends in a slot, and that its frame collides. The
/// contention window goes from `cw_min` to `cw_max`, in slots less one, and a packet is never given
/// up.
pub(super) fn saturation(stations: f64, cw_min: u32, cw_max: u32) -> (f64, f64) {
    let window = f64::from(cw_min) + 1.0;
    let mut stages = 0;
    let mut cw = cw_min;
    while cw < cw_max && stages < 32 {
        cw = cw.saturating_mul(2).saturating_add(1);
        stages += 1;
    }
    // The sum is (1 - (2p)^m) / (1 - 2p), without its hole at p = 1/2.
    let sends = |collision: f64| {
        let (mut sum, mut power) = (0.0, 1.0);
        for _ in 0..stages {
            sum += power;
            power *= 2.0 * collision;
        }
        2.0 / (window + 1.0 + collision * window * sum)
    };
    let collides = |sends: f64| 1.0 - libm::pow(1.0 - sends, stations - 1.0);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if collides(sends(middle)) > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    (sends(low), low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Throughput with the constants of Bianchi 2000 (FHSS at 1 Mbit/s, W = 32, m = 3).
    #[test]
    fn the_formula_gives_the_published_saturation_throughput() {
        let payload = 8184.0;
        let headers = 400.0;
        let collision = payload + headers + 128.0 + 1.0;
        let success = payload + headers + 28.0 + 240.0 + 128.0 + 2.0;
        for (stations, published) in [(5, 0.8097), (10, 0.7532), (20, 0.6788), (50, 0.5529)] {
            let (tau, _) = saturation(f64::from(stations), 31, 255);
            let idle = libm::pow(1.0 - tau, f64::from(stations));
            let alone = f64::from(stations) * tau * libm::pow(1.0 - tau, f64::from(stations - 1));
            let mean = idle * 50.0 + alone * success + (1.0 - idle - alone) * collision;
            let found = alone * payload / mean;
            assert!((found - published).abs() < 1e-4, "{stations}: {found}");
        }
    }

    /// Collision probabilities of 802.11b and a.
    #[test]
    fn the_formula_gives_the_published_collisions() {
        let stations = [1, 2, 5, 10, 20, 50];
        let b = [0.0, 0.057, 0.178, 0.290, 0.399, 0.532];
        let a = [0.0, 0.105, 0.272, 0.384, 0.481, 0.595];
        for (cw_min, published) in [(31, b), (15, a)] {
            for (n, expected) in stations.into_iter().zip(published) {
                let (_, collision) = saturation(f64::from(n), cw_min, 1023);
                assert!((collision - expected).abs() < 6e-4, "{n}: {collision}");
            }
        }
    }
}
