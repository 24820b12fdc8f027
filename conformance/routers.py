"""Writes the vectors of Quick-Start, RCP and XCP; `generate.py` calls it."""

from __future__ import annotations

from fast_startup import Jumper, begin
from models import Reno, Standard
from router_models import QuickStart, Rcp, Xcp, window
from sender import File

RFC = "RFC 4782 sections 4.4 to 4.6; RFC 3742"


def paced_flight(s: Jumper, until: int, rate: int) -> None:
    """Bursts of two segments at `rate`, before `until`."""
    first = s.now
    for i in range(0, s.cwnd, 2):
        now = first + i * 1_052 * 1_000_000 // rate
        if now >= until:
            return
        s.send(now, min(2, s.cwnd - i))


def acks(s: Jumper, start: int, count: int, step: int) -> None:
    una = s.una
    for i in range(count):
        s.ack(start + step * i, una + i + 1, rtt=100_000)
        s.fill(s.now)


def quick_start() -> None:
    # R * T / (MSS + H) for packets of 1500 bytes, at rates of 40 kbit/s * 2^N.
    for rtt, code, segments in ((150, 7, 64), (98, 8, 83), (28, 5, 2), (4, 15, 436), (54, 9, 92)):
        assert window(5_000 << code, rtt * 1_000, 1_500) == segments

    s = begin("quick-start-helped", "5.12 Mbit/s and 100 ms: 60 segments paced; slow start, limited "
              "above 100", RFC, "rfc", "quick-start", QuickStart())
    s.established(100_000, approved=640_000)
    assert s.cwnd == 60
    paced_flight(s, 100_000, 640_000)
    assert s.nxt == 60
    acks(s, 100_000, 60, 1_643)
    assert s.cwnd == 101 + 9, s.cwnd
    acks(s, 200_000, 120, 800)
    assert s.cwnd == 110 + 80 // 2 + 40 // 3, s.cwnd
    s.file.write()

    s = begin("quick-start-long-rtt", "The handshake took 200 ms, the path 100: the first ACK leaves "
              "what was sent", RFC, "rfc", "quick-start", QuickStart())
    s.established(200_000, approved=640_000)
    assert s.cwnd == 121
    paced_flight(s, 100_000, 640_000)
    sent = s.nxt
    s.ack(100_000, 1, rtt=100_000)
    assert s.cwnd == sent + 1 == 63, (s.cwnd, sent)
    s.fill(s.now)
    acks(s, 101_643, 20, 1_643)
    s.file.write()

    for name, title, rtt, approved in (
        ("quick-start-denied", "A router did not approve: the initial window, and limited slow start",
         100_000, None),
        ("quick-start-little", "What was approved is less than the initial window", 28_000, 160_000),
    ):
        s = begin(name, title, RFC, "rfc", "quick-start", QuickStart())
        s.established(rtt, approved=approved)
        assert s.cwnd == 10
        s.fill(0)
        for i in range(10 if approved else 150):
            s.ack(100_000 + 2_000 * i, i + 1, rtt=100_000)
            s.fill(s.now)
        s.file.write()

    s = begin("quick-start-loss", "20 of 60 segments are lost: the initial window, and half of the 40 "
              "that arrived is the threshold", RFC, "rfc", "quick-start", QuickStart())
    s.established(100_000, approved=640_000)
    paced_flight(s, 100_000, 640_000)
    s.ack(100_000, 10, rtt=100_000)
    s.ack(130_000, 10, sacked=30, lost=20, rtt=100_000)
    assert s.cwnd == 10
    s.resend(130_000, s.cwnd - s.flight())
    s.ack(230_000, 20, sacked=30, rtt=100_000)
    s.resend(230_000, s.cwnd - s.flight())
    s.ack(330_000, 60, rtt=100_000)
    s.fill(s.now)
    assert s.ssthresh == 20, s.ssthresh
    acks(s, 430_000, 20, 1_000)
    s.file.write()


def path(name: str, title: str, source: str, model: type) -> Rcp | Xcp:
    file = File(name, {"title": title, "source": source, "form": "paper", "whole": model.__name__.lower()}, 10)
    return model(file, Standard(), Reno(), 10)


def recovery(s: Rcp | Xcp, feedback: int | None) -> None:
    """The first of what is outstanding is lost; every later segment arrives, then it."""
    una, end = s.una, s.nxt
    for i in range(1, end - una):
        s.heard(s.now + 1_000, una, feedback, sacked=i, lost=1 if i == 3 else 0)
        if i == 3 and s.key == "feedback" and feedback:
            s.file.note("An ACK that delivers nothing brings feedback, which moves nothing.")
            s.heard(s.now + 500, una, feedback, sacked=i)
        room = s.cwnd - s.flight()
        if i >= 3 and room > 0:
            if s.resent < s.lost:
                s.resend(s.now, 1)
                room -= 1
            if room > 0:
                s.send(s.now, room)
    s.heard(s.now + 50_000, end, feedback)


def rcp() -> None:
    source = "Dukkipati and McKeown: RCP"
    s = path("rcp-helped", "Each ACK brings the rate of the path: it is the pace, and a loss changes nothing",
             source + "; two round trips and four segments as the window are ours", Rcp)
    s.established(100_000, 250_000)
    assert s.cwnd == 46, s.cwnd
    s.send(0, 20)
    for i, rate in enumerate((250_000, 240_000, 125_000, 125_000, 15_000, 1_250_000)):
        s.heard(100_000 + 4_256 * i, i + 1, rate)
    assert s.cwnd == 234, s.cwnd
    recovery(s, 125_000)
    assert (s.cwnd, s.exit) == (23, "none"), (s.cwnd, s.exit)
    s.file.write()

    s = path("rcp-unhelped", "A router does not help: slow start and Reno", source + "; the fall-back is ours",
             Rcp)
    unhelped(s)

    s = path("rcp-until", "A router that does not help comes in: from then on slow start",
             source + "; the fall-back is ours", Rcp)
    s.established(100_000, 250_000)
    s.send(0, 20)
    s.heard(100_000, 1, 250_000)
    s.heard(104_256, 2, None)
    assert s.cwnd == 11
    for i in range(2, 20):
        s.heard(100_000 + 4_256 * i, i + 1, None)
        s.fill(s.now)
    s.file.write()


def unhelped(s: Rcp | Xcp) -> None:
    s.established(100_000, None)
    s.fill(0)
    for i in range(10):
        s.heard(100_000 + 1_000 * i, i + 1, None)
        s.fill(s.now)
    assert s.cwnd == 20
    s.now += 90_000
    recovery(s, None)
    assert s.cwnd == 10, s.cwnd
    s.file.write()


def xcp() -> None:
    source = "Katabi, Handley and Rohrs, SIGCOMM 2002"
    s = path("xcp-helped", "The window moves by the feedback over a round trip, and does not grow otherwise",
             source, Xcp)
    s.established(100_000, 0)
    s.fill(0)
    s.file.note("10,720 bytes per second over 100 ms are a packet of 1072 bytes with its headers.")
    for i, feedback in enumerate((0, 10_720, 5_360, 5_360, 32_000, 77_770, -10_720, -300_000, 0, 1_000_000)):
        s.heard(100_000 + 1_000 * i, i + 1, feedback)
        s.fill(s.now)
    assert s.cwnd == 94, s.cwnd
    s.file.write()

    s = path("xcp-loss", "A loss halves the window; while it is repaired the feedback moves nothing",
             source + "; that nothing moves is ours", Xcp)
    s.established(100_000, 0)
    s.fill(0)
    for i in range(10):
        s.heard(100_000 + 1_000 * i, i + 1, 10_720)
        s.fill(s.now)
    assert s.cwnd == 20
    s.now += 90_000
    recovery(s, 10_720)
    assert s.ssthresh == 11, s.ssthresh
    for i in range(4):
        s.heard(s.now + 1_000, s.una + 1, (21_440, -32_160, 3_000, 9_000)[i])
        s.fill(s.now)
    s.file.write()

    s = path("xcp-unhelped", "A router does not help: slow start and Reno", source + "; the fall-back is ours",
             Xcp)
    unhelped(s)


ALL = (quick_start, rcp, xcp)
