//! What readers of several tables share: limits, and quantities within them.

use units::Duration;

use crate::document::Table;
use crate::error::Error;
use crate::quantity::{self, MAX_DURATION};

/// Longest base round trip.
pub(crate) const MAX_RTT: Duration = Duration::from_secs(60);
/// A slot is no shorter, because each costs a draw.
pub(crate) const MIN_SLOT: Duration = Duration::from_micros(10);

/// A span of time of at most `max`. The error is the end of a sentence.
pub(crate) fn time_up_to(text: &str, max: Duration) -> Result<Duration, String> {
    let span = quantity::duration(text)?;
    if span > max {
        return Err(format!("the limit is {}", quantity::format_duration(max)));
    }
    Ok(span)
}

/// A span of time above zero.
pub(crate) fn positive(text: &str) -> Result<Duration, String> {
    let span = time_up_to(text, MAX_DURATION)?;
    if span.is_zero() {
        return Err("it is zero".to_owned());
    }
    Ok(span)
}

/// A span of time within bounds.
pub(crate) fn span(least: Duration, most: Duration) -> impl Fn(&str) -> Result<Duration, String> {
    move |text| {
        let span = positive(text)?;
        if span < least || span > most {
            return Err(format!(
                "it is from {} to {}",
                quantity::format_duration(least),
                quantity::format_duration(most)
            ));
        }
        Ok(span)
    }
}

/// What stands at `key`, or `usual`.
pub(crate) fn optional<T>(
    table: &Table<'_>,
    key: &'static str,
    example: &str,
    usual: T,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, Error> {
    let item = table.get(key);
    item.map_or(Ok(usual), |item| item.read(example, read))
}
