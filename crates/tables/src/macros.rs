//! Macros that make a description and the type that it describes from one list; see
//! [`Table`](crate::Table).

/// Makes the variants of an enumeration the words of a key: `words!(Direction: "forward" =>
/// Forward, ...)`.
#[macro_export]
macro_rules! words {
    ($type:ident: $($word:literal => $variant:ident),+ $(,)?) => {
        impl $type {
            /// Its words, for the kind of a key.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            const OF_WORDS: &'static [Self] = &[$(Self::$variant),+];
        }

        impl $crate::Field for $type {
            fn value(&self) -> $crate::Value {
                let place = Self::OF_WORDS.iter().position(|word| word == self);
                $crate::Value::Word(place.unwrap_or_default())
            }

            fn of(value: $crate::Value) -> Option<Self> {
                match value {
                    $crate::Value::Word(word) => Self::OF_WORDS.get(word).copied(),
                    _ => None,
                }
            }
        }
    };
}

/// Makes an enumeration whose variants are the kinds of a key: each has a word and, if it has
/// settings, a described configuration.
///
/// ```
/// use tables::{Described, Field, Key, Kind, Rules, Value, choice, described};
///
/// described! {
///     #[derive(Clone, Debug, PartialEq)]
///     pub struct Gentle("gentle", "a gentle one", "It has a setting.") {
///         /// How gentle it is.
///         degree: u64 = 3 => Key::of(Kind::Integer(1, 9));
///     }
/// }
/// impl Rules for Gentle {}
///
/// choice! {
///     /// What it is like.
///     #[derive(Clone, Debug, PartialEq)]
///     pub enum Manner("a manner") {
///         /// It has no settings.
///         Plain = "plain";
///         /// It has some.
///         Gentle(Gentle) = "gentle";
///     }
/// }
///
/// let gentle = Manner::of(Value::Word(1)).expect("a kind");
/// assert_eq!(gentle, Manner::Gentle(Gentle::DEFAULT));
/// assert_eq!(gentle.inner().expect("settings").value(0), Value::Integer(3));
/// assert_eq!(Manner::KINDS[1].table.keys[0].name, "degree");
/// ```
#[macro_export]
macro_rules! choice {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident($title:literal) {
            $( $(#[$about:meta])+ $variant:ident $(($config:ty))? = $word:literal; )+
        }
    ) => {
        $(#[$attribute])*
        pub enum $name {
            $( $(#[$about])+ $variant $(($config))?, )+
        }

        impl $name {
            /// Its kinds, for the kind of a key.
            pub const KINDS: &'static [$crate::Variant] = &[ $( $crate::Variant {
                word: $word,
                table: $crate::variant_table!($title, $word, $($config)?),
            } ),+ ];

            /// The word of its kind.
            #[must_use]
            pub const fn word(&self) -> &'static str {
                match self {
                    $( Self::$variant { .. } => $word, )+
                }
            }
        }

        impl $crate::Field for $name {
            fn value(&self) -> $crate::Value {
                let word = self.word();
                let place = Self::KINDS.iter().position(|kind| kind.word == word);
                $crate::Value::Word(place.unwrap_or_default())
            }

            fn of(value: $crate::Value) -> Option<Self> {
                let usual = [ $( Self::$variant $((<$config>::DEFAULT))? ),+ ];
                let place = match value {
                    $crate::Value::Word(word) => word,
                    $crate::Value::Nothing => 0,
                    _ => return None,
                };
                usual.into_iter().nth(place)
            }

            #[allow(unreachable_patterns, reason = "each kind may have settings")]
            fn inner(&self) -> Option<&dyn $crate::Described> {
                match self {
                    $( $( Self::$variant(config) => Some::<&$config>(config).map(|it| it as _), )? )+
                    _ => None,
                }
            }

            #[allow(unreachable_patterns, reason = "each kind may have settings")]
            fn inner_mut(&mut self) -> Option<&mut dyn $crate::Described> {
                match self {
                    $( $( Self::$variant(config) => {
                        Some::<&mut $config>(config).map(|it| it as _)
                    } )? )+
                    _ => None,
                }
            }
        }
    };
}

/// The table of a kind, or an empty one.
#[doc(hidden)]
#[macro_export]
macro_rules! variant_table {
    ($title:literal, $word:literal, $config:ty) => {
        <$config>::TABLE
    };
    ($title:literal, $word:literal,) => {
        &$crate::Table {
            name: $word,
            title: $title,
            summary: "",
            keys: &[],
        }
    };
}

/// Makes a configuration and its description from one list.
///
/// ```
/// use tables::{Described, Key, Kind, Rules, Value, described};
/// use units::{Duration, Rate};
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
/// assert_eq!(Shaper::DEFAULT.value(1), Value::Time(Duration::from_millis(5)));
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
            pub const DEFAULT: Self = Self { $( $field: $usual, )* };

            /// The keys of its table.
            pub const TABLE: &'static $crate::Table = &$crate::Table {
                name: $table,
                title: $title,
                summary: $summary,
                keys: &[ $( $key.complete(
                    stringify!($field),
                    || <$type as $crate::Field>::value(&$name::DEFAULT.$field),
                    concat!($($doc),+),
                ), )* ],
            };
        }

        impl $crate::Described for $name {
            fn table(&self) -> &'static $crate::Table {
                Self::TABLE
            }

            fn value(&self, key: usize) -> $crate::Value {
                let values: &[&dyn Fn() -> $crate::Value] =
                    &[ $( &|| $crate::Field::value(&self.$field), )* ];
                values.get(key).map_or($crate::Value::Nothing, |value| value())
            }

            fn give(&mut self, key: usize, given: $crate::Given<'_>) {
                let setters: &[fn(&mut Self, $crate::Given<'_>)] = &[ $( |config, given| {
                    if let Some(value) = $crate::Field::take(given) {
                        config.$field = value;
                    }
                }, )* ];
                if let Some(set) = setters.get(key) {
                    set(self, given);
                }
            }

            fn inner(&self, key: usize) -> Option<&dyn $crate::Described> {
                let inner: &[fn(&Self) -> Option<&dyn $crate::Described>] =
                    &[ $( |config| $crate::Field::inner(&config.$field), )* ];
                inner.get(key).and_then(|inner| inner(self))
            }

            fn inner_mut(&mut self, key: usize) -> Option<&mut dyn $crate::Described> {
                let inner: &[fn(&mut Self) -> Option<&mut dyn $crate::Described>] =
                    &[ $( |config| $crate::Field::inner_mut(&mut config.$field), )* ];
                inner.get(key).and_then(|inner| inner(self))
            }
        }

        impl $crate::Field for $name {
            fn value(&self) -> $crate::Value {
                $crate::Value::Nothing
            }

            fn of(_: $crate::Value) -> Option<Self> {
                Some(Self::DEFAULT)
            }

            fn inner(&self) -> Option<&dyn $crate::Described> {
                Some(self)
            }

            fn inner_mut(&mut self) -> Option<&mut dyn $crate::Described> {
                Some(self)
            }
        }
    };
}
