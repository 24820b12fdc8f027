"""Models of the start-ups that estimate, remember or jump, for `fast_startup.py`.

Written from `docs/reference/conformance.md` and the sources named with each, in exact numbers. What
the sources leave open is said in the page of each algorithm.
"""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from models import INF, HyStart, Standard

if TYPE_CHECKING:
    from fast_startup import Jumper

MILLION = 1_000_000


class Estimating(Standard):
    """Slow start up to a window of its own: bandwidth times smallest RTT."""

    target: int | None = None
    over = False

    def active(self, cc: Jumper) -> bool:
        return not self.over and cc.ssthresh == INF

    def product(self, rate: Fraction, cc: Jumper) -> int:
        """`rate` in bytes per second, rounded down as it is carried."""
        smss = cc.file.smss
        return max(2, math.floor(Fraction(math.floor(rate) * cc.min_rtt, MILLION)) // smss)

    def grow(self, ack: dict, cc: Jumper) -> int:
        if self.target is None or not self.active(cc):
            return ack["delivered"]
        if cc.cwnd + ack["delivered"] < self.target:
            return ack["delivered"]
        cc.cwnd = cc.ssthresh = max(cc.cwnd, self.target)
        cc.leave("bandwidth")
        return 0


class Pairs:
    """Two ACKs in a row whose newest segments left within 50 us."""

    before: tuple[int, int] | None = None

    def rate(self, ack: dict, smss: int) -> Fraction | None:
        now = (ack["now"] - ack["rtt"], ack["now"])
        before, self.before = self.before, now
        if before is None or not 0 <= now[0] - before[0] <= 50 or now[1] == before[1]:
            return None
        return Fraction(ack["delivered"] * smss * MILLION, now[1] - before[1])


class PacketPair(Estimating):
    """Abed and Jasim, in our reading: the median of each round's pairs."""

    def __init__(self, least: int = 3) -> None:
        self.least, self.pairs, self.rates, self.end = least, Pairs(), [], None

    def detect(self, ack: dict, cc: Jumper) -> str | None:
        if not self.active(cc):
            return None
        if self.end is None:
            self.end = ack["nxt"]
        rate = self.pairs.rate(ack, cc.file.smss)
        if rate is not None:
            self.rates.append(rate)
        if ack["una"] >= self.end:
            held = sorted(self.rates[-64:])
            if len(held) >= self.least:
                self.target = self.product(held[(len(held) - 1) // 2], cc)
            self.rates, self.end = [], ack["nxt"]
        return None


class Best(Estimating):
    """BEST in our reading: the median of the last sixteen pairs, or deliveries by half RTTs."""

    def __init__(self, period: bool = False) -> None:
        self.period, self.pairs, self.rates = period, Pairs(), []
        self.began, self.sum, self.best, self.flat = None, 0, 0, 0

    def detect(self, ack: dict, cc: Jumper) -> str | None:
        if not self.active(cc):
            return None
        rate = self.by_periods(ack, cc) if self.period else self.by_pairs(ack, cc)
        if rate is None or cc.cwnd < 16:
            return None
        self.target = self.product(rate, cc)
        return "bandwidth" if self.period or cc.cwnd >= self.target else None

    def by_pairs(self, ack: dict, cc: Jumper) -> Fraction | None:
        rate = self.pairs.rate(ack, cc.file.smss)
        if rate is None:
            return None
        self.rates.append(rate)
        held = sorted(self.rates[-16:])
        return held[7] if len(held) == 16 else None

    def by_periods(self, ack: dict, cc: Jumper) -> int | None:
        if self.began is None:
            self.began = ack["now"]
            return None
        self.sum += ack["delivered"] * cc.file.smss
        span = ack["now"] - self.began
        if 2 * span < cc.min_rtt:
            return None
        rate = self.sum * MILLION // span
        self.flat = self.flat + 1 if rate * 4 < self.best * 5 else 0
        self.best, self.began, self.sum = max(self.best, rate), ack["now"], 0
        return self.best if self.flat >= 3 else None


class Fbe(Estimating):
    """FBE in our reading: chunks of eight segments, refined intervals, the 75th percentile of eight."""

    def __init__(self) -> None:
        self.chunk: list[tuple[int, int, int]] = []
        self.rates: list[int] = []
        self.before: int | None = None

    def detect(self, ack: dict, cc: Jumper) -> str | None:
        if not self.active(cc) or self.target is not None:
            return None
        self.chunk.append((ack["now"] - ack["rtt"], ack["now"], ack["delivered"]))
        if sum(part[2] for part in self.chunk) >= 8:
            rate, self.chunk = self.rate(cc.file.smss), []
            if rate is not None:
                self.judge(rate, cc)
        return None

    def rate(self, smss: int) -> int | None:
        sent = self.chunk[-1][0] - self.chunk[0][0]
        acked = self.chunk[-1][1] - self.chunk[0][1]
        if sent >= acked or len(self.chunk) < 2:
            return None
        gaps = [b[1] - a[1] for a, b in zip(self.chunk, self.chunk[1:])]
        short = sorted(gaps)[(len(gaps) - 1) // 2] / 10
        later = sum(part[2] for part in self.chunk[1:]) * smss // len(gaps)
        while gaps[0] < short:
            gaps.pop(0)
        return later * len(gaps) * MILLION // sum(gaps)

    def judge(self, rate: int, cc: Jumper) -> None:
        self.rates = (self.rates + [rate])[-8:]
        held = sorted(self.rates)
        estimate = held[math.ceil(len(held) * Fraction(3, 4)) - 1]
        if self.before is not None and abs(self.before - estimate) * 5 < self.before:
            self.target = self.product(Fraction(estimate), cc)
        self.before = estimate


class Stateful(HyStart):
    """The S-CUBIC module: a jump to the remembered bandwidth-delay product, then CUBIC's HyStart."""

    def __init__(self, rate: int, min_rtt: int) -> None:
        super().__init__()
        self.remembered, self.min_rtt, self.acks = rate, min_rtt, None

    def established(self, cc: Jumper, start: dict) -> None:
        product = self.remembered * self.min_rtt // MILLION // cc.file.smss
        if product > 10:
            cc.cwnd, self.acks = product, 0

    def pace(self, cc: Jumper) -> str:
        return "none" if self.acks is None or cc.cwnd >= cc.ssthresh else str(self.remembered)

    def detect(self, ack: dict, cc: Jumper) -> str | None:
        if self.acks is None:
            return super().detect(ack, cc)
        self.acks += 1
        if self.acks > 11:
            cc.cwnd, self.acks = 10, None
        elif cc.flight() > 5:
            cc.cwnd, self.acks = max(10, cc.flight()), None
        return None

    def grow(self, ack: dict, cc: Jumper) -> int:
        return ack["delivered"] if self.acks is None else 0


class CarefulResume(Standard):
    """RFC 9959, sections on the phases; packets counted, whole numbers."""

    def __init__(self, saved: int, rtt: int, max_jump: int = 0, beta: Fraction = Fraction(1, 2)) -> None:
        self.saved, self.rtt, self.max_jump, self.beta = saved, rtt, max_jump, beta
        self.phase, self.jump, self.end = "reconnaissance", 0, None

    def established(self, cc: Jumper, start: dict) -> None:
        self.iw = cc.cwnd

    def pace(self, cc: Jumper) -> str:
        if self.phase != "unvalidated":
            return "none"
        return str(self.jump * cc.file.smss * MILLION * 8 // self.current // 8)

    def pipe(self) -> int:
        return max(self.flight, self.delivered)

    def detect(self, ack: dict, cc: Jumper) -> str | None:
        if self.phase == "reconnaissance" and ack["una"] >= self.iw:
            self.begin(ack, cc)
        elif self.phase == "unvalidated":
            self.delivered += ack["delivered"]
            filled = self.end is not None
            if filled or ack["una"] > self.first or ack["now"] - self.began > self.current:
                flight = cc.flight()
                if not filled and (flight < self.iw or flight <= self.pipe()):
                    cc.cwnd, self.phase = max(self.pipe(), self.iw), "normal"
                    return None
                if not filled:
                    cc.cwnd, self.end = flight, ack["nxt"]
                self.phase = "validating"
        elif self.phase == "validating":
            self.delivered += ack["delivered"]
            if ack["una"] >= self.end:
                self.phase = "normal"
        return None

    def begin(self, ack: dict, cc: Jumper) -> None:
        self.phase = "normal"
        jump = self.saved // 2
        jump = min(jump, self.max_jump) if self.max_jump else jump
        if cc.min_rtt * 2 <= self.rtt or jump <= cc.cwnd:
            return
        self.phase, self.jump, self.flight, self.delivered = "unvalidated", jump, cc.flight(), 0
        self.base, self.first, self.began, self.current = ack["una"], ack["nxt"], ack["now"], ack["rtt"]
        self.again = 0
        cc.cwnd = jump

    def sent(self, cc: Jumper, count: int, again: bool) -> None:
        if again and self.phase in ("unvalidated", "validating", "retreat"):
            self.again += count
        elif self.phase == "unvalidated" and self.end is None and cc.flight() >= self.jump:
            self.end = cc.nxt

    def grow(self, ack: dict, cc: Jumper) -> int:
        return 0 if self.phase == "unvalidated" else ack["delivered"]

    def take_over(self, cc: Jumper, before: int) -> bool:
        if self.phase not in ("unvalidated", "validating"):
            self.phase = "normal"
            return False
        self.end = self.end or cc.nxt
        self.phase, self.frozen = "retreat", max(self.pipe() // 2, 2)
        cc.cwnd = cc.ssthresh = self.frozen
        return True

    def recover(self, cc: Jumper, delivered: int, lost: int) -> int:
        return max(self.frozen, cc.flight() + 1) if self.again == 0 else self.frozen

    def recovered(self, cc: Jumper) -> None:
        pipe = max(self.end - self.base - self.again, self.flight)
        self.phase = "normal"
        cc.cwnd, cc.ssthresh = self.frozen, max(2, math.floor(pipe * self.beta))


class RapidStart(Standard):
    """draft-kazuho-ccwg-rapid-start-02 (or -00): two initial windows paced, three times each round,
    and the answer to the first loss; shares are exact fractions."""

    def __init__(
        self, beta: Fraction = Fraction(7, 10), code: bool = False, draft: str = "02"
    ) -> None:
        self.beta, self.code, self.draft = beta, code, draft
        self.first_end, self.over = None, False
        self.end, self.current, self.last = 0, None, None

    def established(self, cc: Jumper, start: dict) -> None:
        self.rate = 2 * cc.cwnd * cc.file.smss * MILLION * 8 // start["rtt"] // 8
        cc.cwnd *= 2
        self.first_end = cc.cwnd

    def pace(self, cc: Jumper) -> str:
        return "none" if self.first_end is None else str(self.rate)

    def detect(self, ack: dict, cc: Jumper) -> str | None:
        if self.first_end is not None:
            if self.draft == "02" and not ack["window_limited"]:
                self.rate = cc.cwnd * cc.file.smss * 10**9 * 8 // cc.srtt // 8
                self.first_end = ack["nxt"] + cc.cwnd
            elif ack["nxt"] >= self.first_end:
                self.first_end = None
        self.current = min(ack["rtt"], self.current or INF)
        if ack["una"] >= self.end:
            self.end, self.last, self.current = ack["nxt"], self.current, None
        return None

    def grow(self, ack: dict, cc: Jumper) -> int:
        newer, older = self.current, self.last
        rtt = newer or older if self.draft == "02" else older or newer
        least = Fraction(cc.min_rtt)
        if self.code:
            limit = max(least + 4000, least * Fraction(35, 32))
        else:
            limit = min(least + 4000, least * Fraction(11, 10))
        return ack["delivered"] * (2 if rtt <= limit and not self.over else 1)

    def take_over(self, cc: Jumper, before: int) -> bool:
        self.first_end = None
        if self.over:
            return False
        self.over, self.before, self.acked, self.lost = True, before, 0, 0
        cc.cwnd = cc.ssthresh = self.left()
        return True

    def left(self) -> int:
        k = Fraction(2, 3) if self.draft == "02" else Fraction(11, 18)
        silence, ack = self.beta + k * (1 - self.beta), k * (1 - self.beta)
        left = self.before * silence - self.acked * ack - self.lost * silence
        floor = self.before * self.beta / 3
        return max(2, math.floor(max(left, floor)))

    def recover(self, cc: Jumper, delivered: int, lost: int) -> int:
        room = self.before - self.acked - self.lost
        lost = min(lost, room)
        self.lost += lost
        self.acked += min(delivered, room - lost)
        return self.left()

    def recovered(self, cc: Jumper) -> None:
        # The ACK that ends recovery delivers too.
        cc.cwnd = cc.ssthresh = self.recover(cc, cc.newly_delivered, 0)


class Halfback(Standard):
    """Halfback as recalled: what fits the threshold is paced over the handshake's round trip; a longer
    flow then has the rate of the ACKs as its window."""

    def __init__(self, threshold: int = 141_000) -> None:
        self.threshold, self.flight, self.left = threshold, None, False

    def established(self, cc: Jumper, start: dict) -> None:
        smss = cc.file.smss
        most = self.threshold // smss
        self.all = start["queued"] <= most
        self.flight = min(start["queued"], most)
        self.rate = self.flight * smss * 8 * MILLION // start["rtt"] // 8
        self.began, self.delivered = None, 0
        cc.cwnd = max(cc.cwnd, self.flight)

    def pace(self, cc: Jumper) -> str:
        return "none" if self.flight is None or self.left else str(self.rate)

    def sent(self, cc: Jumper, count: int, again: bool) -> None:
        self.left = self.left or self.flight is not None and cc.nxt >= self.flight

    def detect(self, ack: dict, cc: Jumper) -> str | None:
        if self.flight is None:
            return None
        if self.began is None:
            self.began = ack["now"]
        else:
            self.delivered += ack["delivered"]
        if ack["una"] >= self.flight and not self.all:
            rate = self.delivered * cc.file.smss * MILLION // (ack["now"] - self.began)
            cc.cwnd = max(2, rate * cc.srtt // 1_000_000_000 // cc.file.smss)
            self.flight = None
        return None

    def grow(self, ack: dict, cc: Jumper) -> int:
        return 0 if self.flight is not None and ack["una"] < self.flight else ack["delivered"]


def logarithm(value: int) -> int:
    """Of base 2, in 1/256, linear between powers of two."""
    if value < 2:
        return 0
    power = value.bit_length() - 1
    return math.floor((power + Fraction(value, 1 << power) - 1) * 256)


def weights(trained: str) -> dict[str, list]:
    """The trained numbers, which are data and no code."""
    path = Path(__file__).parents[1] / f"crates/congestion/src/startup/forecast/{trained}.rs"
    found = re.findall(r"^    (\w+): (.*?),\n(?=    \w|\})", path.read_text(), re.DOTALL | re.MULTILINE)
    return {name: json.loads(re.sub(r",\s*\]", "]", value)) for name, value in found}


class Forecast(Standard):
    """The network of `python/training/forecast.py` after twenty ACKs, in whole numbers."""

    def __init__(self, part: Fraction = Fraction(8, 10), trained: str = "fixed") -> None:
        self.part, self.acks, self.rate, self.until = part, [], None, None
        self.trained = trained

    def pace(self, cc: Jumper) -> str:
        return "none" if self.until is None else str(self.rate)

    def detect(self, ack: dict, cc: Jumper) -> str | None:
        if self.until is not None and ack["now"] * 1000 >= self.until:
            self.until = None
            return "bandwidth"
        if self.rate is None:
            self.acks.append((ack["rtt"], ack["now"]))
            if len(self.acks) == 20:
                self.rate = self.kbit(ack["una"], cc.flight()) * 125
                self.until = ack["now"] * 1000 + cc.srtt
                taken = math.floor(self.rate * self.part)
                cc.cwnd = max(2, taken * cc.min_rtt // MILLION // cc.file.smss)
        return None

    def grow(self, ack: dict, cc: Jumper) -> int:
        return ack["delivered"] if self.until is None else 0

    def take_over(self, cc: Jumper, before: int) -> bool:
        self.until, self.rate = None, self.rate or 0
        return False

    def kbit(self, acked: int, flight: int) -> int:
        rtts = [rtt for rtt, _ in self.acks]
        gaps = [b[1] - a[1] for a, b in zip(self.acks, self.acks[1:])]

        def spread(values: list[int]) -> int:
            mean = sum(values) // len(values)
            return math.isqrt(sum(v * v for v in values) // len(values) - mean * mean)

        rise = sum(rtts[15:]) // 5 - sum(rtts[:5]) // 5
        inputs = [logarithm(value) for value in (
            min(rtts), sum(rtts) // 20, spread(rtts) + 1, rtts[19], sum(gaps) // 19 + 1,
            spread(gaps) + 1, min(gaps) + 1, sorted(gaps)[9] + 1, acked + 1, flight + 1, abs(rise) + 1)]
        if rise < 0:
            inputs[10] = -inputs[10]
        w = weights(self.trained)
        x = [min(max((t - c) * f >> 10, -4096), 4096) for t, c, f in zip(inputs, w["centre"], w["factor"])]
        for layer in ("first", "second"):
            x = [max(sum(map(int.__mul__, row, x)) + bias >> 12, 0)
                 for row, bias in zip(w[layer], w[layer + "_bias"])]
        answer = sum(map(int.__mul__, w["last"], x)) + w["last_bias"] >> 12
        size = w["middle"] + (answer * w["spread"] >> 10)
        return (256 + size % 256 << size // 256) >> 8
