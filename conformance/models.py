"""Models of the algorithms, for `generate.py`.

They are written from the standards' text and share no code with any implementation: whole
numbers and fractions, nothing rounded on the way. Windows are in segments, times in
microseconds.
"""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sender import Sender

getcontext().prec = 60
INF = 10**18


# ---------------------------------------------------------------- congestion avoidance, recovery


class Reno:
    """RFC 5681 with byte counting; the threshold is half the window (Linux)."""

    epoch = None

    def __init__(self) -> None:
        self.count = 0

    def sample(self, now: int, rtt: int) -> None:
        pass

    def grow(self, now: int, acked: int, cwnd: int, srtt: int) -> int:
        return self.additive(acked, cwnd)

    def additive(self, acked: int, per: int) -> int:
        growth = 0
        if self.count >= per:
            self.count, growth = 0, 1
        self.count += acked
        if self.count >= per:
            growth += self.count // per
            self.count %= per
        return growth

    def reduce(self, cwnd: int) -> int:
        self.count = 0
        return max(cwnd // 2, 2)

    def forget(self) -> None:
        self.count = 0

    def timed_out(self, cwnd: int) -> int:
        return self.reduce(cwnd)

    def delivered(self, ack: dict, cc: Sender) -> None:
        """An ACK delivered data, before anything else happens."""

    def decide(self, ack: dict, cc: Sender) -> tuple[int, int, str] | None:
        """Window, threshold, and the reason if that ends slow start; instead of growth."""
        return None

    def slow_start(self, growth: int, ack: dict, cc: Sender) -> int:
        return growth

    def recovered(self) -> int | None:
        """The window when a reduction ends, if it is not the threshold."""
        return None


class CubicLinux(Reno):
    """tcp_cubic.c: integers, segments, jiffies, 2^-10 s."""

    def __init__(self, hz: int = 250) -> None:
        super().__init__()
        self.hz = hz
        self.forget()

    def forget(self) -> None:
        self.count = self.cnt = self.last_max = self.last_cwnd = self.last_time = 0
        self.delay_min = self.ack_cnt = self.tcp_cwnd = 0
        self.epoch: int | None = None

    def sample(self, now: int, rtt: int) -> None:
        if self.epoch is not None and now - self.epoch * 1_000_000 // self.hz < 1_000_000:
            return
        self.delay_min = min(self.delay_min or rtt, rtt)

    def grow(self, now: int, acked: int, cwnd: int, srtt: int) -> int:
        self.update(now * self.hz // 1_000_000, acked, cwnd)
        return self.additive(acked, self.cnt)

    def update(self, jiffy: int, acked: int, cwnd: int) -> None:
        self.ack_cnt += acked
        if cwnd == self.last_cwnd and jiffy - self.last_time <= self.hz // 32:
            return
        if self.epoch is None or jiffy != self.last_time:
            self.last_cwnd, self.last_time = cwnd, jiffy
            if self.epoch is None:
                self.epoch, self.ack_cnt, self.tcp_cwnd = jiffy, acked, cwnd
                gap = self.last_max - cwnd
                self.origin = max(self.last_max, cwnd)
                self.k = root(2**40 // 410 * gap) if gap > 0 else 0
            ahead = -(-self.delay_min * self.hz // 1_000_000)
            t = ((jiffy - self.epoch + ahead) << 10) // self.hz
            d = (410 * abs(t - self.k) ** 3) >> 40
            target = self.origin - d if t < self.k else self.origin + d
            self.cnt = cwnd // (target - cwnd) if target > cwnd else 100 * cwnd
            if self.last_max == 0:
                self.cnt = min(self.cnt, 20)
        q = (cwnd * 15) >> 3
        while self.ack_cnt > q:
            self.ack_cnt -= q
            self.tcp_cwnd += 1
        if self.tcp_cwnd > cwnd:
            self.cnt = min(self.cnt, cwnd // (self.tcp_cwnd - cwnd))
        self.cnt = max(self.cnt, 2)

    def reduce(self, cwnd: int) -> int:
        self.epoch, self.count = None, 0
        self.last_max = cwnd * 1741 // 2048 if cwnd < self.last_max else cwnd
        return max(cwnd * 717 // 1024, 2)


class CubicRfc(Reno):
    """RFC 9438 sections 4.1 to 4.8: the window has a fraction, which this keeps to 60 digits."""

    def __init__(self) -> None:
        super().__init__()
        self.forget()

    def forget(self) -> None:
        self.start: int | None = None
        self.w_max = self.prior = None
        self.fraction = Decimal(0)

    def grow(self, now: int, acked: int, cwnd: int, srtt: int) -> int:
        exact = cwnd + self.fraction
        if self.start is None:
            self.start, self.w_est = now, exact
            if self.w_max is None:
                self.prior = exact
            self.w_max = max(self.w_max or exact, exact)
            self.k = ((self.w_max - exact) / Decimal("0.4")) ** (Decimal(1) / Decimal(3))
        def curve(time: int) -> Decimal:
            return Decimal("0.4") * (Decimal(time) / 1_000_000 - self.k) ** 3 + self.w_max
        slope = 1 if self.w_est >= self.prior else Decimal(9) / 17
        self.w_est += slope * acked / exact
        time = now - self.start
        if curve(time) < self.w_est:
            grown = max(self.w_est, exact)
        else:
            target = min(max(curve(time + srtt), exact), exact * 3 / 2)
            grown = exact + (target - exact) * acked / exact
        whole = int(grown)
        self.fraction = grown - whole
        return whole - cwnd

    def reduce(self, cwnd: int) -> int:
        gives_way = self.w_max is not None and cwnd < self.w_max
        self.w_max = Decimal(cwnd) * 17 / 20 if gives_way else Decimal(cwnd)
        self.prior, self.start, self.fraction = Decimal(cwnd), None, Decimal(0)
        return max(cwnd * 7 // 10, 2)


def root(value: int) -> int:
    """The largest number whose cube is at most `value`."""
    low, high = 0, 1 << 30
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**3 <= value else (low, middle - 1)
    return low


# ---------------------------------------------------------------- slow start


class Standard:
    """RFC 5681 as Linux does it: no limit for one ACK."""

    mode, norm = "slow-start", None

    def detect(self, ack: dict, cc: Sender) -> str | None:
        return None

    def grow(self, ack: dict, cc: Sender) -> int:
        return ack["delivered"]

    def leaves(self, cc: Sender, flight: int) -> None:
        """A segment leaves, with `flight` before it."""

    def reduces_from(self, cc: Sender) -> int:
        """The window that a reduction is taken from."""
        return cc.cwnd

    def timeout(self, cc: Sender) -> None:
        pass


class HyStart(Standard):
    """hystart_update of tcp_cubic.c; `late` is the form of 5.16 to 6.13.

    With `frozen` only the first eight samples of a round make its minimum, as before 5.8; the first
    `skip` rounds detect nothing (the first round begins with the first ACK)."""

    frozen, skip, rounds = False, 0, 0

    def __init__(self, late: bool = False, pacing_rate: int = 0) -> None:
        self.late, self.found, self.delay_min, self.rate = late, False, 0, pacing_rate
        self.new_round(0, 0)

    def new_round(self, now: int, nxt: int) -> None:
        self.start = self.last = now
        self.end, self.current, self.samples = nxt, INF, 0

    def detect(self, ack: dict, cc: Sender) -> str | None:
        now, rtt = ack["now"], ack["rtt"]
        self.delay_min = min(self.delay_min or rtt, rtt)
        if self.found or (self.late and cc.cwnd < 16):
            return None
        if ack["una"] > self.end:
            self.new_round(now, ack["nxt"])
            self.rounds += 1
        if cc.cwnd < 16 or self.rounds <= self.skip:
            return None
        if now - self.last <= 2000:
            self.last = now
            allowance = min(1000, 4 * 65536 * 1_000_000 // self.rate) if self.rate else 0
            limit = self.delay_min + allowance
            if not cc.paced:
                limit //= 2
            if now - self.start > limit:
                self.found = True
                return "ack-train"
        if self.samples < 8 or not self.frozen:
            self.current = min(self.current, rtt)
        if self.samples < 8:
            self.samples += 1
        elif self.current > self.delay_min + min(max(self.delay_min // 8, 4000), 16000):
            self.found = True
            return "delay"
        return None

    def timeout(self, cc: Sender) -> None:
        self.found, self.delay_min = False, 0
        self.new_round(cc.now, cc.nxt)


class HyStartPlusPlus(Standard):
    """RFC 9406, round-trip times in nanoseconds."""

    def __init__(self) -> None:
        self.last = self.current = INF
        self.samples, self.end, self.carry = 0, None, 0
        self.baseline, self.rounds, self.over = None, 0, False

    @property
    def mode(self) -> str:
        return "slow-start" if self.baseline is None else "css"

    def detect(self, ack: dict, cc: Sender) -> str | None:
        if self.over or cc.ssthresh != INF:
            return None
        if self.end is None:
            self.end = ack["nxt"]
        self.current = min(self.current, ack["rtt"] * 1000)
        self.samples += 1
        if self.samples >= 8:
            if self.baseline is not None:
                if self.current < self.baseline:
                    self.baseline = None
            elif self.last != INF:
                threshold = max(4_000_000, min(self.last // 8, 16_000_000))
                if self.current >= self.last + threshold:
                    self.baseline, self.rounds = self.current, 0
        if ack["una"] >= self.end:
            self.end, self.samples = ack["nxt"], 0
            self.last, self.current = self.current, INF
            if self.baseline is not None:
                self.rounds += 1
                if self.rounds == 5:
                    self.over, self.baseline = True, None
                    return "css-rounds"
        return None

    def grow(self, ack: dict, cc: Sender) -> int:
        if self.over or cc.ssthresh != INF:
            return ack["delivered"]
        credited = ack["delivered"] if cc.paced else min(ack["delivered"], 8)
        if self.baseline is None:
            return credited
        self.carry += credited
        segments, self.carry = divmod(self.carry, 4)
        return segments


class Search(Standard):
    """What the versions of SEARCH have in common; bytes, microseconds."""

    W, strict, factor, missing = 10, False, 2, 0

    def __init__(self, threshold: int, action: str = "plain", alpha: int | None = None) -> None:
        self.threshold, self.action, self.alpha = threshold, action, alpha
        self.bin: Fraction | None = None
        self.open = False
        self.norm: str | None = "none"
        self.target, self.carry = None, 0

    @property
    def mode(self) -> str:
        return "slow-start" if self.target is None else "drain"

    def bin_of(self, rtt: int) -> Fraction:
        return Fraction(rtt * 35, 100)

    def reset(self, full: bool) -> None:
        self.open, self.norm = False, "none"
        if full:
            self.bin = None

    def begin(self, ack: dict) -> None:
        if self.bin is None:
            self.bin = self.bin_of(ack["rtt"])
        self.end, self.idx, self.open = ack["now"] + self.bin, 0, True
        self.acked, self.sent = {0: ack["una_bytes"]}, {0: ack["sent_bytes"]}

    def passed(self, now: int) -> int:
        if now < self.end or (self.strict and now == self.end):
            return 0
        return math.floor((now - self.end) / self.bin) + 1

    def detect(self, ack: dict, cc: Sender) -> str | None:
        if self.target is not None:
            self.carry += ack["delivered"]
            return None
        if not self.open:
            self.begin(ack)
            return None
        passed = self.passed(ack["now"])
        if passed == 0:
            return None
        silent = self.alpha is not None and passed > 2 * self.alpha
        limited = ack["app_limited"] and self.watches_application
        if limited or silent:
            self.reset(full=not limited and passed > 10)
            self.begin(ack)
            return None
        for skipped in range(self.idx + 1, self.idx + passed):
            self.acked[skipped], self.sent[skipped] = self.acked[self.idx], self.sent[self.idx]
        self.idx += passed
        self.end += passed * self.bin
        self.acked[self.idx], self.sent[self.idx] = ack["una_bytes"], ack["sent_bytes"]
        hit = self.test(ack["rtt"])
        return self.act(ack, cc) if hit else None

    watches_application = True

    def test(self, rtt: int) -> bool:
        q = math.floor(Fraction(rtt) / self.bin)
        p = self.idx - q
        if p <= self.W or q > self.longest:
            self.norm = "none"
            return False
        current = self.read(self.acked, self.idx - self.W, self.idx)
        previous = self.factor * self.blend(p, Fraction(rtt) / self.bin - q)
        if previous <= 0:
            self.norm = "none"
            return False
        norm = Fraction(previous - current) / previous
        self.norm = self.spell(norm)
        return norm * 1000 >= self.threshold

    def spell(self, norm: Fraction) -> str:
        permille = math.floor(norm * 1000)
        sign = "-" if permille < 0 else ""
        return f"{sign}{abs(permille) // 1000}.{abs(permille) % 1000:03}"

    def read(self, ring: dict, start: int, end: int) -> int:
        return ring[end] - ring[start]

    def blend(self, p: int, f: Fraction) -> Fraction:
        newer = self.read(self.ring(), p - self.W, p)
        older = self.read(self.ring(), p - 1 - self.W, p - 1)
        return (1 - f) * newer + f * older

    def ring(self) -> dict:
        return self.acked

    def last_bins(self, count: int, smss: int) -> int:
        return self.read(self.acked, self.idx - count, self.idx) // smss

    def act(self, ack: dict, cc: Sender) -> str:
        if self.action == "rollback":
            overshoot = self.last_bins(5, cc.file.smss)
            if overshoot < cc.cwnd:
                cc.cwnd = max(cc.cwnd - overshoot, 10)
            else:
                cc.cwnd = cc.cwnd if self.strict else 10
        if self.action == "drain":
            self.target, self.carry = max(10, self.last_bins(3, cc.file.smss)), 0
            cc.exit = "search"
            return "drain"
        return "search"

    def grow(self, ack: dict, cc: Sender) -> int:
        if self.target is None:
            return ack["delivered"]
        if self.carry == 0 and ack["drain_began"]:
            return 0
        released, self.carry = divmod(self.carry, 3)
        cc.cwnd = max(cc.flight() + released, self.target)
        if cc.cwnd == self.target:
            cc.ssthresh = cc.cwnd
            self.target = None
            self.reset(full=True)
        return 0

    def timeout(self, cc: Sender) -> None:
        self.reset(full=True)


class Search2(Search):
    """Algorithm 1 of the thesis, errata repaired: delivered bytes, a bin ends strictly after."""

    strict, longest, watches_application = True, 14, False
    first = True

    def begin(self, ack: dict) -> None:
        super().begin(ack)
        if self.first:
            self.acked[0], self.first = 0, False


class Search31(Search):
    """3.1: microseconds, 16-bit counts with a common shift, whole percent."""

    longest = 13

    def bin_of(self, rtt: int) -> Fraction:
        return Fraction(rtt * 35 // 100)

    def read(self, ring: dict, start: int, end: int) -> int:
        shift = max(0, max(self.acked.values()).bit_length() - 16)
        return (ring[end] >> shift) - (ring[start] >> shift)

    def last_bins(self, count: int, smss: int) -> int:
        shift = max(0, max(self.acked.values()).bit_length() - 16)
        return (self.read(self.acked, self.idx - count, self.idx) << shift) // smss

    def blend(self, p: int, f: Fraction) -> int:
        percent = math.floor(f * 100)
        ring = self.ring()
        return (
            self.read(ring, p - self.W, p - 1)
            + self.read(ring, p - self.W - 1, p - self.W) * percent // 100
            + self.read(ring, p - 1, p) * (100 - percent) // 100
        )

    def spell(self, norm: Fraction) -> str:
        return f"{math.floor(norm * 100)}%"


class Search4(Search):
    """4.0: sent against acknowledged bytes."""

    longest, factor = 38, 1

    def ring(self) -> dict:
        return self.sent


class Percent(Search):
    """The look-back's fraction in whole percent, as QUIC stacks have it."""

    def blend(self, p: int, f: Fraction) -> int:
        percent = math.floor(f * 100)
        newer = self.read(self.ring(), p - self.W, p)
        older = self.read(self.ring(), p - 1 - self.W, p - 1)
        return (older * percent + newer * (100 - percent)) // 100


class Search2Percent(Percent, Search2):
    pass


class Search4Percent(Percent, Search4):
    pass
