//! When a flow acts: its entries in the calendars of both sides, and its deadlines.

use engine::Component;
use units::Instant;

use super::FlowState;
use crate::agenda::{RIGHT, Side};

impl FlowState<'_> {
    /// Gives the flow, which starts, its place in the calendars.
    pub const fn enter_calendar(&mut self, component: Component) {
        self.component = Some(component);
    }

    /// Takes the flow's place in the calendars.
    pub const fn leave_calendar(&mut self) -> Option<Component> {
        self.component.take()
    }

    /// Its place in the calendars while it runs.
    #[inline(always)]
    pub const fn component(&self) -> Option<Component> {
        self.component
    }

    /// Moves the flow's entry on `side` to `at`. Returns its place, if the flow runs.
    pub fn reschedule(&mut self, side: Side, at: Instant) -> Option<Component> {
        let component = self.component?;
        self.scheduled[usize::from(side)] = at;
        Some(component)
    }

    /// Whether the flow's entry on `side` is later than `deadline`.
    #[inline(always)]
    pub fn is_late_for(&self, side: Side, deadline: Instant) -> bool {
        deadline < self.scheduled[usize::from(side)]
    }

    /// The side of its sender.
    #[inline(always)]
    pub const fn sender_side(&self) -> Side {
        self.sender_side
    }

    /// The side of its receiver.
    #[inline(always)]
    pub const fn receiver_side(&self) -> Side {
        self.receiver_side
    }

    /// Puts the end behind the path's forward direction on the right.
    pub const fn part_ends(&mut self) {
        if self.place.reverse {
            self.sender_side = RIGHT;
        } else {
            self.receiver_side = RIGHT;
        }
    }

    /// When the application acts next.
    #[inline(always)]
    pub const fn application_due(&self) -> Instant {
        self.application
    }

    /// Lets the application act at `at`.
    pub const fn wake_application(&mut self, at: Instant) {
        self.application = at;
    }

    /// The flow's earliest deadline on `side`.
    #[inline]
    pub fn deadline(&self, side: Side) -> Instant {
        let mut deadline = Instant::MAX;
        if self.sender_side == side {
            deadline = self.sender_deadline();
        }
        if self.receiver_side == side {
            deadline = deadline.min(self.receiver_deadline());
        }
        deadline
    }

    /// When the sender's timer expires, or the application acts.
    #[inline(always)]
    pub fn sender_deadline(&self) -> Instant {
        let timer = self.endpoints.as_deref().map_or(Instant::MAX, |endpoints| {
            endpoints.sender.poll_timeout().unwrap_or(Instant::MAX)
        });
        timer.min(self.application)
    }

    /// When the receiver's timer expires.
    #[inline(always)]
    pub fn receiver_deadline(&self) -> Instant {
        self.endpoints.as_deref().map_or(Instant::MAX, |endpoints| {
            endpoints.receiver.poll_timeout().unwrap_or(Instant::MAX)
        })
    }

    /// When a sender that waits for its device can continue. [`Self::deadline`] excludes this.
    pub fn device_deadline(&self) -> Instant {
        match (&self.device, &self.endpoints) {
            (Some(device), Some(endpoints)) if endpoints.sender.is_throttled() => device.next(),
            _ => Instant::MAX,
        }
    }
}
