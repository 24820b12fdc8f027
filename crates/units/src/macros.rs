//! What makes a description and the type that it describes from one list; see [`crate::table`].

/// Makes an enumeration the words of a key: `words!(Direction: "forward" => Forward, ...)`.
#[macro_export]
macro_rules! words {
    ($type:ident: $($word:literal => $variant:ident),+ $(,)?) => {
        impl $type {
            /// Its words, for the kind of a key.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            const OF_WORDS: &'static [Self] = &[$(Self::$variant),+];
        }

        impl $crate::table::Field for $type {
            fn value(&self) -> $crate::table::Value {
                let place = Self::OF_WORDS.iter().position(|word| word == self);
                $crate::table::Value::Word(place.unwrap_or_default())
            }

            fn of(value: $crate::table::Value) -> Option<Self> {
                match value {
                    $crate::table::Value::Word(word) => Self::OF_WORDS.get(word).copied(),
                    _ => None,
                }
            }
        }
    };
}

/// Makes a configuration and its description from one list.
///
/// ```
/// use units::table::{Described, Key, Kind, Rules, Value};
/// use units::{Duration, Rate, described};
///
/// described! {
///     #[derive(Clone, Debug)]
///     pub struct Shaper("shaper", "a shaper", "Holds packets back to a rate.") {
///         /// The rate at which packets leave.
///         rate: Rate = Rate::ZERO => Key::of(Kind::RATE).needed("1 Mbit/s");
///         /// How long a burst may be.
///         burst: Duration = Duration::from_millis(5) => Key::of(Kind::SPAN);
///     }
/// }
/// impl Rules for Shaper {}
///
/// assert_eq!(Shaper::TABLE.keys[1].doc.trim(), "How long a burst may be.");
/// assert_eq!(Shaper::USUAL.value(1), Value::Time(Duration::from_millis(5)));
/// ```
#[macro_export]
macro_rules! described {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident($table:literal, $title:literal, $summary:literal) {
            $( $(#[doc = $doc:literal])+ $field:ident: $type:ty = $usual:expr => $key:expr; )*
        }
    ) => {
        #[doc = $summary]
        $(#[$attribute])*
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )*
        }

        impl $name {
            /// Each key at its default; those that a file has to say are none yet.
            pub const USUAL: Self = Self { $( $field: $usual, )* };

            /// The keys of its table.
            pub const TABLE: &'static $crate::table::Table = &$crate::table::Table {
                name: $table,
                title: $title,
                summary: $summary,
                keys: &[ $( $key.complete(
                    stringify!($field),
                    || <$type as $crate::table::Field>::value(&$name::USUAL.$field),
                    concat!($($doc),+),
                ), )* ],
            };
        }

        impl $crate::table::Described for $name {
            fn table(&self) -> &'static $crate::table::Table {
                Self::TABLE
            }

            fn value(&self, key: usize) -> $crate::table::Value {
                let values: &[&dyn Fn() -> $crate::table::Value] =
                    &[ $( &|| $crate::table::Field::value(&self.$field), )* ];
                values.get(key).map_or($crate::table::Value::Nothing, |value| value())
            }

            fn set(&mut self, key: usize, value: $crate::table::Value) {
                let setters: &[fn(&mut Self, $crate::table::Value)] = &[ $( |config, value| {
                    if let Some(value) = $crate::table::Field::of(value) {
                        config.$field = value;
                    }
                }, )* ];
                if let Some(set) = setters.get(key) {
                    set(self, value);
                }
            }

            fn inner(&self, key: usize) -> Option<&dyn $crate::table::Described> {
                let inner: &[fn(&Self) -> Option<&dyn $crate::table::Described>] =
                    &[ $( |config| $crate::table::Field::inner(&config.$field), )* ];
                inner.get(key).and_then(|inner| inner(self))
            }

            fn inner_mut(&mut self, key: usize) -> Option<&mut dyn $crate::table::Described> {
                let inner: &[fn(&mut Self) -> Option<&mut dyn $crate::table::Described>] =
                    &[ $( |config| $crate::table::Field::inner_mut(&mut config.$field), )* ];
                inner.get(key).and_then(|inner| inner(self))
            }
        }

        impl $crate::table::Field for $name {
            fn value(&self) -> $crate::table::Value {
                $crate::table::Value::Nothing
            }

            fn of(_: $crate::table::Value) -> Option<Self> {
                Some(Self::USUAL)
            }

            fn inner(&self) -> Option<&dyn $crate::table::Described> {
                Some(self)
            }

            fn inner_mut(&mut self) -> Option<&mut dyn $crate::table::Described> {
                Some(self)
            }
        }
    };
}
