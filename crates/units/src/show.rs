//! Quantities as people write them: in the largest unit that keeps the number above one, exactly.

use core::fmt;

use crate::{Bytes, Duration, Rate};

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            ("Tbit/s", 12),
            ("Gbit/s", 9),
            ("Mbit/s", 6),
            ("kbit/s", 3),
            ("bit/s", 0),
        ];
        show(f, self.bits_per_sec(), &units)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(
            f,
            self.as_nanos(),
            &[("s", 9), ("ms", 6), ("us", 3), ("ns", 0)],
        )
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, self.get(), &[("GB", 9), ("MB", 6), ("kB", 3), ("B", 0)])
    }
}

fn show(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u32)]) -> fmt::Result {
    let fits = units.iter().find(|&&(_, scale)| value >= 10_u64.pow(scale));
    let &(unit, scale) = fits.or(units.last()).unwrap_or(&("", 0));
    let power = 10_u64.pow(scale);
    let (whole, mut rest) = (value / power, value % power);
    write!(f, "{whole}")?;
    if rest > 0 {
        let mut width = scale as usize;
        while rest % 10 == 0 {
            rest /= 10;
            width -= 1;
        }
        write!(f, ".{rest:0width$}")?;
    }
    write!(f, " {unit}")
}
