"""Models of BIC, CUBACK, Westwood+, Hybla, Illinois, Prague, FAST and Vegas, for `avoidance.py`.

They are written from the descriptions of the algorithms, as those in `models.py` are: windows in
segments, times in microseconds, integers where the source counts in integers, exact fractions
otherwise.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from models import INF, Reno

if TYPE_CHECKING:
    from sender import Sender


def current_ssthresh(cwnd: int, ssthresh: int) -> int:
    """tcp_current_ssthresh outside a reduction."""
    return max(ssthresh, cwnd // 2 + cwnd // 4)


class Bic(Reno):
    """tcp_bic.c: beta 819/1024, Smax 16, B 4, low window 14, smooth part 20."""

    def __init__(self, hz: int) -> None:
        super().__init__()
        self.hz = hz
        self.forget()

    def forget(self) -> None:
        self.count = self.cnt = self.last_max = self.last_cwnd = self.last_time = 0
        self.delayed_ack = 32

    def delivered(self, ack: dict, cc: Sender) -> None:
        if cc.phase == "open":
            self.delayed_ack += ack["delivered"] - (self.delayed_ack >> 4)

    def grow(self, now: int, acked: int, cwnd: int, srtt: int) -> int:
        self.update(now * self.hz // 1_000_000, cwnd)
        return self.additive(acked, max(self.cnt, 1))

    def update(self, jiffy: int, cwnd: int) -> None:
        if cwnd == self.last_cwnd and jiffy - self.last_time <= self.hz // 32:
            return
        self.last_cwnd, self.last_time = cwnd, jiffy
        if cwnd <= 14:
            self.cnt = cwnd
            return
        above = cwnd - self.last_max
        if above < 0:
            step = -above // 4
            self.cnt = cwnd // 16 if step > 16 else cwnd * 20 // 4 if step <= 1 else cwnd // step
        elif above < 4:
            self.cnt = cwnd * 20 // 4
        elif above < 48:
            self.cnt = cwnd * 3 // above
        else:
            self.cnt = cwnd // 16
        if self.last_max == 0:
            self.cnt = min(self.cnt, 20)
        self.cnt = max((self.cnt << 4) // self.delayed_ack, 1)

    def reduce(self, cwnd: int) -> int:
        self.count = 0
        self.last_max = cwnd * 1843 // 2048 if cwnd < self.last_max else cwnd
        return max(cwnd // 2 if cwnd <= 14 else cwnd * 819 // 1024, 2)


class Cuback(Reno):
    """draft-kazuho-ccwg-cuback-00 section 3, to the digits of `Decimal`."""

    C, ALPHA, BETA = Decimal("0.4"), Decimal(9) / 17, Decimal("0.7")

    def __init__(self) -> None:
        super().__init__()
        self.forget()

    def forget(self) -> None:
        self.w_max = self.prior = self.rtt = self.begin = None

    def delivered(self, ack: dict, cc: Sender) -> None:
        self.srtt = Decimal(cc.srtt or 1) / 1_000_000_000

    def root(self, w: Decimal) -> Decimal:
        """cbrt(w / C), with the sign of w."""
        size = (abs(w) / self.C) ** (Decimal(1) / 3)
        return size if w >= 0 else -size

    def needed(self, w: int) -> Decimal:
        """A(w)."""
        bandwidth = self.prior / self.rtt
        cubic = bandwidth * (self.root(self.w_max - self.begin) + self.root(w - self.w_max))
        def reno(frm: Decimal, to: Decimal) -> Decimal:
            return (to - frm) * (to + frm - 1) / 2
        low = min(Decimal(w), self.prior)
        slow = reno(self.begin, low) / self.ALPHA + (reno(self.prior, Decimal(w)) if w > self.prior else 0)
        return min(cubic, slow)

    def grow(self, now: int, acked: int, cwnd: int, srtt: int) -> int:
        if self.begin is None:
            if self.w_max is None:
                self.w_max, self.prior, self.rtt = Decimal(cwnd), Decimal(cwnd), self.srtt
            self.begin, self.pending = Decimal(cwnd), Decimal(0)
            self.w_max, self.prior = max(self.w_max, self.begin), max(self.prior, self.begin)
        self.pending += acked
        grown = cwnd
        while True:
            step = max(self.needed(grown + 1) - self.needed(grown), Decimal(2))
            if self.pending < step:
                return grown - cwnd
            self.pending -= step
            grown += 1

    def reduce(self, cwnd: int) -> int:
        gives_way = self.w_max is not None and cwnd < self.w_max
        self.w_max = Decimal(cwnd) * ((1 + self.BETA) / 2 if gives_way else 1)
        self.prior, self.rtt, self.begin = Decimal(cwnd), self.srtt, None
        return max(cwnd * 7 // 10, 2)


class Westwood(Reno):
    """tcp_westwood.c: Reno, and the bandwidth in bytes per tick, twice filtered with 7/8."""

    def __init__(self, hz: int, smss: int) -> None:
        super().__init__()
        self.hz, self.smss = hz, smss
        self.ns = self.est = self.bk = self.window_start = self.accounted = 0
        self.rtt = self.rtt_min = 20 * hz
        self.una: int | None = None
        self.reset = True

    def delivered(self, ack: dict, cc: Sender) -> None:
        una = ack["una_bytes"]
        first, self.una = self.una is None, una if self.una is None else self.una
        now = ack["now"] * self.hz // 1_000_000
        span = now - self.window_start
        if span > max(self.rtt, -(-self.hz * 50 // 1000)):
            sample = self.bk // span
            if self.ns == 0 and self.est == 0:
                self.ns = self.est = sample
            else:
                self.ns = (7 * self.ns + sample) >> 3
                self.est = (7 * self.est + self.ns) >> 3
            self.bk, self.window_start = 0, now
        if not first:
            self.bk += self.acked(una)
        self.rtt_min = self.rtt if self.reset else min(self.rtt, self.rtt_min)
        self.reset = False
        if ack["rtt"] is not None:
            self.rtt = -(-ack["rtt"] * self.hz // 1_000_000)

    def acked(self, una: int) -> int:
        count, self.una = una - self.una, una
        if count == 0:
            self.accounted += self.smss
            count = self.smss
        elif count > self.smss:
            if self.accounted >= count:
                self.accounted, count = self.accounted - count, self.smss
            else:
                self.accounted, count = 0, count - self.accounted
        return count

    def product(self) -> int:
        return max(self.est * self.rtt_min // self.smss, 2)

    def recovered(self) -> int | None:
        return self.product()

    def timed_out(self, cwnd: int) -> int:
        self.count, self.reset = 0, True
        return self.product()


class Hybla(Reno):
    """tcp_hybla.c: rho in eighths, increments in 1/128 segment."""

    powers = (128, 139, 152, 165, 181, 197, 215, 234)

    def __init__(self) -> None:
        super().__init__()
        self.least: int | None = None
        self.rho8, self.cents, self.acks = 8, 0, 0
        self.used_up = False

    def decide(self, ack: dict, cc: Sender) -> tuple[int, int, str] | None:
        if self.least is None or cc.srtt < self.least:
            self.least = cc.srtt
            self.rho8 = max(8 * cc.srtt // 1000 // 25_000, 8)
        self.phase, self.used_up = cc.phase, False
        return None

    def whole(self, increment: int) -> int:
        self.cents += increment % 128
        segments = increment // 128
        while self.cents >= 128:
            self.cents -= 128
            segments += 1
            self.acks = 0
        return segments

    def slow_start(self, growth: int, ack: dict, cc: Sender) -> int:
        if cc.phase != "open":
            return growth
        self.used_up = True
        power = self.powers[self.rho8 % 8] * 2 ** min(self.rho8 // 8, 16)
        return min(self.whole(power - 128), 65_535 - cc.cwnd)

    def grow(self, now: int, acked: int, cwnd: int, srtt: int) -> int:
        if self.used_up:
            return 0
        if self.phase != "open":
            return self.additive(acked, cwnd)
        increment = self.rho8 * self.rho8 * 2 // cwnd
        self.acks += increment < 128
        segments = self.whole(increment)
        if increment == 0 and self.acks >= cwnd:
            segments, self.acks = segments + 1, 0
        return min(segments, 65_535 - cwnd)

    def reduce(self, cwnd: int) -> int:
        self.acks = 0
        return super().reduce(cwnd)

    def forget(self) -> None:
        super().forget()
        self.acks = 0


class Prague(Reno):
    """Prague without marks: one segment per round trip, by the square of srtt over 25 ms below it."""

    ONE = 1 << 20

    def grow(self, now: int, acked: int, cwnd: int, srtt: int) -> int:
        share = self.ONE
        if 0 < srtt < 25_000:
            ratio = srtt * 1000 * self.ONE // 25_000_000
            share = ratio * ratio // self.ONE
        self.count += acked * share // cwnd
        growth, self.count = divmod(self.count, self.ONE)
        return growth


class Illinois(Reno):
    """tcp_illinois.c: alpha 0.3 to 10 in 1/128, beta 1/8 to 1/2 in 1/64, Reno below 15 segments."""

    def __init__(self) -> None:
        super().__init__()
        self.alpha, self.beta = 1280, 32
        self.least, self.most = INF, 0
        self.rtts: list[int] = []
        self.begin = self.good = self.acked = 0
        self.above = False

    def delivered(self, ack: dict, cc: Sender) -> None:
        if ack["rtt"] is not None:
            self.least, self.most = min(self.least, ack["rtt"]), max(self.most, ack["rtt"])
            self.rtts.append(ack["rtt"])

    def decide(self, ack: dict, cc: Sender) -> None:
        if ack["una"] <= self.begin:
            return
        if cc.cwnd < 15:
            self.alpha, self.beta = 128, 32
        elif self.rtts:
            longest = self.most - self.least
            queue = sum(self.rtts) // len(self.rtts) - self.least
            self.alpha, self.beta = self.rise(queue, longest), self.fall(queue, longest)
        self.begin, self.rtts = ack["nxt"], []

    def rise(self, queue: int, longest: int) -> int:
        first = longest // 100
        if queue > first:
            self.above = True
            queue, longest = queue - first, longest - first
            return longest * 1280 // (longest + queue * (1280 - 38) // 38)
        if self.above:
            self.good += 1
            if self.good < 5:
                return self.alpha
            self.good, self.above = 0, False
        return 1280

    def fall(self, queue: int, longest: int) -> int:
        second, third = longest // 10, longest * 8 // 10
        if queue <= second:
            return 8
        if queue >= third or third <= second:
            return 32
        return (8 * third - 32 * second + 24 * queue) // (third - second)

    def grow(self, now: int, acked: int, cwnd: int, srtt: int) -> int:
        self.acked += acked
        grown = self.acked * self.alpha // 128 // cwnd
        if grown:
            self.acked = 0
        return grown

    def reduce(self, cwnd: int) -> int:
        self.acked = 0
        return max(cwnd - cwnd * self.beta // 64, 2)

    def timed_out(self, cwnd: int) -> int:
        threshold = self.reduce(cwnd)
        self.alpha, self.beta, self.above, self.good = 128, 32, False, 0
        self.begin, self.rtts = 0, []
        return threshold


class Fast(Reno):
    """The equation of Wei et al., every second round trip, in fractions."""

    def __init__(self, alpha: int = 20, gamma: Fraction = Fraction(1, 2), period: int = 2) -> None:
        super().__init__()
        self.alpha, self.gamma, self.period = alpha, gamma, period
        self.base: int | None = None
        self.average = Fraction(0)
        self.goal: Fraction | None = None
        self.round_end = self.rounds = 0

    def delivered(self, ack: dict, cc: Sender) -> None:
        rtt = ack["rtt"]
        if rtt is None:
            return
        if self.base is None:
            self.base, self.average = rtt, Fraction(rtt)
            return
        self.base = min(self.base, rtt)
        self.average += (rtt - self.average) * min(Fraction(3, cc.cwnd), Fraction(1, 4))

    def decide(self, ack: dict, cc: Sender) -> tuple[int, int, str] | None:
        ended = ack["una"] > self.round_end
        if ended:
            self.round_end = ack["nxt"]
        if self.base is None:
            return None
        if cc.cwnd < cc.ssthresh:
            self.rounds, self.goal = 0, None
            if self.average - self.base > 750:
                return cc.cwnd, cc.cwnd, "delay"
            return None
        if ended:
            self.rounds += 1
            if self.rounds == self.period:
                self.rounds = 0
                follows = self.goal is not None and int(self.goal) == cc.cwnd
                window = self.goal if follows else Fraction(cc.cwnd)
                aim = window * self.base / self.average + self.alpha
                self.goal = min(2 * window, (1 - self.gamma) * window + self.gamma * aim)
        if self.goal is not None and max(int(self.goal), 2) < cc.cwnd:
            cwnd = max(int(self.goal), 2)
            return cwnd, min(cc.ssthresh, cwnd), "ssthresh"
        return None

    def grow(self, now: int, acked: int, cwnd: int, srtt: int) -> int:
        return min(acked, max(int(self.goal) - cwnd, 0)) if self.goal is not None else 0

    def reduce(self, cwnd: int) -> int:
        self.goal, self.rounds = None, 0
        return super().reduce(cwnd)


class Vegas(Reno):
    """tcp_vegas.c: alpha 2, beta 4, gamma 1."""

    def __init__(self) -> None:
        super().__init__()
        self.base = self.least = INF
        self.samples = self.begin = 0
        self.on = True

    def delivered(self, ack: dict, cc: Sender) -> None:
        if cc.phase != "open":
            self.on = False
        if ack["rtt"] is not None:
            self.base = min(self.base, ack["rtt"] + 1)
            self.least = min(self.least, ack["rtt"] + 1)
            self.samples += 1

    def decide(self, ack: dict, cc: Sender) -> tuple[int, int, str] | None:
        if cc.phase != "open":
            self.on = False
            return None
        if not self.on:
            self.on = True
            self.new_round(ack)
        slow_start = cc.cwnd < cc.ssthresh
        if ack["una"] <= self.begin:
            return None if slow_start else (cc.cwnd, cc.ssthresh, "")
        enough, least = self.samples > 2, self.least
        self.new_round(ack)
        if not enough:
            return None
        target = cc.cwnd * self.base // least
        diff = cc.cwnd * (least - self.base) // self.base
        cwnd, ssthresh = cc.cwnd, cc.ssthresh
        if slow_start and diff <= 1:
            return None
        if slow_start:
            cwnd = min(cwnd, target + 1)
            ssthresh = min(ssthresh, cwnd)
        elif diff > 4:
            cwnd -= 1
            ssthresh = min(ssthresh, cwnd)
        elif diff < 2:
            cwnd += 1
        cwnd = max(cwnd, 2)
        return cwnd, current_ssthresh(cwnd, max(ssthresh, 2)), "delay"

    def new_round(self, ack: dict) -> None:
        self.begin, self.samples, self.least = ack["nxt"], 0, INF
