"""BBR version 3 in whole bytes and bits per second, written from the text of draft-ietf-ccwg-bbr.

Rounding is down, wherever a product or quotient is formed; a draft that computes with real numbers
leaves that open. Times are in microseconds. No ProbeRTT, no application limits, no ECN, no undo:
the vectors end before 5 s.
"""

from __future__ import annotations

from dataclasses import dataclass

INF = float("inf")


@dataclass
class Rs:
    """The rate sample of an ACK, with what else the ACK says."""

    now: int
    newly_acked: int
    inflight: int
    delivered: int
    interval: int
    prior_delivered: int
    total_delivered: int
    tx_in_flight: int
    lost: int
    rtt: int
    srtt: int
    in_recovery: bool
    cwnd_limited: bool

    @property
    def rate(self) -> int:
        return self.delivered * 8_000_000 // self.interval


def volume(bits_per_second: int, time: int) -> int:
    return bits_per_second * time // 8_000_000


class Bbr3:
    """The variables are the draft's, without their prefix."""

    GAINS = {"Startup": (277, 200), "Drain": (50, 200), "DOWN": (90, 200), "CRUISE": (100, 200),
             "REFILL": (100, 200), "UP": (125, 225)}

    def __init__(self, smss: int, initial_cwnd: int) -> None:
        self.smss, self.initial_cwnd, self.cwnd = smss, initial_cwnd, initial_cwnd
        self.ssthresh, self.exit = INF, "none"
        self.pacing_rate = self.first_rate(1_000)
        self.has_rtt = False
        self.state = "Startup"
        self.delivered = self.prior_cwnd = 0
        self.slots, self.bw = [0, 0], 0
        self.bw_short, self.inflight_short, self.inflight_long = INF, INF, INF
        self.bw_latest = self.inflight_latest = 0
        self.next_round = self.round_count = self.loss_round = 0
        self.round_start = self.loss_round_start = self.loss_in_round = False
        self.min_rtt = INF
        self.full_bw = self.full_count = 0
        self.full_now = self.full_reached = False
        self.drain_round = 0
        self.extra_start = self.extra_delivered = 0
        self.extras: list[tuple[int, int]] = []
        self.phase = "INIT"
        self.probe_sample = self.too_high = self.precautionary = False
        self.cycle_stamp = self.up_rounds = self.up_acked = 0
        self.per_inc = INF
        self.ranges, self.range_end, self.recovery_start = 0, -1, INF
        self.was_in_recovery = self.saved = False

    def first_rate(self, rtt: int) -> int:
        return self.initial_cwnd * 8_000_000 // rtt * 277 // 100

    # What the sender reads.

    def segments(self) -> int:
        return self.cwnd // self.smss

    def pace(self) -> int:
        return self.pacing_rate // 8

    # Control parameters.

    def max_bw(self) -> int:
        return max(self.slots)

    def bdp(self, bw: int, gain: int) -> int:
        if self.min_rtt == INF:
            return self.initial_cwnd
        return volume(bw, self.min_rtt) * gain // 100

    def quantized(self, cap: int) -> int:
        quantum = max(min(volume(self.pacing_rate, 1_000), 65_536), 2 * self.smss)
        cap = max(cap, 3 * quantum, 4 * self.smss)
        return cap + 2 * self.smss if self.state == "UP" else cap

    def inflight(self, bw: int, gain: int = 100) -> int:
        return self.quantized(self.bdp(bw, gain))

    def target(self) -> int:
        return min(self.bdp(self.bw, 100), self.cwnd)

    def headroom(self) -> float | int:
        if self.inflight_long == INF:
            return INF
        free = max(self.smss, self.inflight_long * 15 // 100)
        return max(self.inflight_long - free, 4 * self.smss)

    def extra_acked(self) -> int:
        return self.extras[0][1] if self.extras else 0

    # Events.

    def lost(self, now: int, first: int, delivered: int, tx: int, lost: int) -> None:
        """The segment that begins at byte `first` is declared lost; `lost` with it since it left."""
        self.delivered = delivered
        if not self.loss_in_round:
            self.loss_round = delivered
        if not self.saved and not (self.loss_in_round and self.was_in_recovery):
            self.save_cwnd()
        self.loss_in_round = True
        if self.ranges == 0 or first != self.range_end:
            self.ranges += 1
        self.range_end = first + self.smss
        if self.probe_sample and lost * 100 > tx * 2:
            before, lost_before = tx - self.smss, lost - self.smss
            at_loss = before + max(2 * before - 100 * lost_before, 0) // 98
            self.too_high, self.probe_sample = True, False
            self.inflight_long = max(at_loss, self.target() * 70 // 100)
            if self.state == "UP":
                self.start_down(now)

    def save_cwnd(self) -> None:
        self.prior_cwnd = max(self.prior_cwnd, self.cwnd) if self.was_in_recovery else self.cwnd
        self.saved = True

    def recovery(self) -> None:
        """Fast recovery begins, with the loss that was reported last."""
        self.recovery_start = self.delivered

    def ack(self, rs: Rs) -> None:
        self.delivered = rs.total_delivered
        if not self.has_rtt:
            self.has_rtt, self.pacing_rate = True, self.first_rate(rs.srtt)
        if self.was_in_recovery and not rs.in_recovery:
            self.cwnd = max(self.cwnd, self.prior_cwnd)
        self.was_in_recovery, self.saved = rs.in_recovery, False
        self.latest(rs)
        self.congestion_signals(rs)
        self.aggregation(rs)
        self.full_pipe(rs)
        self.startup_done(rs)
        self.drain_done(rs)
        self.cycle(rs)
        self.min_rtt = min(self.min_rtt, rs.rtt)
        if self.loss_round_start:
            self.bw_latest, self.inflight_latest = rs.rate, rs.delivered
        self.bw = min(self.max_bw(), self.bw_short)
        pacing_gain, cwnd_gain = self.GAINS[self.state]
        rate = self.bw * pacing_gain * 99 // 10_000
        if self.full_reached or rate > self.pacing_rate:
            self.pacing_rate = rate
        self.set_cwnd(rs, cwnd_gain)

    def set_cwnd(self, rs: Rs, gain: int) -> None:
        most = self.quantized(self.bdp(self.bw, gain) + self.extra_acked())
        if self.full_reached:
            self.cwnd = min(self.cwnd + rs.newly_acked, most)
        elif self.cwnd < most or self.delivered < self.initial_cwnd:
            self.cwnd += rs.newly_acked
        self.cwnd = max(self.cwnd, 4 * self.smss)
        cap = INF
        if self.state in ("DOWN", "REFILL", "UP"):
            cap = self.inflight_long
        elif self.state == "CRUISE":
            cap = self.headroom()
        self.cwnd = min(self.cwnd, max(min(cap, self.inflight_short), 4 * self.smss))

    # The model.

    def latest(self, rs: Rs) -> None:
        self.bw_latest = max(self.bw_latest, rs.rate)
        self.inflight_latest = max(self.inflight_latest, rs.delivered)
        self.loss_round_start = rs.prior_delivered >= self.loss_round
        if self.loss_round_start:
            self.loss_round = self.delivered

    def congestion_signals(self, rs: Rs) -> None:
        self.round_start = rs.prior_delivered >= self.next_round
        if self.round_start:
            self.next_round = self.delivered
            self.round_count += 1
        self.slots[0] = max(self.slots[0], rs.rate)
        if not self.loss_round_start:
            return
        if self.loss_in_round and self.state not in ("Startup", "REFILL", "UP"):
            if self.bw_short == INF:
                self.bw_short = self.max_bw()
            if self.inflight_short == INF:
                self.inflight_short = self.cwnd
            self.bw_short = max(self.bw_latest, self.bw_short * 70 // 100)
            self.inflight_short = max(self.inflight_latest, self.inflight_short * 70 // 100)
        self.loss_in_round = False

    def aggregation(self, rs: Rs) -> None:
        expected = volume(self.bw, rs.now - self.extra_start)
        if self.extra_delivered <= expected:
            self.extra_delivered, self.extra_start, expected = 0, rs.now, 0
        self.extra_delivered += rs.newly_acked
        extra = min(max(self.extra_delivered - expected, 0), self.cwnd)
        window = 10 if self.full_reached else 1
        self.extras = three_best(self.extras, self.round_count, extra, window)

    def full_pipe(self, rs: Rs) -> None:
        if self.full_now or not self.round_start:
            return
        if rs.rate >= self.full_bw * 125 // 100:
            self.full_bw, self.full_count, self.full_now = rs.rate, 0, False
            return
        self.full_count += 1
        self.full_now = self.full_count >= 3
        self.full_reached |= self.full_now

    def startup_done(self, rs: Rs) -> None:
        if self.loss_round_start:
            ranges, self.ranges = self.ranges, 0
            full_round = rs.in_recovery and rs.prior_delivered >= self.recovery_start
            if (self.state == "Startup" and not self.full_reached and full_round and ranges >= 6
                    and rs.lost * 100 > rs.tx_in_flight * 2):
                self.full_now = self.full_reached = True
                self.inflight_long = max(self.bdp(self.bw, 100), self.inflight_latest)
                self.leave_startup("loss")
        if self.state == "Startup" and self.full_reached:
            self.leave_startup("full-pipe")

    def leave_startup(self, why: str) -> None:
        self.exit, self.state, self.drain_round = why, "Drain", self.round_count
        self.ssthresh = self.inflight(self.max_bw()) // self.smss

    def drain_done(self, rs: Rs) -> None:
        emptied = rs.inflight <= self.inflight(self.bw)
        if self.state == "Drain" and (emptied or self.round_count > self.drain_round + 3):
            self.start_down(rs.now)

    # ProbeBW.

    def start_down(self, now: int) -> None:
        self.loss_in_round, self.bw_latest, self.inflight_latest = False, 0, 0
        self.per_inc, self.cycle_stamp, self.phase = INF, now, "STOPPING"
        self.next_round, self.state = self.delivered, "DOWN"
        self.down_round = self.round_count

    def start_refill(self) -> None:
        self.bw_short = self.inflight_short = INF
        self.up_rounds = self.up_acked = 0
        self.precautionary, self.phase = False, "REFILLING"
        self.next_round, self.state = self.delivered, "REFILL"

    def raise_slope(self) -> None:
        self.per_inc = max(self.cwnd // (1 << self.up_rounds), self.smss)
        self.up_rounds = min(self.up_rounds + 1, 30)

    def cycle(self, rs: Rs) -> None:
        if not self.full_reached or self.adapt(rs):
            return
        if self.state in ("DOWN", "CRUISE"):
            waited = rs.now - self.cycle_stamp
            # A vector must not depend on what a sender draws.
            assert waited <= 2_000_000 or waited > 3_000_000, waited
            rounds = self.round_count - self.down_round + 1
            assert waited > 3_000_000 or rounds < min(self.target() // self.smss, 63), rounds
            if waited > 3_000_000:
                self.start_refill()
            elif (self.state == "DOWN" and rs.inflight <= self.headroom()
                    and rs.inflight <= self.inflight(self.max_bw())):
                self.state = "CRUISE"
        elif self.state == "REFILL" and self.round_start:
            self.probe_sample, self.phase = True, "STARTING"
            self.next_round = self.delivered
            self.full_bw, self.full_count, self.full_now = rs.rate, 0, False
            self.state = "UP"
            self.raise_slope()
        elif self.state == "UP" and self.down_is_due(rs):
            self.too_high = False
            self.start_down(rs.now)

    def down_is_due(self, rs: Rs) -> bool:
        if self.too_high and rs.inflight >= self.inflight_long:
            self.precautionary = True
            return True
        if rs.cwnd_limited and self.cwnd >= self.inflight_long:
            self.full_bw, self.full_count, self.full_now = rs.rate, 0, False
            return False
        return self.full_now

    def adapt(self, rs: Rs) -> bool:
        if self.phase == "STARTING" and self.round_start:
            self.phase = "FEEDBACK"
        elif self.phase == "STOPPING" and self.round_start:
            self.probe_sample, self.phase = False, "INIT"
            if self.state in ("DOWN", "CRUISE", "REFILL", "UP"):
                if self.slots[0]:
                    self.slots = [0, self.slots[0]]
                if self.precautionary and not self.too_high:
                    self.start_refill()
                    return True
        if self.inflight_long != INF and rs.lost * 100 <= rs.tx_in_flight * 2:
            self.inflight_long = max(self.inflight_long, rs.tx_in_flight)
            if self.state == "UP" and rs.cwnd_limited and self.cwnd >= self.inflight_long:
                self.up_acked += rs.newly_acked
                if self.up_acked >= self.per_inc:
                    steps = self.up_acked // self.per_inc
                    self.up_acked -= steps * self.per_inc
                    self.inflight_long += steps * self.smss
                if self.round_start:
                    self.raise_slope()
        return False


def three_best(best: list[tuple[int, int]], time: int, value: int, window: int) -> list[tuple[int, int]]:
    """Nichols' windowed maximum: the best sample, the best since it, and the best since that."""
    new = (time, value)
    if not best:
        best = [(0, 0)] * 3
    first, second, third = best
    if value >= first[1] or time - third[0] > window:
        return [new] * 3
    if value >= second[1]:
        second = third = new
    elif value >= third[1]:
        third = new
    age = time - first[0]
    if age > window:
        first, second, third = second, third, new
        if time - first[0] > window:
            first, second, third = second, third, new
    elif second[0] == first[0] and age > window // 4:
        second = third = new
    elif third[0] == second[0] and age > window // 2:
        third = new
    return [first, second, third]
