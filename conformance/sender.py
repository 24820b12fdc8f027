"""A vector file, a sender that writes it, and a link, for `generate.py`.

The sender does what `docs/reference/conformance.md` says that every sender must keep, in the order
of Linux; windows are in segments, times in microseconds.
"""

from __future__ import annotations

from pathlib import Path

from models import INF, HyStartPlusPlus


def header(title: str, source: str, form: str, slow_start: str, avoidance: str, **more: str) -> dict:
    return {"title": title, "source": source, "form": form, "slow-start": slow_start,
            "avoidance": avoidance} | more


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
            if key in ("norm", "pace") or self.said[key] != value:
                changes.append(f"{key}={value}")
                if key not in ("norm", "pace"):
                    self.said[key] = value
        arrow = " => " + " ".join(changes) if changes else ""
        self.lines.append(f"{now} {words}{arrow}")

    def write(self) -> None:
        Path(__file__).with_name(f"{self.name}.vec").write_text("\n".join(self.lines) + "\n")


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
            flight = self.flight()
            self.nxt += 1
            self.startup.leaves(self, flight)
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
            "app_limited": app_limited, "window_limited": window_limited, "drain_began": False,
        }
        if delivered:
            self.avoidance.delivered(facts, self)
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
                self.end_reduction()
        if self.phase in ("recovery", "cwr"):
            self.prr(delivered, advanced and not lost)
        elif advanced:
            decision = self.avoidance.decide(facts, self)
            if decision:
                slow_start = self.cwnd < self.ssthresh
                self.cwnd, self.ssthresh, why = decision
                if slow_start and self.cwnd >= self.ssthresh:
                    self.leave(why)
            elif window_limited:
                self.grow(facts)
        self.write(words)

    def end_reduction(self) -> None:
        self.ssthresh = self.avoidance.recovered() or self.ssthresh
        self.cwnd = self.ssthresh

    def leave(self, reason: str) -> None:
        if self.exit == "none":
            self.exit = reason

    def grow(self, facts: dict) -> None:
        acked = facts["delivered"]
        if self.cwnd < self.ssthresh:
            room, growth = self.ssthresh - self.cwnd, self.startup.grow(facts, self)
            growth = self.avoidance.slow_start(growth, facts, self)
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
        hook = self.avoidance.timed_out if reason == "timeout" else self.avoidance.reduce
        self.ssthresh = hook(self.startup.reduces_from(self))
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
