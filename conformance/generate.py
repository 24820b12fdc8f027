#!/usr/bin/env python3
"""Writes the vectors of this folder (`*.vec`); run it without arguments.

The expected numbers come from the models of `models.py`, which are written from the standards'
text and share no code with any implementation: whole numbers and fractions, nothing rounded.
Where a standard or its reference tests state numbers, the vector is checked against them
(`assert`). The network is open loop or one first-in-first-out link; nothing is random.
"""

from __future__ import annotations

import avoidance
import bbr
import c4
import routers
import startups
from fast_startup import fast_startup
from models import (
    INF,
    CubicLinux,
    CubicRfc,
    HyStart,
    HyStartPlusPlus,
    Reno,
    Search2,
    Search2Percent,
    Search4,
    Search4Percent,
    Search31,
    Standard,
)
from sender import File, Link, Sender, header


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
        s.mark(now)
        if hz:
            assert iw - s.ssthresh in (30, 5)
        s.ack(now, segment + 1, rtt=now)
        link.run(s, until)
        file.write()

    file = File("cubic-linux-timeout", header(
        "A timeout forgets the curve: the window then grows by a twentieth at least",
        "tcp_cubic.c of Linux 6.12", "linux", "standard",
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
    for write in (standard, reno, cubic, hystart, hystart_plus_plus, search, *avoidance.ALL,
                  fast_startup, *startups.ALL, *bbr.ALL, *c4.ALL, *routers.ALL):
        write()
