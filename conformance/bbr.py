"""Writes the vectors of BBR version 3; `generate.py` calls it.

The sender paces bursts of two segments over one link; what the link drops is declared lost when
three later segments were delivered, and left again before new data. Samples are those of the
draft's section "Detailed Delivery Rate Sampling Algorithm".
"""

from __future__ import annotations

from dataclasses import dataclass

from bbr_models import INF, Bbr3, Rs
from sender import File


@dataclass
class Packet:
    """A transmission of segment `segment`, with what the draft stores for it."""

    segment: int
    sent: int
    first_sent: int
    delivered: int
    delivered_time: int
    tx_in_flight: int
    lost: int


class Path:
    """A sender that follows the model, and the link. Times in microseconds, counts in segments."""

    def __init__(self, name: str, title: str, source: str, service: int, base: int,
                 buffer: float = INF) -> None:
        self.file = File(name, {"title": title, "source": source, "form": "draft",
                                "whole": "bbr3", "pacing": "on"}, 10)
        self.smss = self.file.smss
        self.model = Bbr3(self.smss, 10 * self.smss)
        self.service, self.base, self.buffer = service, base, buffer
        self.now = self.free = self.next_send = 0
        self.una = self.nxt = self.delivered = self.lost_ever = 0
        self.sacked: set[int] = set()
        self.lost: list[int] = []
        self.resent: set[int] = set()
        self.last: dict[int, Packet] = {}
        self.arrivals: list[tuple[int, Packet]] = []
        self.first_sent = self.delivered_time = 0
        self.recover = self.srtt = self.min_rtt = None
        self.limited_until = 0
        self.drops: set[int] = set()
        self.paused = False
        self.pace = None

    def flight(self) -> int:
        return self.nxt - self.una - len(self.sacked) - len(self.lost) + len(self.resent)

    def step(self) -> bool:
        """The next burst or ACK; false when nothing is left to happen."""
        room = self.model.segments() - self.flight()
        if room <= 0:
            self.limited_until = self.delivered + self.flight()
        due = max(self.next_send, self.now)
        ack = self.arrivals[0][0] if self.arrivals else None
        if room > 0 and not self.paused and (ack is None or due < ack):
            self.now = due
            self.burst(min(room, 2))
        elif ack is not None:
            self.now = ack
            self.receive(self.arrivals.pop(0)[1])
        else:
            return False
        return True

    def burst(self, count: int) -> None:
        waiting = [segment for segment in self.lost if segment not in self.resent][:count]
        if waiting:
            self.resent.update(waiting)
            for segment in waiting:
                self.leave(segment, len(waiting) - waiting.index(segment) - 1)
            self.event(f"resend {len(waiting)}s")
        else:
            for segment in range(self.nxt, self.nxt + count):
                self.nxt += 1
                self.leave(segment, 0)
            self.event(f"send {count}s")
        size = (len(waiting) or count) * self.smss
        self.next_send = self.now + -(-size * 1_000_000 // self.model.pace())

    def leave(self, segment: int, later: int) -> None:
        flight = self.flight() - later
        if flight == 1:
            self.first_sent = self.delivered_time = self.now
        packet = Packet(segment, self.now, self.first_sent, self.delivered, self.delivered_time,
                        flight, self.lost_ever)
        again = segment in self.last
        self.last[segment] = packet
        waiting = max(self.free - self.now, 0) // self.service
        if waiting >= self.buffer or segment in self.drops and not again:
            return
        self.free = max(self.free, self.now) + self.service
        self.arrivals.append((self.free + self.base - self.service, packet))

    def receive(self, packet: Packet) -> None:
        smss, now = self.smss, self.now
        assert packet is self.last[packet.segment], "a retransmission was not needed"
        if packet.segment in self.resent:
            self.resent.remove(packet.segment)
            self.lost.remove(packet.segment)
        self.sacked.add(packet.segment)
        while self.una in self.sacked:
            self.sacked.remove(self.una)
            self.una += 1
        self.delivered += 1
        self.delivered_time = now
        rtt = now - packet.sent
        self.srtt = rtt * 1000 if self.srtt is None else self.srtt - self.srtt // 8 + rtt * 125
        self.min_rtt = rtt if self.min_rtt is None else min(self.min_rtt, rtt)
        self.first_sent = packet.sent
        interval = max(packet.sent - packet.first_sent, now - packet.delivered_time)
        assert interval >= self.min_rtt
        found = [segment for segment in range(self.una, packet.segment - 2)
                 if segment not in self.sacked and segment not in self.lost
                 and sum(above > segment for above in self.sacked) >= 3]
        for segment in found:
            gone = self.last[segment]
            self.lost.append(segment)
            self.lost_ever += 1
            since = self.lost_ever - gone.lost
            self.model.lost(now, segment * smss, self.delivered * smss, gone.tx_in_flight * smss,
                            since * smss)
            self.event(f"drop {segment}s tx={gone.tx_in_flight}s gone={since}s delivered={self.delivered}s")
        if found and self.recover is None:
            self.recover = self.nxt
            self.model.recovery()
        elif self.recover is not None and self.una >= self.recover and not found:
            self.recover = None
        limited = packet.delivered < self.limited_until
        rs = Rs(now, smss, self.flight() * smss, (self.delivered - packet.delivered) * smss, interval,
                packet.delivered * smss, self.delivered * smss, packet.tx_in_flight * smss,
                (self.lost_ever - packet.lost) * smss, rtt, self.srtt // 1000,
                self.recover is not None, limited)
        self.model.ack(rs)
        words = f"ack {self.una}s"
        words += f" sacked={len(self.sacked)}s" if self.sacked else ""
        words += f" lost={len(found)}s" if found else ""
        words += f" rtt={rtt}" + ("" if limited else " not-window-limited")
        words += f" sample={rs.delivered // smss}s/{interval} prior={packet.delivered}s"
        words += f" tx={packet.tx_in_flight}s"
        words += f" gone={rs.lost // smss}s" if rs.lost else ""
        self.event(words)

    def event(self, words: str) -> None:
        model = self.model
        holds = {"cwnd": f"{model.segments()}s",
                 "ssthresh": "inf" if model.ssthresh == INF else f"{model.ssthresh}s",
                 "exit": model.exit}
        below = model.ssthresh == INF or model.segments() < model.ssthresh
        holds["state"] = "recovery" if self.recover is not None else "slow-start" if below else "avoidance"
        if words.startswith("drop"):
            # Recovery begins with the ACK.
            holds["state"] = self.file.said["state"]
        if self.pace != model.pace():
            holds["pace"] = str(model.pace())
            self.pace = model.pace()
        self.file.event(self.now, words, **holds)

    def run(self, state: str, most: int = 4_000) -> None:
        for _ in range(most):
            if self.model.state == state:
                self.file.note(f"{state}.")
                return
            assert self.step()
        raise AssertionError((state, self.model.state, self.now))

    def steps(self, count: int) -> None:
        for _ in range(count):
            assert self.step()


SOURCE = "draft-ietf-ccwg-bbr (August 2026), in whole bits per second and bytes, rounded down"


def plateau() -> None:
    path = Path("bbr3-plateau", "Startup until the rate no longer grows, Drain, DOWN and CRUISE", SOURCE,
                1_000, 60_000)
    path.run("Drain")
    assert path.model.exit == "full-pipe" and path.model.full_count == 3
    assert 8_000_000 * 98 // 100 <= path.model.max_bw() <= 8_000_000 * 102 // 100
    path.run("CRUISE")
    path.steps(200)
    path.file.write()


def high_loss() -> None:
    path = Path("bbr3-loss", "A shallow buffer: Startup ends by losses, which bound what is in flight",
                SOURCE, 1_000, 60_000)
    path.drops = set(range(150, 400, 7))
    path.run("Drain")
    assert path.model.exit == "loss" and path.model.inflight_long < INF
    path.steps(300)
    path.file.write()


def few_losses() -> None:
    path = Path("bbr3-few", "Five places are no reason to leave Startup; in CRUISE each lossy round counts",
                SOURCE, 1_000, 60_000)
    path.drops = {50, 53, 56, 59, 62}
    path.run("Drain")
    assert path.model.exit == "full-pipe"
    path.run("CRUISE")
    path.drops |= {path.nxt + 10, path.nxt + 40}
    path.steps(500)
    assert path.model.bw_short < INF and path.model.inflight_short < INF
    path.file.write()


def probe() -> None:
    path = Path("bbr3-probe", "REFILL and UP after a pause; 2 % lost end the probe and bound the next",
                SOURCE, 1_000, 60_000)
    path.run("CRUISE")
    path.paused = True
    while path.arrivals:
        path.step()
    path.file.note("The next thing happens when any sender has waited long enough.")
    path.now = path.next_send = path.model.cycle_stamp + 3_100_000
    path.paused = False
    path.run("REFILL")
    path.run("UP")
    path.drops = {path.nxt + 30 + 9 * i for i in range(4)}
    path.run("DOWN")
    assert path.model.too_high and path.model.inflight_long < INF
    path.steps(300)
    path.file.write()


ALL = (plateau, high_loss, few_losses, probe)
