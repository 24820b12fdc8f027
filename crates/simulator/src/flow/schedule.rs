//! When a flow acts: its entries in the calendars of both sides, and its deadlines.

use engine::Component;
use units::Instant;

use super::FlowState;
use crate::agenda::{Agendas, LEFT, RIGHT, Side};

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

    /// Moves the flow's entry on `side` to `at`, if the flow runs.
    #[inline(never)]
    pub fn schedule(&mut self, side: Side, at: Instant, agendas: &mut Agendas) {
        if let Some(component) = self.component {
            self.scheduled[usize::from(side)] = at;
            let flows = &mut agendas[side].flows;
            flows.schedule(component, Some(at));
        }
    }

    /// Ensures that the flow's calendar entry on `side` is no later than `deadline`. Only an earlier
    /// deadline moves an entry. One that is due too early is rescheduled. Returns whether the entry may
    /// have moved.
    #[inline(always)]
    fn keep(&mut self, side: Side, deadline: Instant, agendas: &mut Agendas) -> bool {
        let is_earlier = deadline < self.scheduled[usize::from(side)];
        if is_earlier {
            self.schedule(side, deadline, agendas);
        }
        is_earlier
    }

    /// The same on the receiver's side for its timer.
    #[inline(always)]
    pub fn keep_receiver(&mut self, agendas: &mut Agendas) -> bool {
        self.keep(self.receiver_side, self.receiver_deadline(), agendas)
    }

    /// The same for the sender, its timer and its application.
    #[inline(always)]
    pub fn keep_sender(&mut self, agendas: &mut Agendas) -> bool {
        self.keep(self.sender_side, self.sender_deadline(), agendas)
    }

    /// The same for a sender that waits for its device.
    pub fn keep_device(&mut self, agendas: &mut Agendas) {
        self.keep(self.sender_side, self.device_deadline(), agendas);
    }

    /// Whether the receiver is on the left, and the sender, if it is on the right, may have ended the
    /// flow by `now`.
    #[inline(always)]
    pub fn may_have_ended(&self, now: Instant) -> bool {
        self.receiver_side == LEFT
            && self.endpoints.as_deref().is_some_and(|endpoints| {
                now >= self.place.stop || endpoints.receiver.finished_at().is_some()
            })
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
