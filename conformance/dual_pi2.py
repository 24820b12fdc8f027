"""The queue of RFC 9332, appendix A, apart from the simulator: numbers for its tests.

A link of 10 Mbit/s serves packets of 1500 bytes in 1.2 ms each. Run it to print what
`crates/network/tests/dual_pi2.rs` expects. At one instant the controller acts before a departure,
and a departure before an arrival.
"""

from collections import deque
from fractions import Fraction

SERVICE = 1_200_000
UPDATE, TARGET = 16_000_000, 0.015
ALPHA, BETA, K = 0.16, 3.2, 2.0
MIN_TH, RANGE = 0.0008, 0.0004
CLASSIC_SHARE = Fraction(1, 10)
NOT_ECT, ECT0, ECT1 = "not-ect", "ect0", "ect1"


class Queue:
    def __init__(self, ecn):
        self.ecn = ecn
        self.queues = {"low": deque(), "classic": deque()}
        self.count = {"low": 0.0, "classic": 0.0}
        self.p = self.prev = 0.0
        self.credit = self.initial()
        self.drops, self.marks, self.out = [], [], []

    @staticmethod
    def initial():
        return CLASSIC_SHARE * 1500 - (1 - CLASSIC_SHARE) * 1500

    def recur(self, name, likelihood):
        self.count[name] += likelihood
        if self.count[name] > 1:
            self.count[name] -= 1
            return True
        return False

    def update(self, now):
        heads = [queue[0][0] for queue in self.queues.values() if queue]
        cur = (now - min(heads)) / 1e9 if heads else 0.0
        self.p += ALPHA * (cur - TARGET) + BETA * (cur - self.prev)
        self.p = min(1.0, max(0.0, self.p))
        self.prev = cur

    def choose(self):
        low, classic = self.queues["low"], self.queues["classic"]
        if not low or not classic:
            self.credit = self.initial()
            return "low" if low else "classic"
        if self.credit <= 0:
            self.credit += CLASSIC_SHARE * 1500
            return "low"
        self.credit -= (1 - CLASSIC_SHARE) * 1500
        return "classic"

    def native(self, wait):
        if not self.queues["low"] or wait <= MIN_TH:
            return 0.0
        return min(1.0, (wait - MIN_TH) / RANGE)

    def dequeue(self, now):
        while any(self.queues.values()):
            p_c, p_cl = self.p**2, self.p * K
            name = self.choose()
            at, ecn = self.queues[name].popleft()
            if name == "low":
                if p_cl < 1:
                    if self.recur(name, max(self.native((now - at) / 1e9), p_cl)):
                        self.marks.append((now, name))
                elif self.recur(name, p_c):
                    self.drops.append((now, name))
                    continue
                else:
                    self.marks.append((now, name))
            elif self.recur(name, p_c):
                if ecn == NOT_ECT or not self.ecn or p_cl >= 1:
                    self.drops.append((now, name))
                    continue
                self.marks.append((now, name))
            self.out.append((now, name, now - at))
            return True
        return False


def run(flows, end, ecn=False):
    """Flows are pairs of a codepoint and a gap in nanoseconds; all begin at zero."""
    queue = Queue(ecn)
    arrivals = sorted(
        (at, order, codepoint)
        for order, (codepoint, gap) in enumerate(flows)
        for at in range(0, end + 1, gap)
    )
    arrivals = deque(arrivals)
    free, update = 0, UPDATE
    while arrivals:
        waiting = any(queue.queues.values())
        departure = free if waiting else None
        arrival = arrivals[0][0]
        now = min(t for t in (update, departure, arrival) if t is not None)
        if now == update:
            queue.update(now)
            update += UPDATE
        elif now == departure:
            free = now + SERVICE if queue.dequeue(now) else now
        else:
            _, _, codepoint = arrivals.popleft()
            name = "low" if codepoint == ECT1 else "classic"
            queue.queues[name].append((now, codepoint))
            if free <= now:
                free = now + SERVICE if queue.dequeue(now) else now
    return queue


def show(name, queue):
    tenths = lambda times: [at // 100_000 for at, _ in times[:10]]
    of = lambda events, kind: sum(1 for event in events if event[1] == kind)
    print(name)
    print("  drops", tenths(queue.drops), of(queue.drops, "low"), of(queue.drops, "classic"))
    print("  marks", tenths(queue.marks), of(queue.marks, "low"), of(queue.marks, "classic"))
    print("  out", of(queue.out, "low"), of(queue.out, "classic"))
    for kind in ("low", "classic"):
        waits = [wait for _, name, wait in queue.out if name == kind]
        if waits:
            print(f"  {kind}: last wait {waits[-1]} ns, longest {max(waits)} ns")


if __name__ == "__main__":
    ms = 1_000_000
    show("classic", run([(NOT_ECT, ms)], 3000 * ms))
    show("classic, ECN", run([(ECT0, ms)], 3000 * ms, ecn=True))
    show("L4S", run([(ECT1, ms)], 3000 * ms))
    show("both", run([(NOT_ECT, 1_500_000), (ECT1, 3 * ms)], 3000 * ms))
    show("both, overload", run([(NOT_ECT, ms), (ECT1, ms)], 3000 * ms))
