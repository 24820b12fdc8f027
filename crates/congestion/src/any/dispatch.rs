//! What a table of parts becomes: their configurations by name, and an enum that forwards every
//! hook of the kind's contract to the part at hand.

/// The configurations of one kind of part, and its table for `PARTS`.
macro_rules! kind {
    (
        $config:ident, $table:ident, $kind:ident,
        $( $variant:ident($settings:ty) {
            $name:literal, $provenance:expr, $source:literal, $summary:literal
        } )*
    ) => {
        /// A part of its kind, by name, with its settings.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[allow(missing_docs, reason = "the names of the parts")]
        pub enum $config { $( $variant($settings), )* }

        impl $config {
            fn named(name: &str) -> Option<Self> {
                match name {
                    $( $name => Some(Self::$variant(Default::default())), )*
                    _ => None,
                }
            }

            fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
                match self { $( Self::$variant(config) => config.set(name, value), )* }
            }

            fn settings_type(name: &str) -> Option<&'static str> {
                match name {
                    $( $name => Some(core::any::type_name::<$settings>()), )*
                    _ => None,
                }
            }
        }

        const $table: &[PartInfo] = &[ $( PartInfo {
            name: $name,
            kind: PartKind::$kind,
            summary: $summary,
            source: $source,
            options: <$settings as Options>::OPTIONS,
            provenance: $provenance,
        }, )* ];
    };
}

macro_rules! startups {
    ( $( $variant:ident($part:ty, $settings:ty) {
        name: $name:literal,
        provenance: $provenance:expr,
        source: $source:literal,
        summary: $summary:literal,
        only_watches: $only_watches:literal,
    } )* ) => {
        kind! {
            StartupConfig, STARTUPS, Startup,
            $( $variant($settings) { $name, $provenance, $source, $summary } )*
        }

        /// Any start-up.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "the names of the parts")]
        #[allow(clippy::large_enum_variant, reason = "one per connection, without allocation")]
        pub enum AnyStartup {
            $( $variant($part), )*
            Foreign(ForeignStartup),
        }

        impl StartupConfig {
            const fn name(&self) -> &'static str {
                match self { $( Self::$variant(_) => $name, )* }
            }

            const fn only_watches(&self) -> bool {
                match self { $( Self::$variant(_) => $only_watches, )* }
            }

            fn build(self, context: &BuildContext) -> AnyStartup {
                match self {
                    $( Self::$variant(config) => {
                        AnyStartup::$variant(<$part>::new(config, context.now, 0))
                    } )*
                }
            }
        }

        impl Startup for AnyStartup {
            startup_hooks!(forward!($($variant)* Foreign));
        }
    };
}

/// A kind of part that is built from its settings alone, and the enum of its parts.
macro_rules! plain_parts {
    (
        $config:ident, $table:ident, $kind:ident, $any:ident = $doc:literal, $hooks:ident,
        [ $( $elsewhere:ident($foreign:ty) )? ]
        $( $variant:ident($part:ty, $settings:ty) {
            name: $name:literal,
            provenance: $provenance:expr,
            source: $source:literal,
            summary: $summary:literal,
        } )*
    ) => {
        kind! {
            $config, $table, $kind,
            $( $variant($settings) { $name, $provenance, $source, $summary } )*
        }

        #[doc = $doc]
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "the names of the parts")]
        #[allow(clippy::large_enum_variant, reason = "one per connection, without allocation")]
        pub enum $any { $( $variant($part), )* $( $elsewhere($foreign), )? }

        impl $config {
            fn build(self) -> $any {
                match self { $( Self::$variant(config) => $any::$variant(<$part>::new(config)), )* }
            }
        }

        impl $kind for $any {
            $hooks!(forward!($($variant)* $($elsewhere)?));
        }
    };
}

macro_rules! avoidances {
    ( $($rows:tt)* ) => {
        plain_parts! {
            AvoidanceConfig, AVOIDANCES, Avoidance,
            AnyAvoidance = "Any congestion avoidance.", avoidance_hooks,
            [Foreign(ForeignAvoidance)]
            $($rows)*
        }
    };
}

macro_rules! recoveries {
    ( $($rows:tt)* ) => {
        plain_parts! {
            RecoveryConfig, RECOVERIES, Recovery,
            AnyRecovery = "Any recovery.", recovery_hooks, []
            $($rows)*
        }
    };
}

macro_rules! monoliths {
    ( $( $variant:ident($part:ty, $settings:ty) {
        name: $name:literal,
        provenance: $provenance:expr,
        source: $source:literal,
        summary: $summary:literal,
    } )* ) => {
        kind! {
            MonolithicConfig, MONOLITHIC, Monolithic,
            $( $variant($settings) { $name, $provenance, $source, $summary } )*
        }

        impl MonolithicConfig {
            fn build(self, context: &BuildContext) -> AnyCongestionControl {
                match self {
                    $( Self::$variant(config) => {
                        AnyCongestionControl::$variant(<$part>::new(config, context))
                    } )*
                }
            }
        }

        /// Any congestion control.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "the names of the congestion controls")]
        #[allow(clippy::large_enum_variant, reason = "one per connection, without allocation")]
        pub enum AnyCongestionControl {
            Classic(Classic<AnyStartup, AnyAvoidance, AnyRecovery>),
            $( $variant($part), )*
            Foreign(ForeignControl),
        }

        impl CongestionControl for AnyCongestionControl {
            congestion_control_hooks!(forward!(Classic $($variant)* Foreign));
        }
    };
}
