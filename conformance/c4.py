"""Writes the vectors of C4; `generate.py` calls it.

The model follows draft-huitema-ccwg-c4-spec-04, section by section. It counts bytes, bits per second
and nanoseconds, rounded down after each operation; sensitivities and smoothed rates are in parts of
2^20. Numbers that the draft leaves open are those that the documentation of `c4` names.
"""

from __future__ import annotations

from bbr import Path
from bbr_models import INF, Rs
from sender import File

MS = 1_000_000
ONE = 1 << 20
ALPHA = {"Initial": (2, 1), "Recovery": (15, 16), "Cruising": (1, 1), "Probing": (17, 16),
         "Pushing": (5, 4)}


class C4:
    """Sections "C4 variables", "States and Transition" and "Handling of congestion signals"."""

    def __init__(self, smss: int, cwnd: int, path: Path) -> None:
        self.smss, self.path = smss, path
        self.cwnd = self.initial_cwnd = cwnd
        self.ssthresh, self.exit = INF, "none"
        self.state, self.eras = "Initial", 0
        self.rate = self.max_rtt = self.pacing = 0
        self.min_rtt = None
        self.no_increase = self.received = 0
        self.before_probe, self.congested, self.successive, self.recent = None, False, 0, 0
        self.loss, self.gone, self.reductions = 0, [], 0
        self.begin_era(0, (2, 1))

    # What the sender asks.

    def segments(self) -> int:
        return max(self.cwnd // self.smss, 2)

    def pace(self) -> int:
        return self.pacing // 8 or 10**12

    def recovery(self) -> None:
        """The transport's recovery is nothing to C4."""

    def lost(self, _now: int, seq: int, *_: int) -> None:
        self.gone.append(seq)

    def ack(self, rs: Rs) -> None:
        self.loss -= self.loss // 16
        counted = [seq for seq in self.gone
                   if self.state != "Recovery" or seq >= self.era_sequence]
        self.gone = []
        for _ in counted:
            self.loss = (15 * self.loss + ONE) // 16
        rtt = rs.rtt * 1000
        self.max_rtt = self.max_rtt or max(rtt, MS)
        self.era_max, self.era_min = max(self.era_max, rtt), min(self.era_min, rtt)
        if self.state == "Initial":
            self.received += rs.newly_acked
            self.initial_cwnd += rs.newly_acked >> (3 * self.no_increase)
        # Section "Nominal rate".
        self.recent = max(self.recent, rs.rate)
        self.used |= not rs.cwnd_limited
        if not (self.state == "Recovery" and self.congested):
            self.rate = max(self.rate, rs.rate)
        signal = self.signal(rtt, bool(counted))
        if signal:
            self.respond(*signal)
        if self.path.una * self.smss > self.era_sequence:
            self.end_era(rs.cwnd_limited)
        self.set_pace()

    # Section "Setting pacing rate, congestion window and quantum".

    def set_pace(self) -> None:
        over, under = ALPHA[self.state]
        paced = self.rate * over // under
        if self.state == "Initial":
            self.cwnd = max(self.initial_cwnd, paced * self.max_rtt // (8 * 10**9))
            self.pacing = max(paced, 1_048_576)
            self.ssthresh = INF
        else:
            margin = min(self.max_rtt // 4, 15 * MS)
            self.cwnd = paced * (self.max_rtt + margin) // (8 * 10**9)
            self.pacing = paced
            bdp = self.rate * self.max_rtt // (8 * 10**9)
            self.ssthresh = max(min(bdp, self.cwnd) // self.smss, 2)

    # Section "Variable Sensitivity".

    def sensitivity(self) -> int:
        middle = ONE * 92 // 100
        if self.rate < 400_000:
            return 0
        if self.rate < 8_000_000:
            return (self.rate - 400_000) * middle // 7_600_000
        if self.rate < 80_000_000:
            return middle + (self.rate - 8_000_000) * (ONE - middle) // 72_000_000
        return ONE

    def signal(self, rtt: int, has_loss: bool) -> tuple[str, int] | None:
        insensitive = ONE - self.sensitivity()
        if has_loss and self.loss > ONE * 2 // 100 + insensitive // 2:
            return "loss", ONE // 4
        threshold = min(25 * MS, self.max_rtt * (ONE + 3 * insensitive) // (16 * ONE))
        excess = rtt - self.max_rtt - threshold
        if excess > 0:
            return "delay", min(ONE // 4, min(excess, threshold) * ONE // threshold)
        return None

    def respond(self, why: str, beta: int) -> None:
        if self.state == "Initial":
            enough = self.received // self.smss > 20 if why == "loss" else self.no_increase >= 2
            if enough:
                self.leave_initial(why)
        elif self.state == "Recovery":
            self.congested = True
        else:
            if self.state == "Cruising":
                self.rate = self.rate * (ONE - beta) // ONE
                self.reductions += 1
            self.recover(True)

    # Eras.

    def begin_era(self, sequence: int, alpha: tuple[int, int]) -> None:
        self.era_sequence, self.previous = sequence, alpha
        self.era_max, self.era_min, self.era_rate, self.used = 0, INF, self.rate, False

    def enter(self, state: str) -> None:
        self.begin_era(self.path.nxt * self.smss, ALPHA[self.state])
        self.state, self.eras = state, 0

    def recover(self, congested: bool) -> None:
        self.before_probe = self.era_rate if self.state == "Probing" else None
        self.congested = congested
        self.enter("Recovery")

    def leave_initial(self, why: str) -> None:
        self.max_rtt = max(self.cwnd // 2 * 8 * 10**9 // self.rate, MS)
        self.exit = why
        self.recover(why != "full-pipe")

    def follow_rtts(self) -> bool:
        """Section "Nominal max RTT"."""
        if self.previous[0] > self.previous[1]:
            return False
        if self.min_rtt is None or self.era_min < self.min_rtt:
            self.min_rtt = self.era_min
        else:
            self.min_rtt = (7 * self.min_rtt + self.era_min) // 8
        highest = min(self.era_max, self.min_rtt + 250 * MS)
        if highest <= self.max_rtt:
            highest = (7 * self.max_rtt + highest) // 8
        self.max_rtt = max(highest, MS)
        return True

    def end_era(self, app_limited: bool) -> None:
        self.eras += 1
        followed = self.follow_rtts()
        again = True
        if self.state == "Initial":
            if self.rate and self.rate >= self.era_rate * 5 // 4:
                self.no_increase = 0
            elif self.used:
                self.no_increase += 1
            if self.no_increase >= 3:
                self.leave_initial("full-pipe")
                again = False
        elif self.state == "Recovery":
            self.end_recovery(followed)
            again = False
        elif self.state == "Cruising" and self.eras >= 2 and not app_limited:
            self.enter("Probing")
            again = False
        elif self.state == "Probing":
            self.recover(False)
            again = False
        elif self.state == "Pushing" and self.eras > 1:
            if self.rate < self.era_rate * 19 // 16:
                self.recover(False)
                again = False
            elif self.eras >= 3:
                self.restart()
                again = False
        if again:
            self.begin_era(self.path.nxt * self.smss, ALPHA[self.state])

    def restart(self) -> None:
        self.enter("Initial")
        self.initial_cwnd = self.rate * self.max_rtt // (8 * 10**9)
        self.no_increase = self.received = 0

    def end_recovery(self, followed: bool) -> None:
        # Section "Reaction to persistent congestion".
        self.successive = self.successive + 1 if self.congested else 0
        if self.successive > 1 and self.recent > 0:
            self.rate = min(self.rate, self.recent)
        pushes = not self.congested and self.before_probe is not None and (
            self.rate > self.before_probe)
        self.before_probe, self.congested, self.recent, self.loss = None, False, 0, 0
        if pushes:
            self.enter("Pushing")
        elif followed and self.min_rtt * 5 < self.max_rtt * 2:
            self.restart()
        else:
            self.enter("Cruising")


class C4Path(Path):
    """A sender that follows the model, over the link of BBR's vectors."""

    def __init__(self, name: str, title: str, service: int, base: int) -> None:
        super().__init__(name, title, SOURCE, service, base)
        self.file = File(name, {"title": title, "source": SOURCE, "form": "draft",
                                "whole": "c4", "pacing": "on"}, 10)
        self.model = C4(self.smss, 10 * self.smss, self)

    def event(self, words: str) -> None:
        if not self.model.pacing:
            self.pace = self.model.pace()
        super().event(words)


SOURCE = ("draft-huitema-ccwg-c4-spec-04 (July 2026), in whole bits per second, bytes and "
          "nanoseconds, rounded down")


def cycle() -> None:
    path = C4Path("c4-cycle", "Initial until the rate no longer grows, then Recovery, Cruising, Probing",
                  1_000, 60_000)
    path.run("Recovery")
    assert path.model.exit in ("full-pipe", "delay") and path.model.no_increase >= 2
    assert 8_000_000 * 95 // 100 <= path.model.rate <= 8_000_000 * 105 // 100
    path.run("Cruising")
    path.run("Probing")
    path.run("Recovery")
    path.run("Cruising")
    path.steps(40)
    path.file.write()


def losses() -> None:
    path = C4Path("c4-loss", "Losses end Initial, and lower the nominal rate in Cruising", 250, 60_000)
    path.drops = {150, 151, 152}
    path.run("Recovery")
    assert path.model.exit == "loss"
    path.run("Cruising")
    path.drops |= {path.nxt + each for each in (3, 4, 5)}
    path.run("Recovery")
    assert path.model.reductions == 1
    path.run("Cruising")
    path.steps(40)
    path.file.write()


def faster() -> None:
    path = C4Path("c4-push", "The link becomes four times as fast: Probing, Pushing, Initial again",
                  2_000, 60_000)
    path.run("Cruising", 8_000)
    path.service = 500
    path.file.note("The link is four times as fast from now on.")
    path.run("Probing", 8_000)
    path.run("Pushing", 8_000)
    path.steps(150)
    path.file.write()


ALL = (cycle, losses, faster)
