"""Writes the vectors of the start-ups of `startup_models.py`; `generate.py` calls it."""

from __future__ import annotations

from fast_startup import begin
from models import INF, CubicLinux, Reno
from sender import File, Link, Sender, header
from startup_models import (
    Abc,
    Abcss,
    HyStartPaper,
    HyStartPatch,
    HyStartPort,
    InitialStart,
    JumpStart,
    Search1,
    Search2Published,
    Search3,
    Suss,
)


def run_paced(s: Sender, link: Link, until: int, events: int, later: int | None = None) -> None:
    """A link, and a sender whose start-up paces while its `pace` (bytes per second, first time) is
    set: bursts of two segments. `events` bounds the acknowledgments; from the second flight on the
    link needs `later` us for each packet."""
    due = None
    link.carry(s.now, s.nxt, s.fill(s.now))
    link.service = later or link.service
    while events and (link.queue or due is not None):
        pace = s.startup.pace
        room = s.cwnd - s.flight()
        if pace is None:
            due = None
        elif due is None:
            due = pace[1]
        if due is not None and room > 0 and (not link.queue or due <= link.queue[0][0]):
            now = max(due, s.now)
            first = s.nxt
            s.send(now, min(room, 2))
            link.carry(now, first, s.nxt - first)
            due = now + 2 * s.file.smss * 1_000_000 // pace[0]
            continue
        now, segment = link.queue.pop(0)
        if now > until:
            return
        s.ack(now, segment + 1, rtt=now - s.times[segment])
        events -= 1
        if s.startup.pace is None:
            first = s.nxt
            link.carry(now, first, s.fill(now))


def suss() -> None:
    source = "SUSSdeveloper/SUSS, tcp_cubic.c and tcp_output.c for Linux 6.8"
    third = "A train of 10 ms, then one that counts as 26 ms: the code accelerates "
    for name, talk, title, service, later, wanted, jumps in (
        ("suss-train", False,
         "Two rounds are accelerated; the train of blue segments then ends slow start", 240, 240,
         "ack-train", 2),
        ("suss-slow", False, "A train of more than a quarter of the round trip: HyStart alone", 2600,
         2600, "delay", 0),
        ("suss-code", False, third + "two rounds", 1000, 650, "ack-train", 2),
        ("suss-talk", True, third + "two rounds, the talk one", 1000, 650, "ack-train", 1),
    ):
        form = "form=talk" if talk else "form=code"
        file = File(name, header(title, source, "linux", f"suss {form}",
                                 "cubic arithmetic=linux hz=1000", pacing="off rate=1000000"), 10)
        s = Sender(file, Suss(file.smss, talk), CubicLinux(1000), 10)
        run_paced(s, Link(service, 100_000, 1), 2_000_000, 700, later)
        assert (s.exit, s.startup.jumps) == (wanted, jumps), (name, s.exit, s.startup.jumps)
        file.write()

    file = File("suss-loss", header(
        "A loss among the red segments: the window is first what is in flight", source, "linux",
        "suss form=code", "cubic arithmetic=linux hz=1000", pacing="off rate=1000000"), 10)
    s = Sender(file, Suss(file.smss), CubicLinux(1000), 10)
    run_paced(s, Link(240, 100_000, 1), 2_000_000, 32)
    file.note("Of what is outstanding, the first is lost.")
    una = s.una
    for i in range(1, 20):
        s.ack(s.now + 240, una, sacked=i, lost=1 if i == 3 else 0, rtt=100_000)
        room = s.cwnd - s.flight()
        if i >= 3 and room > 0:
            if s.resent < s.lost:
                s.resend(s.now, 1)
                room -= 1
            if room > 0:
                s.send(s.now, room)
    file.write()


def hystart_variants() -> None:
    paper = "Ha and Rhee, Computer Networks 55(9), 2011"
    port = "Shahgir: hystart() in tcp_cubic.c of ns-2.35"
    for name, model, words, source, title, iw, service, wanted in (
        ("hystart-paper-delay", HyStartPaper(), "variant=paper", paper,
         "The first eight samples of a round against the round before: a sixteenth, 2 to 8 ms",
         10, 1300, "delay"),
        ("hystart-paper-train", HyStartPaper(delay=False), "variant=paper delay=false", paper,
         "ACKs within 2 ms for half of the smallest round trip, from 16 segments on", 10, 1300,
         "ack-train"),
        ("hystart-ns2-train", HyStartPort(False), "variant=ns2", port,
         "ACKs 3 ms apart are a train, which Linux would not see", 20, 3000, "ack-train"),
        ("hystart-ns2-units", HyStartPort(False, True), "variant=ns2-units", port,
         "With the smallest RTT in eighths of a millisecond, the third ACK of a round ends slow start",
         20, 300, "ack-train"),
        ("hystart-ns2-delay", HyStartPort(False), "variant=ns2", port,
         "The ACK that opens a round counts nowhere: the tenth is the first that decides", 20, 4500,
         "delay"),
        ("hystart-ns2-excerpt", HyStartPort(True), "variant=ns2-excerpt", port,
         "Nothing lowers the round's smallest RTT: the tenth ACK ends slow start", 20, 4500, "delay"),
    ):
        file = File(name, header(title, source, "paper" if source == paper else "ns-2",
                                 f"hystart {words}", "reno", pacing="off rate=1000000"), iw)
        s = Sender(file, model, Reno(), iw)
        Link(service, 100_000, 1).run(s, 3_000_000, then=8)
        assert s.exit == wanted, (name, s.exit)
        file.write()


def hystart_patch() -> None:
    for name, service, wanted in (("hystart++-patch", 4000, "css-rounds"),):
        file = File(name, header(
            "A queue without end: rounds begin with a flight, and five of CSS end slow start",
            "SUSSdeveloper/HyStartPP, patch for tcp_cubic.c, 2025", "linux", "hystart++ form=patch",
            "reno"), 10)
        s = Sender(file, HyStartPatch(), Reno(), 10)
        Link(service, 100_000, 2).run(s, 5_000_000, then=8)
        assert s.exit == wanted, (name, s.exit)
        file.write()


def delayed(s: Sender, rounds: int) -> list[int]:
    """Rounds of 100 ms with an ACK for each two segments, the last one alone if they are odd."""
    s.fill(s.now)
    windows = [s.cwnd]
    for _ in range(rounds):
        end, now = s.nxt, s.now + 100_000
        while s.una < end:
            now += 100
            s.ack(now, min(s.una + 2, end), rtt=100_000)
            s.fill(now)
        windows.append(s.cwnd)
    return windows


def byte_counting() -> None:
    rfc = "RFC 3465 sections 2.2 and 2.3"
    for name, words, model, source, form, wanted in (
        ("abc-delayed", "abc", Abc(), rfc, "rfc", [10, 20, 40, 80]),
        ("abc-delayed-1", "abc limit=1", Abc(1), rfc, "rfc", [10, 15, 23, 35]),
        ("abcss-delayed", "abcss", Abcss(), "our reconstruction: Kasoro et al. 2021", "reconstruction",
         [10, 15, 23, 46]),
    ):
        file = File(name, header("An ACK for each two segments, one for 44, and a timeout", source,
                                 form, words, "reno"), 10)
        s = Sender(file, model, Reno(), 10)
        assert delayed(s, 3) == wanted, name
        if name == "abcss-delayed":
            s.ack(s.now + 100_000, s.una + 30, rtt=100_000)
        else:
            s.ack(s.now + 100_000, s.una + 30, rtt=100_000)
            s.timeout(s.now + 900_000)
            s.resend(s.now, 1)
            s.ack(s.now + 100_000, s.una + 2, rtt=100_000)
            s.resend(s.now, s.cwnd - s.flight())
            s.ack(s.now + 100_000, s.una + 2, rtt=100_000)
        file.write()


def first_flights() -> None:
    for name, words, size in (("initial-start-rfc6928", "initial-start", 10),
                              ("initial-start-rfc3390", "initial-start window=rfc3390", 4),
                              ("initial-start-32", "initial-start window=32", 32)):
        s = begin(name, f"A connection that begins with {size} segments of 1000 bytes",
                  "RFC 6928 section 2; RFC 3390 section 1", "rfc", words, InitialStart(size), iw=3)
        s.established(100_000)
        s.fill(0)
        for i in range(2 * size):
            s.ack(100_000 + 100 * i + 90_000 * (i >= size), i + 1, rtt=100_000)
            s.fill(s.now)
        assert s.cwnd == 3 * size
        s.file.write()

    paper = "Liu, Allman, Jin and Wang, PFLDnet 2007; RFC 7661 for the loss"
    for name, words, model, jump in (
        ("jump-start-slow-start", "jump-start", JumpStart(), 137),
        ("jump-start-scharf", "jump-start variant=scharf", JumpStart(66, avoidance=True), 66),
    ):
        s = begin(name, "137 segments are queued: a jump without loss, and what follows", paper, "paper",
                  words, model)
        s.established(100_000, 137)
        for i in range(0, jump, 2):
            s.send(i * 100_000 // jump, min(2, jump - i))
        for i in range(12):
            s.ack(100_000 + 1_400 * i, 2 * i + 2, rtt=100_000)
            s.fill(s.now)
        s.file.write()

    s = begin("initial-start-paced", "Ten segments leave over the round trip of the handshake",
              "Scharf 2011, further work", "paper", "initial-start pace=rtt",
              InitialStart(10, paced=True), iw=3)
    s.established(100_000)
    for i in range(10):
        s.send(10_000 * i, 1)
    for i in range(10):
        s.ack(100_000 + 10_000 * i, i + 1, rtt=100_000)
        s.fill(s.now)
    s.file.write()

    quicly = "quicly, pull request 565"
    for suffix, words, source, title, ends in (
        ("", "", paper, "68 in recovery, 41 afterwards", (68, 41, 41)),
        ("-half", " loss=half", paper, "68, half of the jump", (68, 68, 68)),
        ("-quick-start", " loss=quick-start", "RFC 4782, section 4.6",
         "the initial window, and a threshold of 41", (10, 10, 41)),
        ("-initial", " loss=slow-start", paper, "slow start from the initial window", (10, 10, INF)),
        ("-delivered", " loss=delivered", quicly, "the window is what was delivered, 83 at last",
         (50, 83, 83)),
    ):
        loss = words.partition("=")[2] or "half-of-delivered"
        s = begin("jump-start-loss" + suffix, f"54 of 137 segments are lost: {title}", source,
                  "paper", "jump-start" + words, JumpStart(loss=loss))
        s.established(100_000, 137)
        for i in range(0, 137, 2):
            s.send(i * 100_000 // 137, min(2, 137 - i))
        s.ack(100_000, 10, rtt=100_000)
        s.ack(110_000, 10, sacked=40, lost=54, rtt=110_000)
        assert s.cwnd == ends[0], (suffix, s.cwnd)
        s.resend(110_000, 35)
        s.ack(160_000, 10, sacked=73, rtt=100_000)
        s.resend(160_000, 19)
        before = s.startup
        s.ack(260_000, 137, rtt=None)
        # The last ACK grows the window, too.
        assert s.ssthresh == ends[2] and before.again == 54, (suffix, s.cwnd, s.ssthresh)
        assert ends[1] <= s.cwnd <= ends[1] + 54, (suffix, s.cwnd)
        s.file.write()


def search_versions() -> None:
    for name, words, model, form, source in (
        ("search-1.0-exit", "version=1.0", Search1(350), "thesis", "Ataei Kachooei, MS thesis, section 4.3"),
        ("search-3.0-exit", "version=3.0", Search3(350), "linux", "authors' repository, 3.0 as intended"),
        ("search-2.0-published", "version=2.0 as-published=true", Search2Published(350), "linux",
         "authors' repository, Linux module 2.0, which picks one of two windows"),
    ):
        file = File(name, header(
            "A queue without end over 100 segments of path: when slow start ends", source, form,
            f"search {words}", "reno"), 20)
        s = Sender(file, model, Reno(), 20)
        Link(600, 60_000, 4).run(s, 3_000_000, then=20)
        assert s.exit == "search", name
        file.write()


ALL = (suss, hystart_variants, hystart_patch, byte_counting, first_flights, search_versions)
