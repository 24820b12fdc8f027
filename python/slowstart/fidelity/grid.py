"""The paths and algorithms for validating the simulator against the kernel.

Rates range from 1 to 200 Mbit/s, round-trip times from 5 to 600 ms, buffers from 0.25 to 8 BDP. The
grid has each pair of rate and RTT with a BDP of at least ten packets, once. The buffer sizes rotate
over the pairs, so that each occurs with each rate and each RTT of the full table. The grid also has
paths with 0.1 % loss, paths with jitter, and presets with a varying rate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from slowstart._native import Scenario
from slowstart.errors import InputError
from slowstart.running import compare

RATES_MBIT = (1, 5, 20, 50, 100, 200)
RTTS_MS = (5, 20, 50, 100, 300, 600)
BUFFERS_BDP = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
# Size of a full packet on a link, with the Ethernet header.
_PACKET_BYTES = 1514
# With a smaller BDP the initial window already fills the path.
_LEAST_BDP_PACKETS = 10
_LEAST_BUFFER_PACKETS = 10
# Large enough for the transfer to continue well beyond slow start.
_SIZES_MB = {1: 1, 5: 5, 20: 20, 50: 20, 100: 20, 200: 40}
# Reordering acts from the first round trip on.
_REORDERED_MB = 5
# Not geo-reduced: whenever its return delay falls faster than time passes, hundreds of ACKs are due
# at once, and the emulator cannot deliver them within its timing bound. That of geo never does.
_PRESETS = ("lte-reduced", "wifi-strong-reduced", "wifi-weak-reduced", "leo-reduced", "geo")

ALGORITHMS = ("cubic", "cubic+standard", "reno", "bbr")
STARTUPS = ("cubic+search", "cubic+hystart++")


@dataclass(frozen=True)
class Path:
    """A path of the grid."""

    name: str
    kind: str
    """``clean``, ``loss``, ``jitter``, ``varying``, ``reordering`` or ``given``."""
    size_mb: int
    toml: str | None = None
    """The ``[path]`` table; either this or ``source`` is set."""
    source: str | None = None
    """The user's argument: a preset, ``trace:FILE``, or a path file."""
    rate_mbit: float | None = None
    rtt_ms: float | None = None
    buffer_bdp: float | None = None

    def with_rate(self, factor: float) -> Path:
        """The same path at another rate; the buffer keeps its packets."""
        if self.toml is None or self.rate_mbit is None:
            return self
        before, after = (f'rate = "{rate:g} Mbit/s"' for rate in (self.rate_mbit,
                         self.rate_mbit * factor))  # fmt: skip
        toml = self.toml.replace(before, after)
        return replace(self, name=f"{self.name} at {100 * factor:g} %", toml=toml)

    @property
    def repeats(self) -> bool:
        """Whether nothing on it is random, so that a stack's runs should be equal."""
        return self.kind == "clean"


@dataclass(frozen=True)
class Case:
    """One algorithm over one path, to run on both stacks."""

    path: Path
    algorithm: str

    @property
    def name(self) -> str:
        """Path and algorithm."""
        return f"{self.path.name}, {self.algorithm}"

    def scenario(self, seed: int = 1) -> Scenario:
        """One run of it."""
        size = f"{self.path.size_mb} MB"
        if self.path.source is not None:
            return compare(self.path.source, self.algorithm, size=size, seed=seed)[0]
        flow = f'[[flow]]\nalgorithm = "{self.algorithm}"\nsize = "{size}"\n'
        text = f"{self.path.toml}\n{flow}"
        return Scenario.from_toml(text, name=self.path.name).with_runs(runs=1, seed=seed)


def _drawn(rate: int, rtt: int, buffer_bdp: float, kind: str = "clean", extra: str = "") -> Path:
    bdp = rate * 1e6 * rtt * 1e-3 / 8 / _PACKET_BYTES
    packets = max(_LEAST_BUFFER_PACKETS, round(buffer_bdp * bdp))
    name = f"{rate} Mbit/s {rtt} ms {buffer_bdp:g} BDP" + ("" if kind == "clean" else f" {kind}")
    return Path(
        name=name,
        kind=kind,
        toml=(
            f'[path]\nname = "{name}"\nrate = "{rate} Mbit/s"\nrtt = "{rtt} ms"\n'
            f'buffer = "{packets} packets"\n{extra}'
        ),
        size_mb=_SIZES_MB[rate],
        rate_mbit=rate,
        rtt_ms=rtt,
        buffer_bdp=buffer_bdp,
    )


def clean() -> list[Path]:
    """Paths with a fixed rate, and without loss except by buffer overflow."""
    paths = []
    for row, rate in enumerate(RATES_MBIT):
        for column, rtt in enumerate(RTTS_MS):
            if rate * 1e3 * rtt / 8 / _PACKET_BYTES >= _LEAST_BDP_PACKETS:
                # 5 and 6 are coprime, so every buffer occurs with every rate and every RTT.
                paths.append(_drawn(rate, rtt, BUFFERS_BDP[(row + 5 * column) % 6]))
    return paths


def disturbed() -> list[Path]:
    """Paths with 0.1 % loss, with jitter, and with varying rates."""
    jitter = 'jitter = { amount = "5 ms", distribution = "uniform" }\n'
    paths = [
        _drawn(rate, rtt, 1.0, "loss", 'loss = "0.1 %"\n')
        for rate, rtt in ((5, 100), (20, 50), (50, 100), (100, 20), (20, 300))
    ]
    paths += [
        _drawn(rate, rtt, 2.0, "jitter", jitter) for rate, rtt in ((5, 50), (20, 50), (50, 100))
    ]
    paths += [
        Path(name=preset, kind="varying", toml=f'[path]\npreset = "{preset}"\n', size_mb=20)
        for preset in _PRESETS
    ]
    return paths


def reordering() -> list[Path]:
    """Paths that reorder: by probability and distance, as netem does, and as two paths do."""
    models = {
        "1 % by 10 ms": 'probability = "1 %", delay = "10 ms"',
        "10 % by 30 ms": 'probability = "10 %", delay = "30 ms"',
        "netem 25 % gap 5": 'probability = "25 %", delay = "10 ms", shift = "earlier", gap = 5',
        "two paths": 'probability = "50 %", delay = "5 ms"',
    }
    paths = []
    for name, keys in models.items():
        for rate, rtt, buffer_bdp in ((20, 60, 1.0), (50, 100, 2.0)):
            path = _drawn(rate, rtt, buffer_bdp, name, f"reordering = {{ {keys} }}\n")
            paths.append(replace(path, kind="reordering", size_mb=_REORDERED_MB))
    return paths


def given(path: str, size: str) -> Path:
    """The path for a user's argument: a preset, ``trace:FILE``, or a path file.

    Raises:
        InputError: The path is invalid, or ``size`` is not a whole number of MB.
    """
    number, _, unit = size.replace("MB", " MB").partition(" ")
    if unit.strip() != "MB" or not number.isdecimal() or int(number) == 0:
        raise InputError(f"--size {size}: give a whole number of MB, such as 20MB")
    resolved = compare(path, "cubic", size=f"{number} MB")[0]
    facts = resolved.resolved["path"]
    return Path(
        name=resolved.path,
        kind="given",
        source=path,
        size_mb=int(number),
        rtt_ms=facts["base_rtt_ms"],
    )


def quick() -> list[Path]:
    """A few paths that take about two minutes on the kernel."""
    return [
        _drawn(5, 50, 1.0),
        _drawn(20, 20, 2.0),
        _drawn(50, 100, 1.0),
        _drawn(100, 50, 0.5),
        _drawn(20, 50, 1.0, "loss", 'loss = "0.1 %"\n'),
    ]
