"""Senders that routers tell a rate: Quick-Start, RCP and XCP, written from RFC 4782, RFC 3742 and what
Dukkipati and McKeown, and Katabi, Handley and Rohrs publish, in exact numbers.

Rates are in bytes per second and count headers: 52 bytes of IP and TCP with timestamps, and 12 more
for RCP, 20 for XCP. That a sender falls back to Reno where a router does not help is our reading.
"""

from __future__ import annotations

from fractions import Fraction

from models import Standard
from sender import Sender

HEADERS = 52


def window(rate: int, rtt: int, packet: int) -> int:
    """RFC 4782 section 4.4: what a rate sends in `rtt` us, in whole packets."""
    return rate * rtt // 1_000_000 // packet


def payload(rate: int, smss: int, packet: int) -> int:
    """The part of a rate that is no header."""
    return rate * smss // packet


class QuickStart(Standard):
    """RFC 4782 with the Limited Slow Start (RFC 3742) that it demands, `max_ssthresh` of 100."""

    def __init__(self) -> None:
        self.mode_of_flight = "ordinary"
        self.part = Fraction(0)
        self.flight = self.again = 0

    def established(self, cc: Sender, start: dict) -> None:
        rate, packet = start["approved"] or 0, cc.file.smss + HEADERS
        size = window(rate, start["rtt"], packet)
        if size > cc.cwnd:
            self.initial, self.mode_of_flight = cc.cwnd, "paced"
            self.rate = payload(rate, cc.file.smss, packet)
            cc.cwnd = size

    def pace(self, cc: Sender) -> str:
        return str(self.rate) if self.mode_of_flight == "paced" else "none"

    def sent(self, cc: Sender, count: int, again: bool) -> None:
        if self.mode_of_flight == "paced":
            self.flight += count
        elif self.mode_of_flight == "too much" and again:
            self.again += count

    def detect(self, ack: dict, cc: Sender) -> str | None:
        if self.mode_of_flight == "paced":
            self.mode_of_flight, cc.cwnd = "watched", min(cc.cwnd, self.flight)
        if self.mode_of_flight == "watched" and ack["una"] >= self.flight:
            self.mode_of_flight = "ordinary"
        return None

    def grow(self, ack: dict, cc: Sender) -> int:
        cwnd = cc.cwnd
        for _ in range(ack["delivered"]):
            self.part += 1 if cwnd <= 100 else Fraction(1, cwnd // 50)
            cwnd, self.part = cwnd + int(self.part), self.part % 1
        return cwnd - cc.cwnd

    def timeout(self, cc: Sender) -> None:
        self.mode_of_flight, self.part = "ordinary", Fraction(0)

    def take_over(self, cc: Sender, before: int) -> bool:
        """As if nothing had been approved. What was delivered is known when all of it is repaired."""
        if self.mode_of_flight not in ("paced", "watched"):
            return False
        self.mode_of_flight = "too much"
        cc.cwnd, cc.ssthresh = self.initial, self.flight // 2
        return True

    def recover(self, cc: Sender, delivered: int, lost: int) -> int:
        return self.initial

    def recovered(self, cc: Sender) -> None:
        self.mode_of_flight = "ordinary"
        cc.cwnd, cc.ssthresh = self.initial, (self.flight - self.again) // 2


class Told(Sender):
    """A sender whose packets collect what routers say; `feedback` is what an ACK brings, `None` where a
    router did not help. Without their help it is Reno."""

    key, help = "", None

    def established(self, rtt: int, feedback: int | None) -> None:
        self.rtt = rtt
        self.hear(feedback)
        self.write(f"established rtt={rtt}")

    def hear(self, feedback: int | None) -> None:
        self.help = feedback
        self.words = f" {self.key}={'none' if feedback is None else feedback}"

    def heard(self, now: int, una: int, feedback: int | None, **more) -> None:
        """An ACK."""
        self.hear(feedback)
        self.ack(now, una, rtt=self.rtt, **more)

    words = ""

    def write(self, words: str) -> None:
        super().write(words + self.words)
        self.words = ""


class Rcp(Told):
    """Paced at the rate of the path; two round trips of it, four segments at least, are in flight."""

    key = "rate"

    def hear(self, feedback: int | None) -> None:
        if feedback is None and self.help is not None:
            self.cwnd = self.reno
        super().hear(feedback)
        if feedback is not None:
            self.packet = self.file.smss + HEADERS + 12
            self.cwnd = max(window(feedback, 2 * self.rtt, self.packet), 4)

    reno = 10

    def pace(self) -> str:
        return "none" if self.help is None else str(payload(self.help, self.file.smss, self.packet))

    def grow(self, facts: dict) -> None:
        if self.help is None:
            super().grow(facts)

    def reduce(self, reason: str) -> None:
        if self.help is None:
            super().reduce(reason)
        else:
            self.prr_delivered = self.prr_out = 0

    def prr(self, delivered: int, safe: bool) -> None:
        if self.help is None:
            super().prr(delivered, safe)

    def end_reduction(self) -> None:
        if self.help is None:
            super().end_reduction()

    said_pace = "none"

    def write(self, words: str) -> None:
        said, event = self.said_pace, self.file.event
        if self.pace() != said:
            self.said_pace = self.pace()
            self.file.event = lambda now, text, **holds: event(now, text, **holds, pace=self.said_pace)
        super().write(words)
        self.file.event = event


class Xcp(Told):
    """The window moves by the feedback over a round trip; a loss is answered as Reno does, and while
    it is repaired the feedback moves nothing."""

    key = "feedback"
    exact = Fraction(0)

    def hear(self, feedback: int | None) -> None:
        super().hear(feedback)
        if feedback is None or self.phase != "open":
            return
        if int(self.exact) != self.cwnd:
            self.exact = Fraction(self.cwnd)
        change = Fraction(feedback * self.rtt, 1_000_000 * (self.file.smss + HEADERS + 20))
        self.exact = max(self.exact + change, Fraction(1))
        self.cwnd = int(self.exact)

    def grow(self, facts: dict) -> None:
        if self.help is None:
            super().grow(facts)
