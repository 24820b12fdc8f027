#!/usr/bin/env python3
"""Writes the vectors of this folder (`*.vec`); run it here, without arguments.

The expected numbers come from the models below, which are written from the standards' text and
share no code with any implementation: whole numbers and fractions, nothing rounded on the way.
Where a standard or its reference tests state numbers, the vector is checked against them
(`assert`). The network is open loop or one first-in-first-out link; nothing is random.
"""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction
from pathlib import Path

getcontext().prec = 60
INF = 10**18


class File:
    """A vector that is being written."""

    def __init__(self, name: str, header: dict[str, str], iw: int, smss: int = 1000):
        self.name, self.smss = name, smss
        self.said = {"cwnd": f"{iw}s", "ssthresh": "inf", "state": "slow-start", "exit": "none"}
        self.checks = 0
        self.lines = ["# SPDX-License-Identifier: MIT OR Apache-2.0", "vector 1"]
        self.lines += [f"{key} {value}" for key, value in header.items()]
        self.lines += [f"smss {smss}", f"initial-window {iw}s", "clock us", "timeline"]

    def note(self, text: str) -> None:
        self.lines.append(f"# {text}")

    def event(self, now: int, words: str, **now_holds: str) -> None:
        changes = []
        for key, value in now_holds.items():
            if key == "norm" or self.said[key] != value:
                changes.append(f"{key}={value}")
                if key != "norm":
                    self.said[key] = value
        arrow = " => " + " ".join(changes) if changes else ""
        self.lines.append(f"{now} {words}{arrow}")

    def write(self) -> None:
        Path(f"{self.name}.vec").write_text("\n".join(self.lines) + "\n")


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

    def timeout(self, cc: Sender) -> None:
        pass


class HyStart(Standard):
    """hystart_update of tcp_cubic.c; `late` is the form of 5.16 to 6.13."""

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
        if cc.cwnd < 16:
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


# ---------------------------------------------------------------- the sender


class Sender:
    """One connection in segments. `file` gets every event and what must hold after it."""

    def __init__(self, file: File, startup, avoidance, iw: int, paced: bool = False) -> None:
        self.file, self.startup, self.avoidance, self.paced = file, startup, avoidance, paced
        self.cwnd, self.ssthresh, self.exit = iw, INF, "none"
        self.now = self.una = self.nxt = self.sacked = self.lost = self.resent = 0
        self.sent_total, self.srtt = 0, None
        self.phase, self.recover = "open", 0
        self.times: dict[int, int] = {}
        self.arrivals: list[tuple[int, int]] = []

    def flight(self) -> int:
        return self.nxt - self.una - self.sacked - self.lost + self.resent

    def state(self) -> str:
        if self.phase in ("recovery", "cwr"):
            return self.phase
        return "avoidance" if self.cwnd >= self.ssthresh else self.startup.mode

    def write(self, words: str) -> None:
        holds = {
            "cwnd": f"{self.cwnd}s",
            "ssthresh": "inf" if self.ssthresh == INF else f"{self.ssthresh}s",
            "state": self.state(),
            "exit": self.exit,
        }
        if words.startswith("ack") and self.startup.norm not in (None, self.said_norm):
            holds["norm"] = self.said_norm = self.startup.norm
        self.file.event(self.now, words, **holds)

    said_norm = "none"

    def send(self, now: int, count: int) -> None:
        self.now = now
        for segment in range(self.nxt, self.nxt + count):
            self.times[segment] = now
        self.nxt += count
        self.sent_total += count
        if self.phase in ("recovery", "cwr"):
            self.prr_out += count
        self.write(f"send {count}s")

    def resend(self, now: int, count: int) -> None:
        self.now = now
        self.resent += count
        self.sent_total += count
        if self.phase in ("recovery", "cwr"):
            self.prr_out += count
        self.write(f"resend {count}s")

    def fill(self, now: int) -> int:
        count = self.cwnd - self.flight()
        if count > 0:
            self.send(now, count)
        return max(count, 0)

    def ack(self, now: int, una: int, sacked: int = 0, lost: int = 0, rtt: int | None = None,
            window_limited: bool = True, app_limited: bool = False) -> None:
        self.now = now
        words = f"ack {una}s" + (f" sacked={sacked}s" if sacked else "")
        words += (f" lost={lost}s" if lost else "") + (f" rtt={rtt}" if rtt is not None else "")
        words += "" if window_limited else " not-window-limited"
        words += " app-limited" if app_limited else ""
        delivered = una + sacked - self.una - self.sacked
        advanced = una > self.una
        again = min(self.resent, delivered)
        self.resent -= again
        self.lost -= min(self.lost, again)
        self.una, self.sacked = una, sacked
        self.lost = min(self.lost, self.nxt - una - sacked)
        self.resent = min(self.resent, self.lost)
        if rtt is not None:
            self.srtt = rtt * 1000 if self.srtt is None else self.srtt - self.srtt // 8 + rtt * 125
        smss = self.file.smss
        facts = {
            "now": now, "una": una, "nxt": self.nxt, "delivered": delivered, "rtt": rtt,
            "una_bytes": una * smss, "sent_bytes": self.sent_total * smss,
            "app_limited": app_limited, "drain_began": False,
        }
        if rtt is not None:
            # Growth epochs of CUBIC hide their first second from the detectors (Linux).
            self.avoidance.sample(now, rtt)
            epoch = self.avoidance.epoch
            hz = getattr(self.avoidance, "hz", 1)
            blind = epoch is not None and now - epoch * 1_000_000 // hz < 1_000_000
            if self.cwnd < self.ssthresh and not blind:
                reason = self.startup.detect(facts, self)
                if reason == "drain":
                    facts["drain_began"] = True
                elif reason:
                    self.ssthresh = max(self.cwnd, 2)
                    self.leave(reason)
        before = self.phase
        ends = before != "open" and una >= self.recover and not lost
        self.lost += lost
        if lost and before in ("open", "cwr"):
            if before == "open":
                self.reduce("loss")
            self.phase, self.recover = "recovery", self.nxt
        if ends:
            self.phase = "open"
            if before != "loss":
                self.cwnd = self.ssthresh
        if self.phase in ("recovery", "cwr"):
            self.prr(delivered, advanced and not lost)
        elif advanced and window_limited:
            self.grow(facts)
        self.write(words)

    def leave(self, reason: str) -> None:
        if self.exit == "none":
            self.exit = reason

    def grow(self, facts: dict) -> None:
        acked = facts["delivered"]
        if self.cwnd < self.ssthresh:
            room, growth = self.ssthresh - self.cwnd, self.startup.grow(facts, self)
            if growth < room:
                self.cwnd += growth
                return
            self.cwnd, acked = self.ssthresh, max(acked - room, 0)
            self.leave("ssthresh")
            if acked == 0:
                return
        self.cwnd += self.avoidance.grow(self.now, acked, self.cwnd, (self.srtt or 0) // 1000)

    def reduce(self, reason: str) -> None:
        self.leave(reason)
        self.prior = self.cwnd
        self.ssthresh = self.avoidance.reduce(self.cwnd)
        self.prr_delivered = self.prr_out = 0
        if isinstance(self.startup, HyStartPlusPlus):
            self.startup.over, self.startup.baseline = True, None

    def prr(self, delivered: int, safe: bool) -> None:
        if not delivered:
            return
        self.prr_delivered += delivered
        flight = self.flight()
        if flight > self.ssthresh:
            count = -(-self.prr_delivered * self.ssthresh // self.prior) - self.prr_out
        else:
            count = max(self.prr_delivered - self.prr_out, delivered) + safe
            count = min(count, self.ssthresh - flight)
        self.cwnd = flight + max(count, 1 if self.prr_out == 0 else 0)

    def mark(self, now: int) -> None:
        self.now = now
        self.reduce("ecn")
        self.phase, self.recover = "cwr", self.nxt
        self.write("mark")

    def timeout(self, now: int) -> None:
        self.now = now
        if self.phase != "loss":
            self.reduce("timeout")
            self.recover = self.nxt
        self.avoidance.forget()
        self.lost, self.resent, self.phase, self.cwnd = self.nxt - self.una - self.sacked, 0, "loss", 1
        self.startup.timeout(self)
        self.write("timeout")

    def restart(self, now: int, rto: int, iw: int) -> None:
        idle = now - max(self.times.values())
        self.now = now
        self.ssthresh = max(self.ssthresh, self.cwnd // 2 + self.cwnd // 4)
        floor, idle = min(iw, self.cwnd), idle - rto
        while idle > 0 and self.cwnd > floor:
            self.cwnd //= 2
            idle -= rto
        self.cwnd = max(self.cwnd, floor)
        self.write(f"restart rto={rto}")


class Link:
    """A first-in-first-out link: `service` us for each packet, `base` us there and back."""

    def __init__(self, service: int, base: int, per_ack: int) -> None:
        self.service, self.base, self.per_ack = service, base, per_ack
        self.free, self.queue = 0, []

    def carry(self, now: int, first: int, count: int) -> None:
        for segment in range(first, first + count):
            self.free = max(self.free, now) + self.service
            if (segment + 1) % self.per_ack == 0:
                self.queue.append((self.free + self.base - self.service, segment))

    def run(self, sender: Sender, until: int, then: int = 0, silent=(), **flags) -> None:
        """Until `until`, or `then` ACKs after slow start ended. ACKs that fall into a `silent`
        span arrive as one at its end."""
        left = then
        first = sender.nxt
        self.carry(sender.now, first, sender.fill(sender.now))
        while self.queue:
            now, segment = self.queue.pop(0)
            if now > until:
                return
            span = next((span for span in silent if span[0] <= now < span[1]), None)
            if span and self.queue and self.queue[0][0] < span[1]:
                continue
            now = span[1] if span else now
            sender.ack(now, segment + 1, rtt=now - sender.times[segment], **flags)
            if then and sender.exit != "none":
                left -= 1
                if left < 0:
                    return
            first = sender.nxt
            self.carry(now, first, sender.fill(now))


def header(title: str, source: str, form: str, slow_start: str, avoidance: str, **more: str) -> dict:
    return {"title": title, "source": source, "form": form, "slow-start": slow_start,
            "avoidance": avoidance} | more


# ---------------------------------------------------------------- the vectors


def standard() -> None:
    file = File("standard-slow-start", header(
        "One ACK for each segment, then one for two, four and 44; the threshold; a timeout",
        "RFC 5681 section 3.1 without a limit for one ACK; packetdrill slow_start/*",
        "linux", "standard", "reno"), 10)
    s = Sender(file, Standard(), Reno(), 10)
    s.send(0, 10)
    file.note("One ACK for each segment: each releases two.")
    for i in range(10):
        s.ack(100_000 + i * 100, i + 1, rtt=100_000 + i * 100)
    assert s.cwnd == 20
    s.fill(101_000)
    file.note("One ACK for two segments, then one for four: the window still doubles.")
    for i in range(10):
        s.ack(201_000 + i * 100, 12 + 2 * i, rtt=100_000)
    assert s.cwnd == 40
    s.fill(202_000)
    for i in range(10):
        s.ack(302_000 + i * 100, 34 + 4 * i, rtt=100_000)
    assert s.cwnd == 80
    s.fill(303_000)
    file.note("A stretch ACK for 44 segments adds 44: Linux has no L of RFC 3465.")
    s.ack(403_000, 114, rtt=100_000)
    assert s.cwnd == 124
    file.note("An ACK that finds the window unused adds nothing.")
    s.ack(403_100, 118, rtt=100_000, window_limited=False)
    assert s.cwnd == 124
    file.note("The timer expires: half the window is the threshold, one segment the window.")
    s.timeout(900_000)
    assert (s.cwnd, s.ssthresh) == (1, 62)
    s.resend(900_000, 1)
    s.ack(1_000_000, 119, rtt=100_000)
    file.note("The second expiry for the same data leaves the threshold.")
    s.timeout(1_500_000)
    assert (s.cwnd, s.ssthresh) == (1, 62)
    s.resend(1_500_000, 1)
    s.ack(1_600_000, 150, rtt=100_000)
    file.note("Slow start again, up to the threshold; what is left over is congestion avoidance's.")
    s.fill(1_600_000)
    s.ack(1_700_000, 182, rtt=100_000)
    s.fill(1_700_000)
    s.ack(1_800_000, 214, rtt=100_000)
    s.fill(1_800_000)
    s.ack(1_900_000, 276, rtt=100_000)
    s.fill(1_900_000)
    s.ack(2_000_000, 336, rtt=100_000)
    file.write()

    file = File("idle-restart", header(
        "The window halves for each timeout of idling, not below the initial one",
        "Linux tcp_cwnd_restart; packetdrill slow_start/slow-start-after-idle.pkt", "linux",
        "standard", "reno"), 10)
    s = Sender(file, Standard(), Reno(), 10)
    now = 0
    for una in (10, 30, 70, 150):
        s.fill(now)
        now += 100_000
        s.ack(now, una, rtt=100_000)
    file.note("Three and a half timeouts: 160, 80, 40, 20, and never below 10.")
    s.restart(now + 3_400_000, 1_000_000, 10)
    assert (s.cwnd, s.ssthresh) == (20, INF)
    s.fill(now + 3_400_000)
    s.ack(now + 3_500_000, 170, rtt=100_000)
    file.write()


def reno() -> None:
    file = File("reno-recovery", header(
        "20 segments out, the first is lost: proportional rate reduction as Linux counts it",
        "RFC 9937 in Linux's arithmetic (tcp_cwnd_reduction)", "linux", "standard",
        "cubic arithmetic=linux", recovery="prr form=linux"), 20)
    s = Sender(file, Standard(), CubicLinux(), 20)
    s.send(0, 20)
    windows = []
    for i in range(1, 20):
        s.ack(100_000 + i * 1000, 0, sacked=i, lost=1 if i == 3 else 0, rtt=100_000 + i * 1000)
        windows.append(s.cwnd)
        room = s.cwnd - s.flight()
        if i < 3:
            s.fill(s.now)
        elif room > 0:
            if s.resent < s.lost:
                s.resend(s.now, 1)
                room -= 1
            if room > 0:
                s.send(s.now, room)
    assert windows[:19] == [20, 20, 19, 19, 19, 18, 18, 18, 17, 17, 17, 16, 16, 16, 16, 15, 14, 14, 14]
    file.note("Everything sent before the loss is delivered: recovery ends at the threshold.")
    s.ack(200_000, 22, sacked=0)
    file.write()

    file = File("reno-avoidance", header(
        "A mark halves the window; then one segment for each window of ACKs",
        "RFC 5681 section 3.1, RFC 3168 section 6.1.2", "linux", "standard", "reno"), 20)
    s = Sender(file, Standard(), Reno(), 20)
    link = Link(1000, 100_000, 1)
    s.send(0, 20)
    link.carry(0, 0, 20)
    now, segment = link.queue.pop(0)
    s.ack(now, 1, rtt=now)
    s.mark(now)
    assert s.ssthresh == 10
    link.run(s, 1_500_000)
    assert s.cwnd >= 20
    file.write()


def cubic() -> None:
    # Reductions at which the cube root of Linux's table is the exact one: 100 to 70 and 16 to 11.
    for name, iw, service, hz, until, avoidance, form, title in (
        ("cubic-linux-concave", 100, 700, 1000, 1_300_000, lambda: CubicLinux(1000), "linux",
         "A mark at 100 segments, a round trip of 100 ms: the concave part of the curve"),
        ("cubic-linux-friendly", 16, 700, 250, 4_000_000, lambda: CubicLinux(250), "linux",
         "A mark at 16 segments, a round trip of 100 ms: the window follows Reno's"),
        ("cubic-rfc9438-concave", 100, 700, 0, 1_300_000, CubicRfc, "rfc",
         "A mark at 100 segments, a round trip of 100 ms: the concave part of the curve"),
        ("cubic-rfc9438-friendly", 16, 700, 0, 4_000_000, CubicRfc, "rfc",
         "A mark at 16 segments, a round trip of 100 ms: the window follows Reno's"),
    ):
        arithmetic = f"cubic arithmetic=linux hz={hz}" if hz else "cubic arithmetic=rfc9438"
        source = ("tcp_cubic.c of Linux 6.12 in its integers" if hz else
                  "RFC 9438 sections 4.1 to 4.8; the window is shown rounded down to segments")
        file = File(name, header(title, source, form, "standard", arithmetic), iw)
        s = Sender(file, Standard(), avoidance(), iw)
        link = Link(service, 100_000, 2)
        s.send(0, iw)
        link.carry(0, 0, iw)
        now, segment = link.queue.pop(0)
        s.ack(now, segment + 1, rtt=now)
        s.mark(now)
        link.run(s, until)
        file.write()

    file = File("cubic-linux-timeout", header(
        "A timeout forgets the curve: the window then grows by a twentieth at least",
        "tcp_cubic.c of Linux 6.12; fast convergence at the second reduction", "linux", "standard",
        "cubic arithmetic=linux hz=1000"), 16)
    s = Sender(file, Standard(), CubicLinux(1000), 16)
    link = Link(700, 100_000, 2)
    s.send(0, 16)
    s.ack(101_400, 2, rtt=101_400)
    s.fill(101_400)
    assert s.cwnd == 18
    s.timeout(400_000)
    assert (s.cwnd, s.ssthresh) == (1, 12)
    s.resend(400_000, 1)
    s.ack(500_000, 3, rtt=100_000)
    s.resend(500_000, 2)
    s.ack(600_000, 20, rtt=100_000)
    link.free = 600_000
    link.run(s, 2_400_000)
    s.mark(s.now)
    link.run(s, 3_000_000)
    file.write()


def hystart() -> None:
    # packetdrill cubic/cubic-bulk-166k.pkt: two segments each 100 ms, the sender paces.
    published = {
        False: [(10, 20), (20, 30), (28, 36), (60, 37), (80, 39), (100, 45), (120, 54)],
        True: [(10, 20), (20, 30), (30, 40), (40, 48), (60, 49), (80, 50), (100, 52), (120, 58)],
    }
    for late, name in ((False, "hystart-linux-6.14-bulk"), (True, "hystart-linux-5.16-bulk")):
        kernel = "5.16" if late else "6.14"
        file = File(name, header(
            "Two segments each 100 ms: the delay of the own queue ends slow start",
            "packetdrill cubic/cubic-bulk-166k.pkt"
            + ("" if late else " as it must read since the fix of January 2025"),
            f"linux-{kernel}", f"hystart form=linux-{kernel}", "cubic arithmetic=linux hz=1000",
            pacing="on rate=1000000"), 10)
        s = Sender(file, HyStart(late, 1_000_000), CubicLinux(1000), 10, paced=True)
        seen = bulk(s)
        assert all(seen[una] == cwnd for una, cwnd in published[late]), name
        file.write()

    file = File("hystart-delay", header(
        "A base of 200 ms: 216 ms are one too few, the ninth sample above ends slow start",
        "tcp_cubic.c hystart_update; packetdrill cubic-hystart-delay-rtt-jumps-upward.pkt",
        "linux", "hystart form=linux-6.14", "cubic arithmetic=linux hz=1000",
        pacing="on rate=1000000"), 20)
    s = Sender(file, HyStart(False, 1_000_000), CubicLinux(1000), 20, paced=True)
    s.fill(0)
    for i in range(10):
        s.ack(200_000 + 4000 * i, 2 + 2 * i, rtt=200_000 + i)
        s.fill(s.now)
    file.note("A round at 216 ms, which is not above the threshold.")
    for i in range(20):
        s.ack(416_000 + 4000 * i, 22 + 2 * i, rtt=216_000)
        s.fill(s.now)
    assert s.exit == "none" and s.cwnd == 80, (s.exit, s.cwnd)
    file.note("A round one microsecond above it: the samples 2 to 9 count, the next one decides.")
    for i in range(12):
        s.ack(632_001 + 4000 * i, 62 + 2 * i, rtt=216_001)
        s.fill(s.now)
    assert s.exit == "delay", s.exit
    file.write()

    file = File("hystart-train", header(
        "ACKs within 2 ms of each other: an unpaced sender leaves after half the base and 0.5 ms",
        "tcp_cubic.c hystart_update: 100 ms give 50.5 ms", "linux", "hystart form=linux-6.14",
        "cubic arithmetic=linux hz=1000", pacing="off rate=1000000"), 64)
    s = Sender(file, HyStart(False, 1_000_000), CubicLinux(1000), 64)
    s.fill(0)
    for i in range(32):
        s.ack(100_000 + 1000 * i, 2 + 2 * i, rtt=100_000)
        s.fill(s.now)
    file.note("The train of the second round: 50 ms, 50.5 ms, and one microsecond more.")
    start = 200_000
    for i in range(36):
        s.ack(start + 1500 * i, 66 + 2 * i, rtt=100_000)
        s.fill(s.now)
        if s.exit != "none":
            break
    assert s.exit == "ack-train" and s.now - start == 51_000, (s.exit, s.now)
    file.write()


def bulk(s: Sender) -> dict[int, int]:
    """Two segments each 100 ms: the window by segments acknowledged."""
    seen, now = {}, 0
    s.fill(0)
    for i in range(1, 64):
        now = 100_000 * i
        s.ack(now, 2 * i, rtt=now - s.times[2 * i - 1])
        seen[2 * i] = s.cwnd
        s.fill(now)
    return seen


def hystart_plus_plus() -> None:
    for paced in (False, True):
        file = File("hystart++-stretch-" + ("paced" if paced else "unpaced"), header(
            "An ACK for 44 segments: 44 with pacing, 8 without; a quarter of it in CSS",
            "RFC 9406 sections 4.2 and 4.3", "rfc", "hystart++", "reno",
            pacing="on" if paced else "off"), 100)
        s = Sender(file, HyStartPlusPlus(), Reno(), 100, paced=paced)
        rounds(s, [100_000] * 2, 20)
        s.ack(s.now + 1000, s.una + 44, rtt=112_500)
        s.fill(s.now)
        file.note("A round that is slower by an eighth: CSS from its eighth sample on.")
        rounds(s, [112_500], 10)
        assert s.state() == "css"
        s.ack(s.now + 1000, s.una + 44, rtt=112_500)
        file.write()

    file = File("hystart++-exit", header(
        "An increase by less than an eighth, one by more, and five rounds of conservative slow start",
        "RFC 9406 section 4.2; the entry counts as the first round", "rfc", "hystart++", "reno",
        pacing="on"), 20)
    s = Sender(file, HyStartPlusPlus(), Reno(), 20, paced=True)
    rounds(s, [100_000, 112_499, 126_562, 130_000, 130_000, 130_000, 130_000], 10)
    assert s.exit == "css-rounds", (s.exit, s.state())
    file.write()

    file = File("hystart++-spurious", header(
        "The delay falls below what began CSS: slow start goes on",
        "RFC 9406 section 4.2", "rfc", "hystart++", "reno", pacing="on"), 20)
    s = Sender(file, HyStartPlusPlus(), Reno(), 20, paced=True)
    rounds(s, [40_000, 45_000, 45_000, 44_999, 44_999], 10)
    assert s.exit == "none" and s.state() == "slow-start", (s.exit, s.state())
    file.note("A loss ends it for good.")
    s.ack(s.now + 1000, s.una, sacked=3, lost=1, rtt=45_000)
    file.write()

    file = File("hystart++-thresholds", header(
        "10 ms need 4 ms more, 200 ms need 16 ms more: one microsecond less is not enough",
        "RFC 9406 section 4.3: MIN_RTT_THRESH, MAX_RTT_THRESH, MIN_RTT_DIVISOR", "rfc",
        "hystart++", "reno", pacing="on"), 20)
    s = Sender(file, HyStartPlusPlus(), Reno(), 20, paced=True)
    rounds(s, [10_000, 13_999], 10)
    assert s.state() == "slow-start"
    rounds(s, [17_999], 10)
    assert s.state() == "css"
    file.note("Back below, and up to 200 ms, which begins CSS; 199 ms end it.")
    rounds(s, [10_000, 200_000, 199_000], 10)
    assert s.state() == "slow-start"
    rounds(s, [199_000 + 15_999], 10)
    assert s.state() == "slow-start"
    rounds(s, [199_000 + 15_999 + 16_000], 10)
    assert s.state() == "css"
    file.write()


def rounds(s: Sender, rtts: list[int], acks: int) -> None:
    """Rounds of RFC 9406, each acknowledged by `acks` ACKs that carry one round-trip time."""
    for rtt in rtts:
        s.fill(s.now)
        first, last = s.una, getattr(s, "round_end", s.nxt)
        start = s.now + rtt
        for i in range(1, acks + 1):
            s.fill(s.now)
            # What the last ACK releases belongs to the round after the next.
            s.round_end = s.nxt
            s.ack(start + 100 * i, first + (last - first) * i // acks, rtt=rtt)


def search() -> None:
    def connection(name, title, startup, words, form, source, iw=20, **more):
        file = File(name, header(title, source, form, f"search {words}", "reno", **more), iw)
        return file, Sender(file, startup, Reno(), iw)

    thesis = "Ataei Kachooei, MS thesis (WPI 2024), Algorithm 1 with its errata repaired"
    netdev = "patch for tcp_cubic.c, netdev, January 2025, with its errata repaired"
    draft = "draft-chung-ccwg-search-09 and its ports, looking back backward"
    # 100 packets of bandwidth-delay product, an endless buffer, one ACK for four segments.
    full = "A queue without end over 100 segments of path: when slow start ends"
    for name, startup, words, form, source in (
        ("search-2.0-exit", lambda: Search2(350), "version=2.0", "thesis", thesis),
        ("search-2.0-rollback", lambda: Search2(350, "rollback"), "version=2.0 exit=rollback",
         "thesis", thesis),
        ("search-3.1-exit", lambda: Search31(350), "version=3.1 arithmetic=shifted-16", "linux", netdev),
        ("search-3.1-rollback", lambda: Search31(350, "rollback"),
         "version=3.1 arithmetic=shifted-16 exit=rollback", "linux", netdev),
        ("search-2.0-percent", lambda: Search2Percent(350), "version=2.0 arithmetic=percent",
         "thesis", thesis + ", in whole percent"),
        ("search-4.0-percent", lambda: Search4Percent(260, "drain"),
         "version=4.0 arithmetic=percent exit=drain", "draft", draft),
        ("search-4.0-exit", lambda: Search4(260), "version=4.0 exit=plain", "draft", draft),
        ("search-4.0-drain", lambda: Search4(260, "drain"), "version=4.0 exit=drain", "draft", draft),
    ):
        file, s = connection(name, full, startup(), words, form, source)
        Link(600, 60_000, 4).run(s, 3_000_000, then=230 if "drain" in words else 20)
        assert s.exit == "search", name
        if "drain" in words:
            assert s.state() == "avoidance", s.state()
        file.write()

    for name, startup, words, form, source in (
        ("search-2.0-doubling", Search2(350), "version=2.0", "thesis", thesis),
        ("search-4.0-doubling", Search4(260), "version=4.0", "draft", draft),
    ):
        file, s = connection(name, "Perfect doubling: the norm stays near zero", startup, words, form, source)
        even_rounds(s, 8)
        assert s.exit == "none"
        file.write()

    file, s = connection("search-2.0-gap", "Three round trips without ACK are bins without delivery",
                         Search2(350), "version=2.0", "thesis", thesis)
    Link(600, 60_000, 4).run(s, 3_000_000, then=4, silent=((180_000, 360_000),))
    file.write()

    file, s = connection("search-3.1-gap", "More than two round trips without ACK make the bins worthless",
                         Search31(350, alpha=2), "version=3.1 arithmetic=shifted-16 missed=reset alpha=2",
                         "linux", netdev)
    Link(600, 60_000, 4).run(s, 3_000_000, then=4, silent=((180_000, 360_000),))
    assert s.exit == "search"
    file.write()

    file, s = connection("search-3.1-app-limited", "An application that sends at a constant rate is no full path",
                         Search31(350), "version=3.1 arithmetic=shifted-16", "linux", netdev)
    constant(s, 1_500_000)
    even_rounds(s, 5, s.cwnd)
    assert s.exit == "none"
    file.write()

    file, s = connection("search-2.0-app-limited", "2.0 mistakes a constant rate for a full path",
                         Search2(350), "version=2.0", "thesis", thesis)
    constant(s, 1_000_000)
    assert s.exit == "search"
    file.write()


def even_rounds(s: Sender, count: int, window: int | None = None) -> None:
    """Rounds of 100 ms with 20 evenly spaced ACKs, each answered at once."""
    if window is None:
        s.fill(s.now)
    else:
        s.send(s.now, 20)
    times = [s.now + 100_000 + 5_000 * i for i in range(20 * count)]
    share = (s.nxt - s.una) // 20
    for index, now in enumerate(times):
        if index and index % 20 == 0:
            share *= 2
        s.ack(now, s.una + share, rtt=100_000)
        s.send(now, 2 * share)


def constant(s: Sender, span: int) -> None:
    """The application writes a segment each 5 ms; the window stays unused."""
    for now in range(0, span, 5_000):
        if now >= 100_000:
            s.ack(now, s.una + 1, rtt=100_000, window_limited=False, app_limited=True)
        s.send(now, 1)
    while s.una < s.nxt:
        s.ack(s.now + 5_000, s.una + 1, rtt=100_000, window_limited=False, app_limited=True)


if __name__ == "__main__":
    for write in (standard, reno, cubic, hystart, hystart_plus_plus, search):
        write()
