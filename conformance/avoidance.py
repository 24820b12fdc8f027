"""The vectors of BIC, CUBACK, Westwood+, Hybla, Illinois, FAST, Vegas and CUBIC for cellular links, for `generate.py`."""

from __future__ import annotations

from decimal import Decimal

from avoidance_models import Bic, Cuback, Fast, Hybla, Illinois, Prague, Vegas, Westwood
from models import HyStart, Reno, Standard
from sender import File, Link, Sender, header


def connection(name: str, title: str, source: str, form: str, avoidance, words: str, iw: int) -> Sender:
    file = File(name, header(title, source, form, "standard", words), iw)
    return Sender(file, Standard(), avoidance, iw)


def marked(s: Sender, link: Link, iw: int) -> None:
    """The first flight leaves, and a mark comes with its first ACK."""
    s.send(0, iw)
    link.carry(0, 0, iw)
    now, segment = link.queue.pop(0)
    s.ack(now, segment + 1, rtt=now)
    s.mark(now)


def bic() -> None:
    source = "tcp_bic.c of Linux 6.12 in its integers"
    for name, iw, hz, until, title in (
        ("bic-search", 98, 1000, 1_200_000, "A mark at 100 segments: the search for 100, and past it"),
        ("bic-low", 12, 250, 2_500_000, "Up to 14 segments BIC is Reno, in its threshold too"),
    ):
        s = connection(name, title, source, "linux", Bic(hz), f"bic hz={hz}", iw)
        link = Link(700, 100_000, 2)
        marked(s, link, iw)
        assert s.ssthresh == (79 if iw == 98 else 7), s.ssthresh
        link.run(s, until)
        assert s.cwnd > 92 if iw == 98 else s.cwnd > 14, s.cwnd
        s.file.write()

    s = connection("bic-timeout", "A timeout forgets the maximum: the window grows by a twentieth at least",
                   source, "linux", Bic(1000), "bic hz=1000", 40)
    s.send(0, 40)
    s.ack(100_000, 2, rtt=100_000)
    s.timeout(400_000)
    assert (s.cwnd, s.ssthresh) == (1, 33), (s.cwnd, s.ssthresh)
    s.resend(400_000, 1)
    s.ack(500_000, 3, rtt=100_000)
    s.resend(500_000, 2)
    s.ack(600_000, 40, rtt=100_000)
    link = Link(700, 100_000, 1)
    link.free = 600_000
    link.run(s, 1_000_000)
    assert s.state() == "avoidance", s.state()
    s.file.write()


def slow_start_after_a_timeout(s: Sender, flight: int, service: int, until: int) -> None:
    """A timeout after two ACKs of the first flight, and slow start to avoidance over a link."""
    s.send(0, flight)
    s.ack(100_000, 2, rtt=100_000)
    s.timeout(400_000)
    s.resend(400_000, 1)
    s.ack(500_000, 3, rtt=100_000)
    s.resend(500_000, 2)
    s.ack(600_000, flight, rtt=100_000)
    link = Link(service, 100_000, 1)
    link.free = 600_000
    link.run(s, until)
    assert s.state() == "avoidance", s.state()
    s.file.write()


def cuback() -> None:
    source = "draft-kazuho-ccwg-cuback-00, section 3"
    # The tables of appendix B.
    model = Cuback()
    model.w_max = model.prior = Decimal(10)
    model.begin, model.rtt = Decimal(7), Decimal("0.1")
    assert [round(model.needed(w), 4) for w in range(7, 13)] == [
        Decimal(text) for text in ("0", "13.2222", "28.3333", "45.3333", "55.3333", "66.3333")]
    model.w_max = model.prior = Decimal(1000)
    model.begin = Decimal(600)
    assert [round(model.needed(w)) for w in (600, 950, 1000, 1050, 1400)] == [
        0, 50_000, 100_000, 150_000, 200_000]
    for name, iw, gap, until, title in (
        ("cuback-friendly", 20, 5000, 1_500_000,
         "A mark at 22 segments: the Reno-friendly curve, slower up to the window of the mark"),
        ("cuback-cubic", 300, 320, 900_000,
         "A mark at 302 segments: the cubic curve, and beyond its plateau; then fast convergence"),
    ):
        s = connection(name, title, source, "draft", Cuback(), "cuback", iw)
        link = Link(gap, 100_000, 2)
        marked(s, link, iw)
        link.run(s, until)
        assert s.state() == "avoidance" and s.cwnd > s.ssthresh, (s.state(), s.cwnd)
        if iw == 300:
            s.mark(s.now)
            link.run(s, until + 300_000)
        s.file.write()

    s = connection("cuback-timeout", "Slow start after a timeout ends at the threshold: a curve without an event",
                   source, "draft", Cuback(), "cuback", 40)
    slow_start_after_a_timeout(s, 40, 700, 1_500_000)


def westwood() -> None:
    source = "tcp_westwood.c of Linux 6.12 in its integers"
    s = connection("westwood-bandwidth",
                   "One segment per ms for some round trips, then a mark and a timeout: the estimate",
                   source, "linux", Westwood(1000, 1000), "westwood hz=1000", 40)
    link = Link(1000, 60_000, 1)
    s.send(0, 40)
    link.carry(0, 0, 40)
    link.run(s, 400_000, window_limited=False)
    s.mark(s.now)
    assert s.ssthresh == 20
    link.run(s, s.now + 150_000)
    estimate = s.ssthresh
    assert 30 < estimate <= 41, estimate
    s.timeout(s.now + 300_000)
    assert 2 < s.ssthresh <= 41 and s.cwnd == 1, s.ssthresh
    s.file.write()

    s = connection("westwood-recovery",
                   "A loss: duplicate ACKs count as segments, and the ACK of the hole does not count them again",
                   source, "linux", Westwood(250, 1000), "westwood hz=250", 30)
    link = Link(1000, 60_000, 1)
    s.send(0, 30)
    link.carry(0, 0, 30)
    link.run(s, 330_000, window_limited=False)
    base, now = s.una, s.now
    for i in range(1, 21):
        s.ack(now + 2000 * i, base, sacked=i, lost=1 if i == 3 else 0, rtt=60_000)
        if i == 4:
            s.resend(s.now, 1)
    s.ack(now + 64_000, s.nxt)
    assert s.phase == "open" and s.cwnd == s.ssthresh, (s.phase, s.cwnd)
    s.file.write()


def hybla() -> None:
    source = "tcp_hybla.c of Linux 6.12 in its integers"
    for name, base, iw, title in (
        ("hybla-60", 60_000, 4, "60 ms: a ratio of 2 3/8, 4.156 segments for each ACK; a mark, and its square"),
        ("hybla-100", 100_000, 4, "100 ms: a ratio of 4, 15 segments for each ACK; a mark, and 16 each round trip"),
    ):
        s = connection(name, title, source, "linux", Hybla(), "hybla", iw)
        link = Link(200, base, 1)
        s.send(0, iw)
        link.carry(0, 0, iw)
        link.run(s, base + 5 * 200 + 10)
        # The first flight is four or five ACKs: 4.156 or 15 segments for each.
        assert s.cwnd == iw + (16 if base == 60_000 else 60), s.cwnd
        s.mark(s.now)
        link.run(s, base * 7)
        assert s.state() == "avoidance" and s.exit == "ecn", s.state()
        s.file.write()


def illinois() -> None:
    source = "tcp_illinois.c of Linux 6.12 in its integers"
    # 30 segments of path: up to ten segments each round trip without a queue, and fewer with one.
    s = connection("illinois-delay",
                   "A mark at 21 segments, growth by ten a round trip, then ever less as the queue grows",
                   source, "linux", Illinois(), "illinois", 20)
    link = Link(3000, 100_000, 1)
    marked(s, link, 20)
    link.run(s, 1_500_000)
    assert s.state() == "avoidance" and s.cwnd > 40, (s.state(), s.cwnd)
    before = s.cwnd
    s.mark(s.now)
    assert before // 2 <= s.ssthresh < before, (before, s.ssthresh)
    link.run(s, 2_000_000)
    s.file.write()

    s = connection("illinois-timeout", "A timeout forgets the delays; below 15 segments it is Reno",
                   source, "linux", Illinois(), "illinois", 10)
    slow_start_after_a_timeout(s, 10, 4000, 2_000_000)


def prague() -> None:
    s = connection("prague-short", "Without AccECN a mark halves; at 10 ms the window grows by 0.16 a round trip",
                   "draft-briscoe-iccrg-prague-congestion-control, additive increase and reduced RTT dependence",
                   "draft", Prague(), "prague", 20)
    link = Link(100, 10_000, 1)
    marked(s, link, 20)
    link.run(s, 300_000)
    assert s.state() == "avoidance" and 12 < s.cwnd < 18, (s.state(), s.cwnd)
    s.file.write()


def fast() -> None:
    s = connection("fast-equilibrium",
                   "10 segments of path: the delay ends slow start, and alpha segments stay in the queue",
                   "Wei, Jin, Low and Hegde 2006, the equation of the window, every second round trip",
                   "paper", Fast(alpha=4), "fast alpha=4 gamma=0.5 period=2", 4)
    Link(10_000, 100_000, 1).run(s, 4_000_000)
    assert s.exit == "delay" and s.cwnd in (13, 14), (s.exit, s.cwnd)
    s.mark(s.now)
    s.file.write()


def vegas() -> None:
    s = connection("vegas-rounds",
                   "5 segments of path: a slower round ends slow start, and two to four segments stay in the queue",
                   "tcp_vegas.c of Linux 6.12 in its integers", "linux", Vegas(), "vegas", 2)
    Link(20_000, 100_000, 1).run(s, 4_000_000)
    assert s.exit == "delay" and 7 <= s.cwnd <= 9, (s.exit, s.cwnd)
    s.file.write()

    s = connection("vegas-recovery", "Rounds are not measured in recovery, and one begins when it ends",
                   "tcp_vegas.c of Linux 6.12 in its integers", "linux", Vegas(), "vegas", 20)
    link = Link(10_000, 200_000, 1)
    marked(s, link, 20)
    link.run(s, 2_000_000)
    assert s.exit == "ecn" and s.state() == "avoidance", s.exit
    s.file.write()


def cellular() -> None:
    """CUBIC's HyStart as Bruhn et al. adjust it: delays that vary most when a flow begins."""
    for name, frozen, skip, exit, title in (
        ("hystart-round-min-first", True, 0, "delay",
         "Eight RTTs of 150 ms, then one of 100 ms: a frozen round minimum takes that for delay"),
        ("hystart-round-min-all", False, 0, "none",
         "Eight RTTs of 150 ms, then one of 100 ms: the minimum of the round follows"),
        ("hystart-skip-rounds", False, 2, "delay",
         "The second round, slower by half, ends nothing; the third does, with its ninth RTT"),
    ):
        words = f"hystart round-min={'first' if frozen else 'all'} skip-rounds={skip}"
        file = File(name, header(title, "tcp_cubic.c before and since Linux 5.8, after Bruhn et al. 2022",
                                 "linux", words, "reno", pacing="on rate=1000000"), 20)
        start = HyStart(False, 1_000_000)
        start.frozen, start.skip = frozen, skip
        s = Sender(file, start, Reno(), 20, paced=True)
        s.fill(0)
        if skip:
            # The smallest RTT of the first round is its first, so that it ends nothing itself.
            for count in range(70):
                s.ack(100_000 + 5000 * count, s.una + 1, rtt=150_000 if count else 100_000)
                if count % 20 == 19:
                    s.fill(s.now)
        else:
            for count in range(12):
                s.ack(150_000 + 5000 * count, s.una + 1, rtt=150_000 if count < 8 else 100_000)
        assert s.exit == exit, s.exit
        file.write()


ALL = (bic, cuback, westwood, hybla, illinois, prague, fast, vegas, cellular)
