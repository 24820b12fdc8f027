//! What makes the controllers of a stack's connections.

/// Defines `Slowstart`, the algorithm that each new path of a connection gets, in the crate of a
/// stack: its constructors refuse what `$capabilities` do not offer.
///
/// It is a macro because a stack's trait for factories can be implemented for a type of the same
/// crate only.
#[macro_export]
macro_rules! factory {
    ($capabilities:expr, $stack:literal, $how:literal) => {
        /// An algorithm that each new path of a connection gets; see
        #[doc = concat!($how, ".")]
        #[derive(Clone, Debug)]
        pub struct Slowstart {
            algorithm: $crate::Algorithm,
            initial_window: Option<$crate::Bytes>,
            seed: u64,
        }

        impl Slowstart {
            /// The congestion control `algorithm`.
            ///
            /// # Errors
            #[doc = concat!("It needs what ", $stack, " does not offer.")]
            pub fn new(algorithm: $crate::Algorithm) -> Result<Self, $crate::Unsupported> {
                $capabilities.check(&algorithm)?;
                Ok(Self {
                    algorithm,
                    initial_window: None,
                    seed: 0,
                })
            }

            /// The congestion control of this name, such as `cubic+search` or `reno+hystart++`.
            ///
            /// # Errors
            #[doc = concat!("The name is unknown, or the algorithm needs what ", $stack, " does not offer.")]
            pub fn named(
                name: &str,
            ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
                let algorithm: $crate::Algorithm =
                    name.parse().map_err(|error| format!("{error}"))?;
                Ok(Self::new(algorithm)?)
            }

            /// Begins with a window of `bytes`, not with that of RFC 9002, section 7.2.
            #[must_use]
            pub fn initial_window(mut self, bytes: u64) -> Self {
                self.initial_window = Some($crate::Bytes::new(bytes));
                self
            }

            /// The seed of the algorithm's random numbers, where it draws some.
            #[must_use]
            pub const fn seed(mut self, seed: u64) -> Self {
                self.seed = seed;
                self
            }

            /// A path whose datagrams carry `mtu` bytes, and whose time begins now.
            fn setup(&self, mtu: u16) -> $crate::Setup {
                let datagram = $crate::Bytes::new(u64::from(mtu));
                let setup = $crate::Setup::new(self.algorithm, datagram);
                $crate::Setup {
                    initial_window: self.initial_window.unwrap_or(setup.initial_window),
                    seed: self.seed,
                    ..setup
                }
            }

            /// Its congestion control.
            fn core(setup: $crate::Setup) -> $crate::Core {
                $crate::Core::new(setup, &$capabilities).expect("`new` has checked the algorithm")
            }
        }
    };
}
