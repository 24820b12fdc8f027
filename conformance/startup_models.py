"""Models of the start-ups beyond the standards', for `startups.py`.

Written from the description of each source, in whole numbers; they share no code with any
implementation. Windows and offsets are in segments, times in microseconds.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from models import INF, HyStart, HyStartPlusPlus, Search, Search2, Standard

if TYPE_CHECKING:
    from sender import Sender


class HyStartPaper(Standard):
    """Ha and Rhee 2011: rounds against each other, 2 to 8 ms, trains of half the smallest RTT."""

    def __init__(self, delay: bool = True) -> None:
        self.delay, self.fired, self.smallest = delay, False, INF
        self.before = self.current = INF
        self.end, self.seen = 0, 0

    def detect(self, ack: dict, cc: Sender) -> str | None:
        now, rtt = ack["now"], ack["rtt"]
        self.smallest = min(self.smallest, rtt)
        if self.fired:
            return None
        if ack["una"] >= self.end:
            self.before, self.current, self.seen = self.current, INF, 0
            self.start = self.last = now
            self.end = ack["nxt"]
        train = now - self.last <= 2000
        if train:
            self.last = now
        if self.seen < 8:
            self.current, self.seen = min(self.current, rtt), self.seen + 1
        reason = None
        if train and now > self.start and now - self.start >= self.smallest // 2:
            reason = "ack-train"
        elif self.delay and self.seen == 8 and self.before != INF:
            eta = min(max(-(-self.before // 16), 2000), 8000)
            if self.current >= self.before + eta:
                reason = "delay"
        if reason and cc.cwnd >= 16:
            self.fired = True
            return reason
        return None


class HyStartPort(Standard):
    """The port to ns-2; `excerpt` when nothing lowers the round's smallest RTT; `units` when half of
    the smallest RTT is a number of eighths of milliseconds that counts as microseconds."""

    def __init__(self, excerpt: bool, units: bool = False) -> None:
        self.units = units
        self.excerpt, self.fired, self.smallest, self.end = excerpt, False, INF, 0

    def detect(self, ack: dict, cc: Sender) -> str | None:
        now, rtt = ack["now"], ack["rtt"]
        if self.fired:
            return None
        if ack["una"] > self.end:
            self.start = self.last = now
            self.end, self.current, self.counted = ack["nxt"], 2**32 - 1, 0
            return None
        self.smallest = min(self.smallest, rtt)
        if now - self.last <= 4000:
            self.last = now
            least = self.smallest // 1000 << 3 if self.units else self.smallest
            if now - self.start > least >> 1:
                self.fired = True
                return "ack-train"
        if not self.excerpt:
            self.current = min(self.current, rtt)
        if self.counted < 8:
            self.counted += 1
        elif self.current > self.smallest + min(max(self.smallest >> 3, 4000), 16000):
            self.fired = True
            return "delay"
        return None


class Suss(HyStart):
    """The authors' patch for Linux 6.8, or the talk; `smss` in bytes for rates."""

    def __init__(self, smss: int, talk: bool = False, most: int = 3) -> None:
        super().__init__(False, 1_000_000)
        self.smss, self.talk, self.most = smss, talk, most
        self.number, self.lowered, self.jumps = 1, 0, 0
        self.head, self.tail = 0, None
        self.going, self.running, self.off = True, True, False
        self.blue, self.tail_next_red, self.blue_acked = False, False, 0
        self.red_phase, self.limit, self.pace = False, 0, None
        self.ready, self.cap, self.train_before = None, None, 0

    def detect(self, ack: dict, cc: Sender) -> str | None:
        if self.tail is None:
            self.iw, self.tail = cc.cwnd, cc.cwnd - 1
        now, rtt = ack["now"], ack["rtt"]
        if self.delay_min == 0 or rtt < self.delay_min:
            self.delay_min, self.lowered = rtt, self.number
        reason = None if self.found else self.hystart(ack, now, rtt, cc)
        if reason:
            self.found = True
            if not self.off:
                self.running, self.pace, self.red_phase = False, None, False
                if self.jumps > 1:
                    cc.cwnd = max(cc.flight(), 1)
            return reason
        if self.running and self.cap is None and not self.off and cc.phase not in ("recovery", "cwr"):
            self.measure(ack, now, cc)
        return None

    def hystart(self, ack: dict, now: int, rtt: int, cc: Sender) -> str | None:
        if ack["una"] > self.end:
            self.new_round(now, ack["nxt"])
        if cc.cwnd < 16:
            return None
        if self.off:
            if now - self.last <= 2000:
                self.last = now
                if now - self.start > (self.delay_min + self.allowance()) // 2:
                    return "ack-train"
        elif self.cap is not None:
            if cc.cwnd > self.cap:
                return "ack-train"
        elif self.running and self.blue and now - self.last <= 2000:
            self.last = now
            limit = (self.delay_min + self.allowance()) // 2
            if (now - self.start) * 2**self.jumps > limit:
                self.cap = cc.cwnd + self.blue_acked * (2**self.jumps - 1)
        self.current = min(self.current, rtt)
        if self.samples < 8:
            self.samples += 1
        elif self.current > self.delay_min + min(max(self.delay_min // 8, 4000), 16000):
            return "delay"
        return None

    def allowance(self) -> int:
        return min(1000, 4 * 65536 * 1_000_000 // self.rate)

    def measure(self, ack: dict, now: int, cc: Sender) -> None:
        if self.tail_next_red:
            self.blue = self.tail_next_red = False
        if ack["una"] - 1 >= self.head:
            self.blue, self.tail_next_red, self.blue_acked = True, False, 0
            self.number += 1
            self.opened, self.head = now, ack["nxt"]
            self.pace, self.red_phase = None, False
        if ack["una"] - 1 >= self.tail:
            self.blue = self.tail_next_red = True
            self.decide(ack, now, cc)
        if self.blue:
            self.blue_acked += ack["delivered"]

    def decide(self, ack: dict, now: int, cc: Sender) -> None:
        n, least = self.number, self.delay_min
        b = self.iw * 2 ** (n - 1)
        self.tail = self.head + b - 1
        bat = b * (now - self.opened) // (2 * max(self.blue_acked, 1))
        if self.going:
            self.going = self.accelerates(n, bat, least)
        if not self.going:
            return
        self.train_before = bat
        red = b * 2 ** (n - 1) - b
        in_flight = (b // 2) * 2 ** (n - 2) - b // 2
        span = least - (least >> (n - 1))
        slot = least - span
        self.red_phase = slot > bat
        if self.red_phase:
            self.jumps += 1
            self.limit = cc.cwnd + ack["delivered"] + red - in_flight
            self.ready = (red * self.smss * 1_000_000 // span, now + (slot - bat) // 2)

    def accelerates(self, n: int, bat: int, least: int) -> bool:
        if n == 2:
            accepted = least > 10_000 and bat < least // 4
            self.off = not accepted
            return accepted
        dt = bat << (n - 2)
        if self.talk:
            fits = dt <= least // 4
        else:
            mu = (dt << 10) // (2 * (self.train_before << (n - 3)))
            fits = (mu * dt) >> 9 <= least
        k = n - self.lowered
        return fits and n < self.most + 2 and (k + 1) * self.current <= least * (k + 1) + least * k // 8

    def grow(self, ack: dict, cc: Sender) -> int:
        return 0 if self.red_phase and not self.blue else ack["delivered"]

    def leaves(self, cc: Sender, flight: int) -> None:
        if self.red_phase and cc.cwnd < self.limit and cc.cwnd <= flight + 1 and cc.cwnd < cc.ssthresh:
            cc.cwnd += 2
            self.pace = self.ready

    def reduces_from(self, cc: Sender) -> int:
        was = self.running
        self.running, self.pace, self.red_phase = False, None, False
        return cc.flight() if was and not self.off else cc.cwnd

    def timeout(self, cc: Sender) -> None:
        super().timeout(cc)
        self.off = True


class HyStartPatch(HyStartPlusPlus):
    """The SUSS authors' patch for Linux: strict ends of rounds, no limit, spurious from sample 9 on."""

    def __init__(self) -> None:
        super().__init__()
        self.end = 0

    def detect(self, ack: dict, cc: Sender) -> str | None:
        if self.over or cc.ssthresh != INF:
            return None
        rtt = ack["rtt"] * 1000
        if ack["una"] > self.end:
            self.last, self.current = self.current, INF
            self.samples, self.end = 0, ack["nxt"]
            if self.baseline is not None:
                self.rounds += 1
                if self.rounds == 5:
                    self.over, self.baseline = True, None
                    return "css-rounds"
        self.current = min(self.current, rtt)
        if self.samples < 8:
            self.samples += 1
        elif self.baseline is not None and self.current < self.baseline:
            self.baseline = None
        if self.baseline is None and self.samples >= 8 and INF not in (self.last, self.current):
            threshold = max(4_000_000, min(self.last // 8, 16_000_000))
            if self.current >= self.last + threshold:
                self.baseline, self.rounds = self.current, 0
        return None

    def grow(self, ack: dict, cc: Sender) -> int:
        if self.baseline is None or self.over or cc.ssthresh != INF:
            return ack["delivered"]
        self.carry += ack["delivered"]
        segments, self.carry = divmod(self.carry, 4)
        return segments


class Abc(Standard):
    """RFC 3465 section 2.2 and 2.3."""

    def __init__(self, limit: int = 2) -> None:
        self.limit = limit

    def grow(self, ack: dict, cc: Sender) -> int:
        return min(ack["delivered"], self.limit)

    def timeout(self, cc: Sender) -> None:
        self.limit = 1


class Abcss(Abc):
    """Our reading of ABCSS: one for each ACK in two rounds, then bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.round, self.end = 0, 0

    def detect(self, ack: dict, cc: Sender) -> str | None:
        if ack["una"] > self.end:
            self.round, self.end = self.round + 1, ack["nxt"]
        return None

    def grow(self, ack: dict, cc: Sender) -> int:
        return 1 if self.round <= 2 else super().grow(ack, cc)


class InitialStart(Standard):
    """RFC 6928 for segments of 1000 bytes, or so many; paced over the handshake's round trip."""

    def __init__(self, window: int, paced: bool = False) -> None:
        self.window, self.paced, self.rate = window, paced, None

    def established(self, cc: Sender, start: dict) -> None:
        cc.cwnd = self.window
        if self.paced:
            self.rate = self.window * cc.file.smss * 1_000_000 // start["rtt"]

    def pace(self, cc: Sender) -> str:
        return "none" if self.rate is None else str(self.rate)

    def detect(self, ack: dict, cc: Sender) -> str | None:
        self.rate = None
        return None


class JumpStart(Standard):
    """Liu et al. 2007; with `scharf` a cap in segments and congestion avoidance afterwards."""

    def __init__(
        self, cap: int = INF, avoidance: bool = False, loss: str = "half-of-delivered"
    ) -> None:
        self.cap, self.avoidance, self.loss = cap, avoidance, loss
        self.n, self.end, self.again, self.initial = 0, None, 0, 0

    def established(self, cc: Sender, start: dict) -> None:
        self.initial = cc.cwnd
        self.n, self.rtt = min(start["queued"], self.cap), start["rtt"]
        cc.cwnd = self.n

    def pace(self, cc: Sender) -> str:
        if not self.n or self.end is not None:
            return "none"
        return str(self.n * cc.file.smss * 8 * 1_000_000 // self.rtt // 8)

    def detect(self, ack: dict, cc: Sender) -> str | None:
        if self.end is None:
            self.end = self.n = cc.cwnd = ack["nxt"]
            return "ssthresh" if self.avoidance else None
        return None

    def sent(self, cc: Sender, count: int, again: bool) -> None:
        if again and self.end is not None and cc.una < self.end:
            self.again += count

    def take_over(self, cc: Sender, before: int) -> bool:
        if self.end is None or cc.una >= self.end:
            return False
        cc.cwnd = cc.ssthresh = self.n // 2
        if self.loss == "quick-start":
            cc.cwnd = self.initial
        elif self.loss == "slow-start":
            cc.cwnd, cc.ssthresh = self.initial, INF
        elif self.loss == "delivered":
            cc.cwnd = cc.ssthresh = self.carried(cc)
        return True

    def carried(self, cc: Sender) -> int:
        return max(min(cc.una + cc.sacked, self.n), self.initial)

    def recover(self, cc: Sender, delivered: int, lost: int) -> int:
        return max(self.carried(cc), cc.cwnd) if self.loss == "delivered" else cc.cwnd

    def recovered(self, cc: Sender) -> None:
        arrived = self.n - self.again
        cc.cwnd = {
            "half-of-delivered": arrived // 2,
            "half": self.n // 2,
            "delivered": arrived,
        }.get(self.loss, self.initial)
        cc.cwnd = max(cc.cwnd, 1)
        cc.ssthresh = {"quick-start": arrived // 2, "slow-start": INF}.get(self.loss, cc.cwnd)
        cc.ssthresh = max(cc.ssthresh, 2)


class Search1(Search):
    """1.0: what was sent one round trip ago against what was delivered; `>=` and strict ends of bins."""

    strict, longest, factor, watches_application = True, 14, 1, False

    def ring(self) -> dict:
        return self.sent


class Search3(Search2):
    """3.0 as intended: 2.0 with cumulative bins, which look back one bin less."""

    longest = 13


class Search2Published(Search2):
    """The Linux module 2.0: microseconds, and one of two windows instead of a blend."""

    longest = 15

    def bin_of(self, rtt: int) -> Fraction:
        return Fraction(rtt * 35 // 100)

    def detect(self, ack: dict, cc: Sender) -> str | None:
        self.now = ack["now"]
        return super().detect(ack, cc)

    def blend(self, p: int, f: Fraction) -> int:
        newer = self.read(self.acked, p - self.W, p)
        older = self.read(self.acked, p - 1 - self.W, p - 1)
        if self.idx - p == 15:
            def bin_bytes(k: int) -> int:
                return self.read(self.acked, k - 1, k)
            older += bin_bytes(self.idx) - bin_bytes(self.idx - 25)
        if newer == older:
            return 0
        late = self.now - (self.end - self.bin)
        return newer if late >= f * self.bin else older
