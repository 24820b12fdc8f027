//! Shared by the writers of the resolved form.

use units::Duration;

/// For output only.
pub(crate) fn millis(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e6
}

/// Writes `key: value` pairs as a map; pairs after a semicolon only if they have a value.
macro_rules! map {
    ($serializer:expr, $( $key:literal: $value:expr ),* $(,)? $(; $( $last:literal: $option:expr ),+ )?) => {{
        let mut map = $serializer.serialize_map(None)?;
        $( map.serialize_entry($key, &$value)?; )*
        $( $( if let Some(value) = $option {
            map.serialize_entry($last, &value)?;
        } )+ )?
        map.end()
    }};
}
pub(crate) use map;
