"""The vectors of start-ups that estimate, remember or jump; `generate.py` calls `fast_startup`."""

from __future__ import annotations

from fractions import Fraction

from fast_startup_models import (
    Best,
    CarefulResume,
    Fbe,
    Forecast,
    Halfback,
    PacketPair,
    RapidStart,
    Stateful,
)
from models import CubicLinux, Reno, Standard
from sender import File, Link, Sender


class Jumper(Sender):
    """A sender whose start-up may know the beginning, pace, and take an episode over."""

    min_rtt: int | None = None
    taken = False

    def write(self, words: str) -> None:
        holds = {
            "cwnd": f"{self.cwnd}s",
            "ssthresh": "inf" if self.ssthresh >= 10**18 else f"{self.ssthresh}s",
            "state": self.state(),
            "exit": self.exit,
        }
        if hasattr(self.startup, "pace"):
            pace = self.startup.pace(self) if self.phase == "open" else "none"
            if pace != self.said_pace:
                holds["pace"] = self.said_pace = pace
        self.file.event(self.now, words, **holds)

    said_pace = "none"

    def established(self, rtt: int, queued: int | None = None, approved: int | None = None) -> None:
        self.startup.established(self, {"rtt": rtt, "queued": queued, "approved": approved})
        words = f"established rtt={rtt}" + (f" queued={queued}s" if queued else "")
        self.write(words + (f" approved={approved}" if approved else ""))

    def send(self, now: int, count: int) -> None:
        # A start-up looks at its window before the line is written.
        self.nxt += count
        self.tell(count, again=False)
        self.nxt -= count
        super().send(now, count)

    def resend(self, now: int, count: int) -> None:
        self.tell(count, again=True)
        super().resend(now, count)

    def tell(self, count: int, again: bool) -> None:
        if hasattr(self.startup, "sent"):
            self.startup.sent(self, count, again)

    def ack(self, now: int, una: int, lost: int = 0, rtt: int | None = None, **more) -> None:
        self.newly_lost = lost
        self.newly_delivered = una + more.get("sacked", 0) - self.una - self.sacked
        if rtt is not None:
            self.min_rtt = rtt if self.min_rtt is None else min(self.min_rtt, rtt)
        super().ack(now, una, lost=lost, rtt=rtt, **more)

    def reduce(self, reason: str) -> None:
        before = self.cwnd
        super().reduce(reason)
        if hasattr(self.startup, "take_over"):
            self.taken = self.startup.take_over(self, before)
        elif hasattr(self.startup, "over"):
            self.startup.over = True

    def prr(self, delivered: int, safe: bool) -> None:
        if self.taken:
            self.cwnd = self.startup.recover(self, delivered, self.newly_lost)
        else:
            super().prr(delivered, safe)

    def end_reduction(self) -> None:
        if self.taken:
            self.taken = False
            self.startup.recovered(self)
        else:
            super().end_reduction()


def begin(name: str, title: str, source: str, form: str, words: str, startup: Standard, iw: int = 10,
          avoidance=None) -> Jumper:
    avoidance = avoidance or Reno()
    called = "reno" if isinstance(avoidance, Reno) and type(avoidance) is Reno else (
        "cubic arithmetic=linux hz=1000")
    file = File(name, {"title": title, "source": source, "form": form, "slow-start": words,
                       "avoidance": called}, iw)
    return Jumper(file, startup, avoidance, iw)


OURS = "our reconstruction: "


def estimating() -> None:
    for name, words, startup, per_ack, source in (
        ("packet-pair-threshold", "packet-pair", PacketPair(), 1, "Abed and Jasim 2022"),
        ("packet-pair-delayed", "packet-pair", PacketPair(), 2, "Abed and Jasim 2022"),
        ("best-exit", "best", Best(), 1, "Kachooei et al., netdev 0x16"),
        ("best-period", "best period=true", Best(True), 1, "US patent 11 082 883"),
        ("fbe-exit", "fbe", Fbe(), 1, "Li, Chen and Li, IWQoS 2023"),
        ("fbe-delayed", "fbe", Fbe(), 2, "Li, Chen and Li, IWQoS 2023"),
    ):
        s = begin(name, "A link of 100 segments and a queue without end: where slow start ends",
                  OURS + source, "reconstruction", words, startup)
        Link(1_000, 100_000, per_ack).run(s, 3_000_000, then=12)
        assert s.exit == "bandwidth", (name, s.exit)
        if name.startswith("packet-pair"):
            assert s.ssthresh == 99 + per_ack, s.ssthresh
        s.file.write()

    s = begin("packet-pair-loss", "A loss before the threshold is reached ends the search for one",
              OURS + "Abed and Jasim 2022", "reconstruction", "packet-pair", PacketPair())
    s.send(0, 10)
    for i in range(10):
        s.ack(600_000 + 1_000 * i, i + 1, rtt=600_000 + 1_000 * i)
        s.fill(s.now)
    assert s.startup.target == 600, s.startup.target
    s.ack(1_200_000, 10, sacked=3, lost=1, rtt=600_000)
    s.resend(1_200_000, 1)
    s.ack(1_800_000, 30, rtt=600_000)
    s.file.write()


def stateful() -> None:
    source = "S-CUBIC kernel module 1.0 (Guo and Lee 2020)"
    s = begin("stateful-jump", "1.25 MB/s and 100 ms are remembered: 125 segments at once, paced",
              source, "scubic", "stateful rate=1250000 min-rtt=100ms",
              Stateful(1_250_000, 100_000), avoidance=CubicLinux(1000))
    s.established(100_000)
    assert s.cwnd == 125
    s.send(0, 125)
    s.file.note("The first ACK leaves 124 in flight: that is the window, and slow start goes on.")
    for i in range(40):
        s.ack(100_000 + 3_000 * i, i + 1, rtt=100_000)
        s.fill(s.now)
    s.file.write()

    s = begin("stateful-idle", "Eleven ACKs with few in flight end in a window of ten", source, "scubic",
              "stateful rate=1250000 min-rtt=100ms", Stateful(1_250_000, 100_000),
              avoidance=CubicLinux(1000))
    s.established(100_000)
    s.send(0, 6)
    for i in range(12):
        s.ack(100_000 + 10_000 * i, i + 1, rtt=100_000, window_limited=False)
        s.send(s.now, 1)
    assert s.cwnd == 10
    s.file.write()

    s = begin("stateful-small", "Ten segments or fewer are no reason to jump", source, "scubic",
              "stateful rate=100000 min-rtt=100ms", Stateful(100_000, 100_000),
              avoidance=CubicLinux(1000))
    s.established(100_000)
    assert s.cwnd == 10
    s.send(0, 10)
    for i in range(10):
        s.ack(100_000 + 100 * i, i + 1, rtt=100_000)
    s.file.write()


def careful_resume() -> None:
    source = "RFC 9959, by draft-ietf-tsvwg-careful-resume-24"

    def connection(name: str, title: str, saved: int, rtt: int, **more) -> Jumper:
        words = f"careful-resume saved-cwnd={saved} saved-rtt={rtt // 1000}ms"
        words += "".join(f" {key.replace('_', '-')}={value}" for key, value in more.items())
        if "beta" in more:
            more["beta"] = Fraction(more["beta"])
        s = begin(name, title, source, "rfc", words, CarefulResume(saved, rtt, **more))
        s.established(rtt)
        s.send(0, 10)
        return s

    def look(s: Jumper, rtt: int) -> None:
        """Reconnaissance: the initial window comes back, and each ACK releases two."""
        for i in range(10):
            s.ack(rtt + 100 * i, i + 1, rtt=rtt)
            if s.startup.phase == "unvalidated":
                break
            s.fill(s.now)

    s = connection("careful-resume-jump", "300 segments are remembered: a jump to 150, paced over an RTT",
                   300, 100_000)
    look(s, 100_000)
    assert s.cwnd == 150 and s.startup.pace(s) == "1500000"
    s.file.note("The jump leaves, and with it the pacing ends; slow start goes on.")
    s.fill(s.now)
    for i in range(20):
        s.ack(200_000 + 500 * i, 11 + 2 * i, rtt=100_000)
        s.fill(s.now)
    end = s.startup.end
    s.ack(310_000, end - 1, rtt=100_000)
    assert s.startup.phase == "validating"
    s.ack(310_500, end, rtt=100_000)
    assert s.startup.phase == "normal"
    s.file.write()

    s = connection("careful-resume-rtt", "Half the remembered RTT is another path: no jump", 300, 100_000)
    look(s, 50_000)
    assert s.cwnd == 20
    s.file.write()

    s = connection("careful-resume-limited", "Nothing more to send for an RTT: the window is what was used",
                   300, 100_000)
    look(s, 100_000)
    s.send(s.now, 5)
    s.ack(200_800, 20, rtt=100_000)
    s.ack(201_000, 22, rtt=100_000)
    s.file.write()

    for name, beta in (("careful-resume-retreat", None), ("careful-resume-retreat-cubic", "0.7")):
        more = {"beta": beta} if beta else {}
        s = connection(name, "A loss among what the jump sent: half of what the path carried", 400, 100_000,
                       **more)
        look(s, 100_000)
        assert s.cwnd == 200
        s.fill(s.now)
        flight, base, end = s.startup.flight, s.startup.base, s.nxt
        s.ack(200_000, base + 49, rtt=100_000)
        s.file.note("Nothing is delivered by the ACK that tells of the loss.")
        s.ack(200_100, base + 49, lost=1)
        assert s.startup.frozen == 24, s.startup.frozen
        s.resend(200_100, 1)
        s.ack(200_200, base + 49, sacked=100, rtt=100_000)
        s.ack(300_200, end)
        expected = (end - base - 1) * (7 if beta else 5) // 10
        assert s.ssthresh == expected and s.cwnd >= 24, (s.ssthresh, expected, flight)
        s.fill(s.now)
        s.ack(400_200, end + 10, rtt=100_000)
        s.file.write()


def rapid_start() -> None:
    source = "draft-kazuho-ccwg-rapid-start-"
    for name, words, startup in (
        ("rapid-start-growth", "rapid-start", RapidStart()),
        ("rapid-start-growth-00", "rapid-start draft=00", RapidStart(draft="00")),
        ("rapid-start-code", "rapid-start threshold=code", RapidStart(code=True)),
    ):
        s = begin(name, "The window triples while the RTT stays, and doubles once a queue shows",
                  source + startup.draft, "draft", words, startup)
        s.established(100_000)
        s.fill(0)
        for rtt in (100_000, 104_000, 104_001, 109_375, 109_376, 100_000):
            first, last, start = s.una, s.nxt, s.now + rtt
            for i in range(1, 5):
                s.ack(start + 100 * i, first + (last - first) * i // 4, rtt=rtt)
                s.fill(s.now)
        s.file.write()

    s = begin("rapid-start-pieces", "Small pieces are no full flight: the pace of a window per RTT stays",
              source + "02", "draft", "rapid-start", RapidStart())
    s.established(100_000)
    for i in range(6):
        s.send(100_000 * i, 4)
        s.ack(100_000 * (i + 1), s.nxt, rtt=100_000, window_limited=False)
    assert s.nxt == 24 and s.startup.pace(s) == "200000", s.startup.pace(s)
    s.file.note("A full flight: the pace ends with it.")
    s.fill(600_000)
    for i in range(4):
        s.ack(700_000 + 100 * i, 24 + 5 * (i + 1), rtt=100_000)
        s.fill(s.now)
    assert s.startup.pace(s) == "none"
    s.file.write()

    for suffix, draft, beta in (("", "02", None), ("-half", "02", "0.5"), ("-00", "00", None)):
        words = "rapid-start" + (f" beta={beta}" if beta else "")
        words += " draft=00" if draft == "00" else ""
        s = begin("rapid-start-loss" + suffix,
                  "A quarter of the first flight is lost: beta of what was delivered remains",
                  source + draft, "draft", words,
                  RapidStart(Fraction(beta or "0.7"), draft=draft), iw=18)
        s.established(100_000)
        s.fill(0)
        s.ack(100_000, 18, rtt=100_000)
        s.fill(100_000)
        before = s.cwnd
        s.ack(200_000, 18, sacked=3, lost=before // 4, rtt=100_000)
        s.ack(200_100, 18, sacked=20, rtt=100_000)
        s.resend(200_100, before // 4)
        s.ack(300_100, s.nxt)
        assert s.ssthresh == before * 3 * (5 if beta else 7) // 40, (s.ssthresh, before)
        s.file.note("The second loss is the recovery's.")
        s.fill(300_100)
        s.ack(400_100, s.una, sacked=5, lost=1, rtt=100_000)
        s.resend(400_100, 1)
        s.ack(400_200, s.una, sacked=10, rtt=100_000)
        s.ack(500_200, s.nxt)
        s.file.write()


def halfback() -> None:
    source = OURS + "Halfback, CoNEXT 2015"
    s = begin("halfback-short", "A flow of 30 segments: all of it, paced over a round trip", source,
              "reconstruction", "halfback", Halfback())
    s.established(100_000, 30)
    for i in range(15):
        s.send(6_000 * i, 2)
    for i in range(15):
        s.ack(100_000 + 6_000 * i, 2 * i + 2, rtt=100_000)
    s.file.write()

    s = begin("halfback-long", "A flow longer than the threshold of 60: then the rate of its ACKs", source,
              "reconstruction", "halfback threshold=60000", Halfback(60_000))
    s.established(100_000, 500)
    for i in range(30):
        s.send(3_000 * i, 2)
    for i in range(30):
        s.ack(100_000 + 5_000 * i, 2 * i + 2, rtt=100_000)
    assert s.cwnd == 42, s.cwnd
    s.fill(s.now)
    s.ack(345_000, s.una + 2, rtt=100_000)
    s.file.write()


def forecast() -> None:
    source = OURS + "Luebben 2022; the weights are those of python/training/forecast.py"
    for name, service, base, per_ack, options in (
        ("forecast-slow", 1_000, 100_000, 1, {}),
        ("forecast-fast", 30, 40_000, 1, {}),
        ("forecast-delayed", 3_000, 600_000, 2, {}),
        ("forecast-varying", 300, 60_000, 2, {"trained": "varying"}),
    ):
        said = "".join(f" {key}={value}" for key, value in options.items())
        s = begin(name, f"{8_000 // service} Mbit/s and {base // 1000} ms: the forecast after twenty ACKs",
                  source, "reconstruction", "forecast" + said, Forecast(**options))
        Link(service, base, per_ack).run(s, 3_000_000, then=10)
        assert s.exit == "bandwidth", s.exit
        s.file.write()

    s = begin("forecast-loss", "A loss before the twentieth ACK: no forecast", source, "reconstruction",
              "forecast", Forecast())
    s.fill(0)
    for i in range(10):
        s.ack(100_000 + 100 * i, i + 1, rtt=100_000 + 100 * i)
        s.fill(s.now)
    s.ack(201_000, 10, sacked=4, lost=1, rtt=100_000)
    s.resend(201_000, 1)
    s.ack(301_000, s.nxt, rtt=100_000)
    s.file.write()


def fast_startup() -> None:
    for write in (estimating, forecast, halfback, stateful, careful_resume, rapid_start):
        write()
