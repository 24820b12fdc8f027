"""Scenarios that ship with the package and run by name: the Common TCP Evaluation Suite.

Source: D. Hayes, D. Ros, L. Andrew, S. Floyd, "Common TCP Evaluation Suite",
draft-irtf-iccrg-tcpeval-01, 2014. docs/reference/suite.md describes the scenarios and what differs.

A scenario is a file of the folder ``scenarios``, in which each ``$parameter`` is replaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from slowstart._native import Scenario, parse_toml
from slowstart.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FOLDER = Path(__file__).parents[1] / "scenarios"
# The suite's standard TCP has SACK and no ECN; today's differs in its congestion control.
_STANDARD = "reno+standard"

_FAR = '"2 ms", "2 ms", "2 ms", "37 ms", "37 ms", "37 ms", "75 ms", "75 ms", "75 ms"'
_NEAR = '"0 ms", "12 ms", "25 ms"'
# Title and links; load in percent, prefill, warm-up and duration in seconds. A buffer is the time
# that the draft says at the rate of its link.
_BASIC = {
    "data-centre": (
        {
            "title": "data centre, 1 Gbit/s, RTTs from 40 to 400 us",
            "rate": "1 Gbit/s", "buffer": "1250 kB", "delay": "0 ms", "edge": "1 Gbit/s",
            "far": ", ".join(f'"{us} us"' for us in (10, 10, 10, 100, 100, 100, 100, 100, 100)),
            "near": '"10 us", "10 us", "100 us"',
        },
        ((60, 9.0, 63, 69), (85, 11.3, 19, 328), (110, 14.6, 8, 663)),
    ),
    "access": (
        {
            "title": "access link, 100 Mbit/s, RTTs from 8 to 204 ms",
            "rate": "100 Mbit/s", "buffer": "1250 kB", "delay": "2 ms",
        },
        ((60, 36.72, 84, 479), (85, 52.02, 179, 829), (110, 67.32, 34, 1423)),
    ),
    "trans-oceanic": (
        {
            "title": "trans-oceanic link, 1 Gbit/s, RTTs from 134 to 330 ms",
            "rate": "1 Gbit/s", "buffer": "12500 kB", "delay": "65 ms", "edge": "1 Gbit/s",
        },
        ((60, 89.1, 140, 82.5), (85, 126.2, 64, 252), (110, 163.4, 82, 326)),
    ),
    "geo": (
        {
            "title": "geostationary satellite, 40 and 4 Mbit/s, RTTs from 604 to 800 ms",
            "rate": "40 Mbit/s", "buffer": "500 kB", "delay": "300 ms",
            "reverse_rate": "4 Mbit/s",
        },
        ((60, 324.7, 163, 2513), (85, 460.0, 230, 2184), (110, 595.3, 298, 2481)),
    ),
    "dial-up": (
        {
            "title": "dial-up link, 64 kbit/s, RTTs from 14 to 210 ms",
            "rate": "64 kbit/s", "buffer": "10 kB", "delay": "5 ms",
        },
        ((60, 559, 280, 168_804), (85, 792, 400, 88_094), (110, 1025, 512, 69_891)),
    ),
}  # fmt: skip
_WIRELESS = ((60, 0, 20, 4147), (85, 0, 20, 5397), (110, 0, 620, 1797))
_IMPACT = ((50, 45.90, 26, 508), (100, 91.80, 50, 498))
_PARKING_LOT = ((60, 41.4, 173, 470), (80, 55.2, 37, 2052), (100, 69.0, 38, 1338))
# One-way edge delays T1 to T4 in ms for the RTTs of the old and of the new flow.
_RAMP_UP = {(80, 80): (0, 0, 38, 38), (120, 30): (23, 12, 35, 1), (30, 120): (12, 23, 1, 35)}
_RTTS_MS = (10, 20, 40, 80, 160)
# Percent of the bandwidth-delay product at 100 Mbit/s and 100 ms, 1250 kB.
_BUFFERS = (25, 50, 100, 200)
_SUITE = "The Common TCP Evaluation Suite: Hayes, Ros, Andrew and Floyd 2014, fairness."


@dataclass(frozen=True)
class Shipped:
    """A scenario that ships with the package."""

    name: str
    family: str
    """Its name, with the values that the others of its kind have."""
    file: str
    """Its file in the folder of scenarios."""
    values: Mapping[str, object]

    def text(self, algorithm: str | None = None) -> str:
        """The scenario file, with another algorithm under test."""
        values = {"algorithm": algorithm or _STANDARD, "standard": _STANDARD, **self.values}
        template = Template((_FOLDER / self.file).read_text(encoding="utf-8"))
        return template.substitute(values, name=self.name)

    @cached_property
    def summary(self) -> str:
        """One line about it."""
        return str(parse_toml(self.text(), self.name)[0]["summary"])


def _row(row: tuple[int, float, float, float]) -> dict[str, object]:
    load, prefill, warm_up, duration = row
    before = round(prefill + warm_up, 2)
    return {
        "load": load, "other": load / 2, "third": round(load / 3, 3),
        "two_thirds": round(2 * load / 3, 3), "warm_up": before, "duration": duration,
        "lasts": round(before + duration, 2),
    }  # fmt: skip


def _basic() -> Iterator[Shipped]:
    for name, (links, rows) in _BASIC.items():
        usual = {
            "edge": "100 Mbit/s", "far": _FAR, "near": _NEAR,
            "reverse_rate": links["rate"], "reverse_buffer": links["buffer"],
        }  # fmt: skip
        for row in rows:
            values = {**usual, **links, **_row(row)}
            family = f"suite/{name}-{{60,85,110}}"
            yield Shipped(f"suite/{name}-{row[0]}", family, "suite/basic.toml", values)
    for row in _WIRELESS:
        name, family = f"suite/wireless-{row[0]}", "suite/wireless-{60,85,110}"
        yield Shipped(name, family, "suite/wireless.toml", _row(row))
    links, rows = _BASIC["access"]
    values = {"edge": "100 Mbit/s", "far": _FAR, "near": _NEAR, **links, **_row(rows[1])}
    for percent in (10, 20, 50, 100, 200):
        buffer = f"{12_500 * percent} B"
        title = f"access link with a buffer of {percent} % of the BDP at 100 ms"
        yield Shipped(
            f"suite/buffer-{percent}",
            "suite/buffer-{10,20,50,100,200}",
            "suite/basic.toml",
            {
                **values, "title": title, "buffer": buffer,
                "reverse_rate": links["rate"], "reverse_buffer": buffer,
            },
        )  # fmt: skip


def _ramp_up() -> Iterator[Shipped]:
    for speed, rate, buffer, warm_ups in (
        ("10M", "10 Mbit/s", "100 kB", (512, 614, 512)),
        ("1G", "1 Gbit/s", "10 MB", (302, 302, 302)),
    ):
        for ((first, second), delays), warm_up in zip(_RAMP_UP.items(), warm_ups, strict=True):
            values = {
                "rate": rate, "buffer": buffer, "first_rtt": first, "second_rtt": second,
                "warm_up": warm_up,
                **{f"t{place}": delay for place, delay in enumerate(delays, 1)},
            }  # fmt: skip
            name = f"suite/ramp-up-{speed}-{first}-{second}"
            family = "suite/ramp-up-{10M,1G}-{80-80,120-30,30-120}"
            yield Shipped(name, family, "suite/ramp-up.toml", values)


def _transients() -> Iterator[Shipped]:
    def datagrams(name: str, rate: str, when: str) -> str:
        return (
            f'  {{ kind = "datagrams", name = "{name}", rate = "{rate}", spread = "0 s", {when} }},'
        )

    down = datagrams("UDP", "75 Mbit/s", 'duration = "100 s"')
    up = datagrams("UDP", "75 Mbit/s", 'start = "100 s"')
    steps = [
        datagrams(f"UDP {step}", "2.5 Mbit/s", f'start = "{99 + step} s"') for step in range(1, 31)
    ]
    for name, change, text in (
        ("decrease", "UDP traffic falls from 75 Mbit/s to none", down),
        ("increase", "UDP traffic rises to 75 Mbit/s", up),
        ("steps", "UDP traffic rises by 2.5 Mbit/s each second", "\n".join(steps)),
    ):
        values = {"change": change, "datagrams": text}
        family = "suite/transient-{decrease,increase,steps}"
        yield Shipped(f"suite/transient-{name}", family, "suite/transient.toml", values)


def _impact() -> Iterator[Shipped]:
    for row in _IMPACT:
        for kind, values in (
            ("base", {"what": "standard too", "algorithm": _STANDARD}),
            ("mix", {"what": "the algorithm under test"}),
        ):
            name, family = f"suite/impact-{row[0]}-{kind}", "suite/impact-{50,100}-{base,mix}"
            yield Shipped(name, family, "suite/impact.toml", {**_row(row), **values})


def _two_flows() -> Iterator[Shipped]:
    def pair(first: int, second: int, **values: object) -> dict[str, object]:
        delays = {"first_delay": (first - 4) / 2, "second_delay": (second - 4) / 2}
        return {"first_rtt": first, "second_rtt": second, **delays, **values}

    values: dict[str, object]
    for percent in _BUFFERS:
        values = {
            "source": _SUITE, "buffer": f"{12_500 * percent} B", "loss": 0, "start": 60,
            "note": "The second one starts at the\n# end of the first tenth, and 600 s are chosen.",
            "condition": f"a buffer of {percent} % of the BDP at 100 ms",
        }  # fmt: skip
        for rtt in _RTTS_MS:
            yield Shipped(
                f"suite/fairness-{rtt}-{percent}",
                "suite/fairness-{10,20,40,80,160}-{25,50,100,200}",
                "suite/two-flows.toml",
                pair(rtt, rtt, **values, title="fairness of two equal flows"),
            )
        for rtt in _RTTS_MS[:-1]:
            yield Shipped(
                f"suite/rtt-fairness-{rtt}-{percent}",
                "suite/rtt-fairness-{10,20,40,80}-{25,50,100,200}",
                "suite/two-flows.toml",
                pair(160, rtt, **values, title="fairness of two flows with different RTTs"),
            )
    for loss in ("0", "0.001", "0.01", "0.1"):
        values = {
            "source": "Convergence of two flows: not in the Common TCP Evaluation Suite.",
            "note": "The second one starts when\n# the first one has the link. Chosen values.",
            "buffer": "1250 kB", "loss": loss, "start": 100,
            "condition": f"a random loss of {loss} %",
        }  # fmt: skip
        for rtt in _RTTS_MS:
            yield Shipped(
                f"suite/convergence-{rtt}-{loss}",
                "suite/convergence-{10,20,40,80,160}-{0,0.001,0.01,0.1}",
                "suite/two-flows.toml",
                pair(rtt, rtt, **values, title="convergence of two flows"),
            )


def _parking_lot() -> Iterator[Shipped]:
    for row in _PARKING_LOT:
        name, family = f"suite/parking-lot-{row[0]}", "suite/parking-lot-{60,80,100}"
        yield Shipped(name, family, "suite/parking-lot.toml", _row(row))


def scenarios() -> list[Shipped]:
    """Every scenario that ships with the package."""
    parts = (_basic(), _ramp_up(), _transients(), _impact(), _two_flows(), _parking_lot())
    return [each for part in parts for each in part]


def find(name: str) -> Shipped | None:
    """The scenario of that name, unless ``name`` is a file.

    Raises:
        InputError: ``name`` begins as the name of a scenario does, and there is no such scenario.
    """
    if not name.startswith("suite/") or Path(name).exists():
        return None
    every = scenarios()
    found = next((each for each in every if each.name == name), None)
    if found is None and not name.endswith(".toml"):
        from difflib import get_close_matches

        close = get_close_matches(name, [each.name for each in every], n=1)
        hint = f"; did you mean {close[0]}?" if close else ", see: slowstart list scenarios"
        raise InputError(f'there is no scenario "{name}"{hint}')
    return found


def load(name: str, algorithm: str | None = None) -> Scenario:
    """The scenario of that name, or of a file.

    With ``algorithm``, the flows of a file that have the name of its first flow run this one, and
    have its name.

    Raises:
        InputError: The file is wrong, or has no flow.
    """
    found = find(name)
    if found is not None:
        return Scenario.from_toml(found.text(algorithm), name=name)
    scenario = Scenario.from_file(name)
    if algorithm is None:
        return scenario
    if not scenario.flows:
        raise InputError(f"{name} has no flow whose algorithm -a could replace")
    tested = scenario.flows[0]
    made = scenario.with_algorithms({tested: algorithm})
    plain = made.resolved["flows"][0]["algorithm"]
    return made.with_names(flows={tested: plain})


class AsFile:
    """The scenario of a name in a file, for what reads files only; other names stay as they are."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._folder: TemporaryDirectory[str] | None = None

    def __enter__(self) -> str:
        found = find(self._name)
        if found is None:
            return self._name
        self._folder = TemporaryDirectory()
        file = Path(self._folder.name) / f"{Path(self._name).name}.toml"
        file.write_text(found.text(), encoding="utf-8")
        return str(file)

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()
