//! Exact decimal numbers, without floating point in between.

/// More digits than any quantity of the project needs; products stay within 128 bits.
const MAX_DIGITS: usize = 19;

/// Rounding changes a number by less than one part in this many.
const COARSEST: u128 = 10_000;

/// `digits / 10^scale`, never negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u64,
    scale: u32,
}

/// Splits `"1.5 bdp"` into its number and its unit. The error is the end of a sentence.
pub(crate) fn split(text: &str) -> Result<(Decimal, &str), String> {
    let text = text.trim();
    if text.starts_with(['-', '\u{2212}']) {
        return Err("it is negative".to_owned());
    }
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if number.is_empty() {
        return Err("it does not start with a number".to_owned());
    }
    Ok((Decimal::parse(number)?, unit.trim()))
}

impl Decimal {
    fn parse(number: &str) -> Result<Self, String> {
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let fraction = fraction.trim_end_matches('0');
        if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
            return Err(format!("\"{number}\" is not a number"));
        }
        let whole = whole.trim_start_matches('0');
        let too_long = || format!("\"{number}\" has more than {MAX_DIGITS} digits");
        let room = MAX_DIGITS.checked_sub(whole.len()).ok_or_else(too_long)?;
        // Further digits do not matter.
        let fraction = fraction.get(..room).unwrap_or(fraction);
        let written = format!("{whole}{fraction}");
        let significant = written.trim_start_matches('0');
        let digits = if significant.is_empty() {
            0
        } else {
            significant.parse().map_err(|_| too_long())?
        };
        Ok(Self {
            digits,
            scale: fraction.len() as u32,
        })
    }

    /// `self * factor` as an integer of 64 bits. Numbers that a program computed may have too many
    /// digits: the product is rounded where that changes it by less than one part in [`COARSEST`].
    pub(crate) fn times(self, factor: u64) -> Result<u64, Inexact> {
        let product = u128::from(self.digits) * u128::from(factor);
        let power = 10_u128.pow(self.scale);
        let rounded = (product + power / 2) / power;
        let change = product.abs_diff(rounded * power);
        if change > product / COARSEST {
            return Err(Inexact::Fraction);
        }
        u64::try_from(rounded).map_err(|_| Inexact::TooLarge)
    }

    /// The nearest double to `self / 10^shift`; the same on every platform.
    pub(crate) fn to_f64(self, shift: u32) -> f64 {
        // The standard library reads decimals with correct rounding.
        format!("{}e-{}", self.digits, self.scale + shift)
            .parse()
            .unwrap_or(0.0)
    }
}

/// Why a product is not an integer of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inexact {
    Fraction,
    TooLarge,
}

/// `value / 10^scale` without trailing zeros.
pub(crate) fn show(value: u64, scale: u32) -> String {
    let power = 10_u64.pow(scale);
    let (whole, rest) = (value / power, value % power);
    if rest == 0 {
        return whole.to_string();
    }
    let fraction = format!("{rest:0width$}", width = scale as usize);
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}
