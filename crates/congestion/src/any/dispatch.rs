//! What a table of parts becomes: their configurations by name, and an enum that hands every call of
//! the kind's trait on to the part at hand.

/// The configurations of one kind of part, and its table for `PARTS`.
macro_rules! kind {
    (
        $config:ident, $table:ident, $kind:ident,
        $( $variant:ident($part:ty, $settings:ty) = $name:literal, $truth:expr, $source:literal, $summary:literal; )*
    ) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        enum $config { $( $variant($settings), )* }

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
            truth: $truth,
        }, )* ];
    };
}

macro_rules! startups {
    ( $( $variant:ident($part:ty, $settings:ty) = $name:literal, $truth:expr, $source:literal, $summary:literal; )* ) => {
        kind! {
            StartupConfig, STARTUPS, Startup,
            $( $variant($part, $settings) = $name, $truth, $source, $summary; )*
        }

        /// Any start-up.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "the names of the parts")]
        #[allow(clippy::large_enum_variant, reason = "one per connection, and nothing may be allocated")]
        pub enum AnyStartup { $( $variant($part), )* Foreign(startup::Foreign) }

        impl StartupConfig {
            const fn name(&self) -> &'static str {
                match self { $( Self::$variant(_) => $name, )* }
            }

            fn build(self, context: &BuildContext) -> AnyStartup {
                match self { $( Self::$variant(config) => AnyStartup::$variant(<$part>::new(config, context.now, 0)), )* }
            }
        }

        impl Startup for AnyStartup {
            #[inline]
            fn on_sent(&mut self, sent: &Sent) {
                match self { $( Self::$variant(part) => part.on_sent(sent), )* Self::Foreign(part) => part.on_sent(sent) }
            }

            #[inline]
            fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
                match self { $( Self::$variant(part) => part.on_delivery(ack, window), )* Self::Foreign(part) => part.on_delivery(ack, window) }
            }

            #[inline]
            fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
                match self { $( Self::$variant(part) => part.on_ack(ack, window), )* Self::Foreign(part) => part.on_ack(ack, window) }
            }

            fn on_established(&mut self, start: &Established, window: &Window) -> Option<Step> {
                match self { $( Self::$variant(part) => part.on_established(start, window), )* Self::Foreign(part) => part.on_established(start, window) }
            }

            #[inline]
            fn observe(&mut self, ack: &Ack, window: &Window) {
                match self { $( Self::$variant(part) => part.observe(ack, window), )* Self::Foreign(part) => part.observe(ack, window) }
            }

            fn on_congestion(&mut self, congestion: &Congestion) {
                match self { $( Self::$variant(part) => part.on_congestion(congestion), )* Self::Foreign(part) => part.on_congestion(congestion) }
            }

            fn take_over(&mut self, congestion: &Congestion, window: &Window) -> Option<Reduction> {
                match self { $( Self::$variant(part) => part.take_over(congestion, window), )* Self::Foreign(part) => part.take_over(congestion, window) }
            }

            fn on_recovery_ack(&mut self, ack: &Ack, window: &Window) -> Bytes {
                match self { $( Self::$variant(part) => part.on_recovery_ack(ack, window), )* Self::Foreign(part) => part.on_recovery_ack(ack, window) }
            }

            fn on_recovery_exit(&mut self, now: Instant, window: &Window) -> Reduction {
                match self { $( Self::$variant(part) => part.on_recovery_exit(now, window), )* Self::Foreign(part) => part.on_recovery_exit(now, window) }
            }

            #[inline]
            fn requires_pacing(&self) -> bool {
                match self { $( Self::$variant(part) => part.requires_pacing(), )* Self::Foreign(part) => part.requires_pacing() }
            }

            #[inline]
            fn sends_copies(&self) -> bool {
                match self { $( Self::$variant(part) => part.sends_copies(), )* Self::Foreign(part) => part.sends_copies() }
            }

            #[inline]
            fn pacing_start(&self) -> Option<Instant> {
                match self { $( Self::$variant(part) => part.pacing_start(), )* Self::Foreign(part) => part.pacing_start() }
            }

            #[inline]
            fn steers_sending(&self) -> bool {
                match self { $( Self::$variant(part) => part.steers_sending(), )* Self::Foreign(part) => part.steers_sending() }
            }

            fn supposed_receive_window(&self) -> Option<Bytes> {
                match self { $( Self::$variant(part) => part.supposed_receive_window(), )* Self::Foreign(part) => part.supposed_receive_window() }
            }

            fn after_sent(&mut self, sent: &Sent, window: &Window) -> Option<Step> {
                match self { $( Self::$variant(part) => part.after_sent(sent, window), )* Self::Foreign(part) => part.after_sent(sent, window) }
            }

            fn reduces_from(&mut self, congestion: &Congestion, window: &Window) -> Option<Bytes> {
                match self { $( Self::$variant(part) => part.reduces_from(congestion, window), )* Self::Foreign(part) => part.reduces_from(congestion, window) }
            }

            fn on_close(&self, now: Instant, memory: &mut PathMemory) {
                match self { $( Self::$variant(part) => part.on_close(now, memory), )* Self::Foreign(part) => part.on_close(now, memory) }
            }

            fn restart(&mut self, now: Instant, snd_nxt: u64) {
                match self { $( Self::$variant(part) => part.restart(now, snd_nxt), )* Self::Foreign(part) => part.restart(now, snd_nxt) }
            }

            fn requested_rate(&self, queued: Bytes) -> Option<Rate> {
                match self { $( Self::$variant(part) => part.requested_rate(queued), )* Self::Foreign(part) => part.requested_rate(queued) }
            }

            fn on_approval(&mut self, rate: Rate, rtt: Duration, window: &Window) -> Option<Step> {
                match self { $( Self::$variant(part) => part.on_approval(rate, rtt, window), )* Self::Foreign(part) => part.on_approval(rate, rtt, window) }
            }

            #[inline]
            fn pacing_rate(&self) -> Option<Rate> {
                match self { $( Self::$variant(part) => part.pacing_rate(), )* Self::Foreign(part) => part.pacing_rate() }
            }

            fn passive_decision(&self) -> Option<SlowStartExit> {
                match self { $( Self::$variant(part) => part.passive_decision(), )* Self::Foreign(part) => part.passive_decision() }
            }
        }
    };
}

macro_rules! avoidances {
    ( $( $variant:ident($part:ty, $settings:ty) = $name:literal, $truth:expr, $source:literal, $summary:literal; )* ) => {
        kind! {
            AvoidanceConfig, AVOIDANCES, Avoidance,
            $( $variant($part, $settings) = $name, $truth, $source, $summary; )*
        }

        /// Any congestion avoidance.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "the names of the parts")]
        #[allow(clippy::large_enum_variant, reason = "one per connection, and nothing may be allocated")]
        pub enum AnyAvoidance { $( $variant($part), )* }

        impl AvoidanceConfig {
            fn build(self) -> AnyAvoidance {
                match self { $( Self::$variant(config) => AnyAvoidance::$variant(<$part>::new(config)), )* }
            }
        }

        impl Avoidance for AnyAvoidance {
            #[inline]
            fn on_delivery(&mut self, ack: &Ack, window: &Window) {
                match self { $( Self::$variant(part) => part.on_delivery(ack, window), )* }
            }

            #[inline]
            fn on_ack(&mut self, acked: Bytes, ack: &Ack, window: &Window) -> Bytes {
                match self { $( Self::$variant(part) => part.on_ack(acked, ack, window), )* }
            }

            fn on_congestion(&mut self, congestion: &Congestion, window: &Window) -> Bytes {
                match self { $( Self::$variant(part) => part.on_congestion(congestion, window), )* }
            }

            fn on_timeout(&mut self) {
                match self { $( Self::$variant(part) => part.on_timeout(), )* }
            }

            fn on_idle(&mut self, now: Instant, idle_since: Instant) {
                match self { $( Self::$variant(part) => part.on_idle(now, idle_since), )* }
            }

            #[inline]
            fn epoch(&self) -> Option<Instant> {
                match self { $( Self::$variant(part) => part.epoch(), )* }
            }

            fn begin(&mut self, context: &BuildContext) -> Option<Bytes> {
                match self { $( Self::$variant(part) => part.begin(context), )* }
            }

            #[inline]
            fn on_slow_start(&mut self, growth: Bytes, ack: &Ack, window: &Window) -> Bytes {
                match self { $( Self::$variant(part) => part.on_slow_start(growth, ack, window), )* }
            }

            #[inline]
            fn decide(&mut self, ack: &Ack, window: &Window) -> Option<Decision> {
                match self { $( Self::$variant(part) => part.decide(ack, window), )* }
            }

            fn on_recovery_exit(&mut self, window: &Window) -> Option<Bytes> {
                match self { $( Self::$variant(part) => part.on_recovery_exit(window), )* }
            }

            fn recovery_floor(&self, window: &Window) -> Bytes {
                match self { $( Self::$variant(part) => part.recovery_floor(window), )* }
            }
        }
    };
}

macro_rules! recoveries {
    ( $( $variant:ident($part:ty, $settings:ty) = $name:literal, $truth:expr, $source:literal, $summary:literal; )* ) => {
        kind! {
            RecoveryConfig, RECOVERIES, Recovery,
            $( $variant($part, $settings) = $name, $truth, $source, $summary; )*
        }

        /// Any recovery.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "the names of the parts")]
        #[allow(clippy::large_enum_variant, reason = "one per connection, and nothing may be allocated")]
        pub enum AnyRecovery { $( $variant($part), )* }

        impl RecoveryConfig {
            fn build(self) -> AnyRecovery {
                match self { $( Self::$variant(config) => AnyRecovery::$variant(<$part>::new(config)), )* }
            }
        }

        impl Recovery for AnyRecovery {
            fn enter(&mut self, window: &Window, ssthresh: Bytes, in_flight: Bytes) -> Bytes {
                match self { $( Self::$variant(part) => part.enter(window, ssthresh, in_flight), )* }
            }

            #[inline]
            fn on_ack(&mut self, ack: &Ack, window: &Window) -> Bytes {
                match self { $( Self::$variant(part) => part.on_ack(ack, window), )* }
            }

            #[inline]
            fn on_sent(&mut self, size: Bytes) {
                match self { $( Self::$variant(part) => part.on_sent(size), )* }
            }

            fn bound(&mut self, floor: Bytes) {
                match self { $( Self::$variant(part) => part.bound(floor), )* }
            }

            fn on_exit(&self, window: &Window) -> Bytes {
                match self { $( Self::$variant(part) => part.on_exit(window), )* }
            }
        }
    };
}

macro_rules! wholes {
    ( $( $variant:ident($part:ty, $settings:ty) = $name:literal, $truth:expr, $source:literal, $summary:literal; )* ) => {
        kind! {
            WholeConfig, WHOLES, Whole,
            $( $variant($part, $settings) = $name, $truth, $source, $summary; )*
        }

        impl WholeConfig {
            fn build(self, context: &BuildContext) -> AnyCongestionControl {
                match self { $( Self::$variant(config) => AnyCongestionControl::$variant(<$part>::new(config, context)), )* }
            }
        }

        /// Any congestion control.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "the names of the congestion controls")]
        #[allow(clippy::large_enum_variant, reason = "one per connection, and nothing may be allocated")]
        pub enum AnyCongestionControl {
            Classic(Classic<AnyStartup, AnyAvoidance, AnyRecovery>),
            $( $variant($part), )*
        }

        impl CongestionControl for AnyCongestionControl {
            #[inline]
            fn window(&self) -> Window {
                match self { Self::Classic(control) => control.window(), $( Self::$variant(control) => control.window(), )* }
            }

            #[inline]
            fn pacing_rate(&self) -> Option<Rate> {
                match self { Self::Classic(control) => control.pacing_rate(), $( Self::$variant(control) => control.pacing_rate(), )* }
            }

            #[inline]
            fn requires_pacing(&self) -> bool {
                match self { Self::Classic(control) => control.requires_pacing(), $( Self::$variant(control) => control.requires_pacing(), )* }
            }

            #[inline]
            fn pacing_start(&self) -> Option<Instant> {
                match self { Self::Classic(control) => control.pacing_start(), $( Self::$variant(control) => control.pacing_start(), )* }
            }

            #[inline]
            fn least_burst_segments(&self) -> u32 {
                match self { Self::Classic(control) => control.least_burst_segments(), $( Self::$variant(control) => control.least_burst_segments(), )* }
            }

            #[inline]
            fn steers_sending(&self) -> bool {
                match self { Self::Classic(control) => control.steers_sending(), $( Self::$variant(control) => control.steers_sending(), )* }
            }

            fn supposed_receive_window(&self) -> Option<Bytes> {
                match self { Self::Classic(control) => control.supposed_receive_window(), $( Self::$variant(control) => control.supposed_receive_window(), )* }
            }

            fn requested_rate(&self, queued: Bytes) -> Option<Rate> {
                match self { Self::Classic(control) => control.requested_rate(queued), $( Self::$variant(control) => control.requested_rate(queued), )* }
            }

            fn on_approval(&mut self, now: Instant, rate: Rate, rtt: Duration) {
                match self { Self::Classic(control) => control.on_approval(now, rate, rtt), $( Self::$variant(control) => control.on_approval(now, rate, rtt), )* }
            }

            fn header_bytes(&self) -> Option<u32> {
                match self { Self::Classic(control) => control.header_bytes(), $( Self::$variant(control) => control.header_bytes(), )* }
            }

            fn feedback(&self) -> Option<Feedback> {
                match self { Self::Classic(control) => control.feedback(), $( Self::$variant(control) => control.feedback(), )* }
            }

            fn on_feedback(&mut self, now: Instant, feedback: &Feedback) {
                match self { Self::Classic(control) => control.on_feedback(now, feedback), $( Self::$variant(control) => control.on_feedback(now, feedback), )* }
            }

            fn on_established(&mut self, start: &Established) {
                match self { Self::Classic(control) => control.on_established(start), $( Self::$variant(control) => control.on_established(start), )* }
            }

            #[inline]
            fn sends_copies(&self) -> bool {
                match self { Self::Classic(control) => control.sends_copies(), $( Self::$variant(control) => control.sends_copies(), )* }
            }

            fn watches_losses(&self) -> bool {
                match self { Self::Classic(control) => control.watches_losses(), $( Self::$variant(control) => control.watches_losses(), )* }
            }

            fn on_lost(&mut self, lost: &Lost) {
                match self { Self::Classic(control) => control.on_lost(lost), $( Self::$variant(control) => control.on_lost(lost), )* }
            }

            fn on_close(&self, now: Instant, memory: &mut PathMemory) {
                match self { Self::Classic(control) => control.on_close(now, memory), $( Self::$variant(control) => control.on_close(now, memory), )* }
            }

            #[inline]
            fn on_sent(&mut self, sent: &Sent) {
                match self { Self::Classic(control) => control.on_sent(sent), $( Self::$variant(control) => control.on_sent(sent), )* }
            }

            #[inline]
            fn on_delivery(&mut self, ack: &Ack) {
                match self { Self::Classic(control) => control.on_delivery(ack), $( Self::$variant(control) => control.on_delivery(ack), )* }
            }

            #[inline]
            fn on_ack(&mut self, ack: &Ack) {
                match self { Self::Classic(control) => control.on_ack(ack), $( Self::$variant(control) => control.on_ack(ack), )* }
            }

            fn on_congestion(&mut self, congestion: &Congestion) {
                match self { Self::Classic(control) => control.on_congestion(congestion), $( Self::$variant(control) => control.on_congestion(congestion), )* }
            }

            fn on_recovery_exit(&mut self, now: Instant) {
                match self { Self::Classic(control) => control.on_recovery_exit(now), $( Self::$variant(control) => control.on_recovery_exit(now), )* }
            }

            fn undo(&mut self, now: Instant) {
                match self { Self::Classic(control) => control.undo(now), $( Self::$variant(control) => control.undo(now), )* }
            }

            fn on_idle_restart(&mut self, now: Instant, idle: Duration, rto: Duration, initial_window: Bytes, snd_nxt: u64) {
                match self { Self::Classic(control) => control.on_idle_restart(now, idle, rto, initial_window, snd_nxt), $( Self::$variant(control) => control.on_idle_restart(now, idle, rto, initial_window, snd_nxt), )* }
            }

            fn on_window_unused(&mut self, now: Instant, used: Bytes, initial_window: Bytes) {
                match self { Self::Classic(control) => control.on_window_unused(now, used, initial_window), $( Self::$variant(control) => control.on_window_unused(now, used, initial_window), )* }
            }

            fn slow_start_exit(&self) -> Option<SlowStartExit> {
                match self { Self::Classic(control) => control.slow_start_exit(), $( Self::$variant(control) => control.slow_start_exit(), )* }
            }

            fn passive_decision(&self) -> Option<SlowStartExit> {
                match self { Self::Classic(control) => control.passive_decision(), $( Self::$variant(control) => control.passive_decision(), )* }
            }
        }
    };
}
