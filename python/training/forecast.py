"""Trains the neural network of the start-up `forecast` on simulated connection starts.

Run it in a checkout whose `slowstart` is installed, with numpy:

    python python/training/forecast.py

It draws starts over links of constant rate and over networks whose rate varies (families of the
project's own models, with random parameters), trains on them, and writes
`crates/congestion/src/startup/forecast/varying.rs`; run `cargo fmt` afterwards. It then prints the
error on starts that were held out, on each family by a network trained without that family, and on
the presets. `--links fixed` trains on links of constant rate alone and writes `fixed.rs`.

One seed determines all random numbers. The last bits of sums depend on the machine's linear algebra
library, so weights trained on another machine may differ in their last digits. The documentation of
`crates/congestion/src/startup/forecast/mod.rs` describes the numbers and the integer arithmetic
that uses them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import slowstart

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

SEED = 20220613
# Starts over links of constant rate, or of each family, and how many of them are held out.
STARTS_FIXED, HELD_OUT_FIXED = 6000, 1000
STARTS, HELD_OUT = 1500, 300
PRESET_STARTS = 100
ACKS = 20
HIDDEN = 32
EPOCHS = 120
BATCH = 64
FAR = 4096  # four standard deviations: inputs are clipped to this distance from the mean
SMSS = 1448
PACKET = 1500
# The rate of a varying network is its mean over this time.
HORIZON_S = 1.0
# A network in an outage has no rate to forecast.
LEAST_RATE = 50_000
ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "crates/congestion/src/startup/forecast"
PRESETS = (
    "wired", "ethernet", "dsl", "docsis", "lte", "5g", "hsdpa", "wifi-strong", "wifi-weak",
    "wifi-testbed", "leo", "geo",
)  # fmt: skip

START = '[[flow]]\nalgorithm = "cubic+standard"\nsize = "120 kB"\n'
FLOOD = (
    'duration = "{horizon} s"\n{path}\n'
    '[[traffic]]\nkind = "datagrams"\nrate = "{most} bit/s"\nspread = "0 s"\n'
)


@dataclass(frozen=True)
class Network:
    """A network to start over."""

    path: str
    """Its ``[path]``."""
    rate: int | None = None
    """In bit/s of IP, if it is constant."""
    most: int = 0
    """A rate that it does not reach, in bit/s."""


@dataclass(frozen=True)
class Starts:
    """Simulated starts: what the sender observed, and the rate."""

    x: Floats
    """The inputs, one row for each start."""
    y: Floats
    """log2 of the rate in kbit/s, in 1/256."""

    def part(self, rows: slice) -> Starts:
        """Some of them."""
        return Starts(self.x[rows], self.y[rows])


@dataclass(frozen=True)
class Trained:
    """A network in whole numbers."""

    centre: Integers
    factor: Integers
    middle: int
    spread: int
    whole: list[Integers]
    """Weights and biases of each layer."""

    def forecast(self, x: Floats) -> Integers:
        """log2 of the forecast rate in kbit/s, in 1/256."""
        answer = infer(x, self.centre, self.factor, self.whole)
        return self.middle + ((answer * self.spread) >> 10)


def log2(value: int) -> int:
    """The binary logarithm in 1/256, linear between powers of two; 0 for 0 and 1."""
    if value < 2:
        return 0
    power = value.bit_length() - 1
    return power * 256 + ((value << 8) >> power) - 256


def features(rtts: list[int], times: list[int], acked: int, in_flight: int) -> list[int]:
    """The inputs of the network: times in microseconds, amounts in segments."""
    mean = sum(rtts) // ACKS
    spread = math.isqrt(sum(rtt * rtt for rtt in rtts) // ACKS - mean * mean)
    gaps = [after - before for before, after in itertools.pairwise(times)]
    gap = sum(gaps) // len(gaps)
    gap_spread = math.isqrt(max(sum(g * g for g in gaps) // len(gaps) - gap * gap, 0))
    rise = sum(rtts[-5:]) // 5 - sum(rtts[:5]) // 5
    return [
        log2(min(rtts)),
        log2(mean),
        log2(spread + 1),
        log2(rtts[-1]),
        log2(gap + 1),
        log2(gap_spread + 1),
        log2(min(gaps) + 1),
        log2(sorted(gaps)[len(gaps) // 2] + 1),
        log2(acked + 1),
        log2(in_flight + 1),
        log2(abs(rise) + 1) * (1 if rise >= 0 else -1),
    ]


# --- the networks ---------------------------------------------------------------------------------


def constant(rng: np.random.Generator) -> Network:
    """A link of constant rate with a drop-tail buffer, three of ten with jitter."""
    rate = int(10 ** rng.uniform(5.5, 8.7))
    rtt = int(10 ** rng.uniform(3.6, 5.9))
    buffer = int(10 ** rng.uniform(0.9, 3.3))
    path = f'[path]\nrate = "{rate} bit/s"\nrtt = "{rtt} us"\nbuffer = "{buffer} packets"\n'
    if rng.uniform() < 0.3:
        path += f'jitter = "{int(rtt * rng.uniform(0.005, 0.1))} us"\n'
    return Network(path, rate)


def net_of_overhead(rng: np.random.Generator) -> Network:
    """The same, with its rate in bytes of IP like that of the other families."""
    network = constant(rng)
    return Network(network.path, (network.rate or 0) * PACKET // (PACKET + 14))


def path_of(
    rng: np.random.Generator, rate: str, rtt_ms: tuple[float, float], buffer: tuple[float, float]
) -> str:
    """A path with a model, a random RTT, and a random buffer between powers of ten of bytes."""
    rtt = int(1e3 * math.exp(rng.uniform(math.log(rtt_ms[0]), math.log(rtt_ms[1]))))
    size = int(10 ** rng.uniform(*buffer))
    return f'[path]\nrate = {rate}\nrtt = "{rtt} us"\nbuffer = "{size} bytes"\n'


def cell(rng: np.random.Generator) -> Network:
    """A cell of LTE or 5G."""
    is_5g = rng.uniform() < 0.5
    word = "5g" if is_5g else "lte"
    users, sinr = int(rng.integers(0, 6)), rng.uniform(-2, 28)
    rate = f'{{ model = "{word}", sinr = "{sinr:.1f} dB", sinr_spread = "0 dB", users = {users} }}'
    path = path_of(rng, rate, (35, 200), (5.3, 7))
    path += 'overhead = "0 bytes"\n'
    up = int(rng.uniform(5, 50))
    if is_5g:
        grants = 'request = "5 ms", wait = "4 ms", every = "2500 us", prepare = "2 ms"'
        path += f'reverse.rate = {{ model = "cell-uplink", rate = "{up} Mbit/s", {grants} }}\n'
    else:
        path += f'reverse.rate = {{ model = "cell-uplink", rate = "{up} Mbit/s" }}\n'
    return Network(path, most=1_000_000_000 if is_5g else 300_000_000)


def hsdpa(rng: np.random.Generator) -> Network:
    """HSDPA of different categories and loads."""
    # Largest blocks in bits, one each 2 ms: categories 6, 8 and 10.
    block = int(rng.choice([7298, 14411, 27952]))
    mean = int(block * 500 * rng.uniform(0.1, 0.6))
    rate = f'{{ model = "hsdpa", mean = "{mean} bit/s", block = {block} }}'
    path = path_of(rng, rate, (90, 300), (4.5, 5.7))
    path += 'overhead = "0 bytes"\nreverse.buffer = "64 KiB"\n'
    path += 'reverse.rate = { model = "umts-uplink", rate = "384 kbit/s" }\n'
    return Network(path, most=20_000_000)


def wifi(rng: np.random.Generator) -> Network:
    """Wi-Fi of 802.11n, ac or ax among neighbours and other stations, with a wire behind it."""
    standard, width = [("n", 20), ("n", 40), ("ac", 40), ("ac", 80), ("ax", 80)][rng.integers(5)]
    streams, stations = int(rng.integers(1, 3)), int(rng.integers(0, 4))
    rssi, busy = rng.uniform(-78, -45), rng.uniform(0, 70)
    rate = (
        f'{{ model = "wifi", standard = "{standard}", width = "{width} MHz", streams = {streams}, '
        f'rssi = "{rssi:.1f} dBm", busy = "{busy:.0f} %", stations = {stations} }}'
    )
    return Network(path_of(rng, rate, (1, 120), (5, 6.7)), most=1_200_000_000)


def leo(rng: np.random.Generator) -> Network:
    """A low-orbit constellation."""
    down, up = (
        int(math.exp(rng.uniform(math.log(a), math.log(b)))) for a, b in ((10, 300), (3, 40))
    )
    path = path_of(rng, f'{{ model = "leo", rate = "{down} Mbit/s" }}', (30, 120), (5.3, 6.7))
    path += 'loss = "0.001 %"\nreverse.overhead = "0 bytes"\nreverse.buffer = "150 kB"\n'
    path += f'reverse.rate = {{ model = "leo", rate = "{up} Mbit/s", grant = "12 ms" }}\n'
    return Network(path, most=700_000_000)


def geo(rng: np.random.Generator) -> Network:
    """A geostationary satellite with a return link on demand."""
    rate = int(1e6 * math.exp(rng.uniform(math.log(2), math.log(120))))
    cra, swing = int(rng.uniform(16, 256)), int(rng.uniform(0, 500))
    path = path_of(rng, f'{{ model = "geo", rate = "{rate} bit/s" }}', (590, 680), (6, 7.5))
    path += 'reverse.overhead = "0 bytes"\nreverse.buffer = "10000 packets"\n'
    path += f'reverse.rate = {{ model = "dama", cra = "{cra} kbit/s" }}\n'
    path += f'reverse.jitter = {{ amount = "{swing} ms", distribution = "sine", period = "2 s" }}\n'
    return Network(path, rate * PACKET // (PACKET + 14))


FAMILIES: dict[str, Callable[[np.random.Generator], Network]] = {
    "constant rate": net_of_overhead,
    "LTE and 5G": cell,
    "HSDPA": hsdpa,
    "Wi-Fi": wifi,
    "low orbit": leo,
    "geostationary": geo,
}


# --- the starts -----------------------------------------------------------------------------------


def observe(networks: Sequence[Network], seeds: Sequence[int]) -> Starts:
    """Simulates a start over each network; those with fewer than twenty ACKs are left out."""
    pairs = list(zip(networks, seeds, strict=True))
    started = [
        slowstart.Scenario.from_toml(each.path + START).with_runs(runs=1, seed=seed)
        for each, seed in pairs
    ]
    rates = measure_rates(pairs, started)
    result = slowstart.run(started, traces=True)
    inputs, targets = [], []
    for index, rate in enumerate(rates):
        trace = pl.DataFrame(result.select(index).flow_traces())
        trace = trace.filter((pl.col("acked_bytes") > 0) & pl.col("rtt_ms").is_not_null())
        trace = trace.filter(pl.col("ssthresh_bytes").is_null())[:ACKS]
        if len(trace) < ACKS or rate < LEAST_RATE:
            continue
        seconds = [round(t * 1e6) for t in trace["time_s"]]
        rtts = [round(rtt * 1e3) for rtt in trace["rtt_ms"]]
        times = [t - seconds[0] for t in seconds]
        last = trace[-1]
        acked = last["acked_bytes"][0] // SMSS
        in_flight = last["in_flight_bytes"][0] // SMSS
        inputs.append(features(rtts, times, acked, in_flight))
        targets.append(log2(rate // 1000))
    return Starts(np.array(inputs, dtype=float), np.array(targets, dtype=float))


def measure_rates(
    pairs: Sequence[tuple[Network, int]], started: Sequence[slowstart.Scenario]
) -> list[int]:
    """The rate of each network, in bit/s of IP: how much of a flood of datagrams it delivers.

    The channel of a network depends on its seed and not on what is sent.
    """
    floods = [
        slowstart.Scenario.from_toml(
            FLOOD.format(horizon=HORIZON_S, path=each.path, most=each.most)
        ).with_runs(runs=1, seed=seed)
        for each, seed in pairs
        if each.rate is None
    ]
    entries = iter(json.loads(slowstart.run(floods).to_json())["runs"] if floods else [])
    rates = []
    for (each, _), scenario in zip(pairs, started, strict=True):
        if each.rate is not None:
            rates.append(each.rate)
            continue
        bits = next(entries)["links"][0]["packets"] * PACKET * 8
        # The first packets arrive after half a round trip.
        rates.append(int(bits / (HORIZON_S - scenario.resolved["path"]["base_rtt_ms"] / 2000)))
    return rates


def drawn(
    draw: Callable[[np.random.Generator], Network], count: int, rng: np.random.Generator
) -> Starts:
    """Starts over networks that ``draw`` makes, each with a channel of its own."""
    return observe([draw(rng) for _ in range(count)], range(1, count + 1))


def joined(parts: Sequence[Starts]) -> Starts:
    """All of them."""
    return Starts(np.concatenate([p.x for p in parts]), np.concatenate([p.y for p in parts]))


# --- the network ----------------------------------------------------------------------------------


def train(x: Floats, y: Floats, rng: np.random.Generator) -> list[Floats]:
    """Trains two hidden layers with ReLU by Adam, on the squared error of the scaled logarithm."""
    sizes = [x.shape[1], HIDDEN, HIDDEN, 1]
    weights: list[Floats] = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        weights += [
            rng.normal(0, math.sqrt(2 / fan_in), (fan_in, fan_out)),
            np.zeros(fan_out),
        ]
    first = [np.zeros_like(w) for w in weights]
    second = [np.zeros_like(w) for w in weights]
    step = 0
    for epoch in range(EPOCHS):
        order = rng.permutation(len(x))
        pace = 2e-3 * 0.5 * (1 + math.cos(math.pi * epoch / EPOCHS))
        for at in range(0, len(x), BATCH):
            rows = order[at : at + BATCH]
            layers: list[Floats] = [x[rows]]
            for layer in range(3):
                z = layers[-1] @ weights[2 * layer] + weights[2 * layer + 1]
                layers.append(z if layer == 2 else np.maximum(z, 0))
            delta = 2 * (layers[3] - y[rows, None]) / len(rows)
            gradients: list[Floats] = []
            for layer in (2, 1, 0):
                gradients = [layers[layer].T @ delta, delta.sum(0), *gradients]
                if layer:
                    delta = (delta @ weights[2 * layer].T) * (layers[layer] > 0)
            step += 1
            for i, gradient in enumerate(gradients):
                first[i] = 0.9 * first[i] + 0.1 * gradient
                second[i] = 0.999 * second[i] + 0.001 * gradient**2
                moment = first[i] / (1 - 0.9**step)
                size = np.sqrt(second[i] / (1 - 0.999**step))
                weights[i] = weights[i] - pace * moment / (size + 1e-8)
    return weights


def quantise(weights: list[Floats]) -> list[Integers]:
    """Rounds weights to 2^-12 (16 bits), biases to 2^-22."""
    whole = []
    for i, values in enumerate(weights):
        scaled = np.rint(values * (1 << (22 if i % 2 else 12))).astype(np.int64)
        whole.append(scaled if i % 2 else np.clip(scaled, -32768, 32767))
    return whole


def infer(x: Floats, centre: Integers, factor: Integers, whole: list[Integers]) -> Integers:
    """The output of the integer network, in 2^-10."""
    values = np.clip(((x.astype(np.int64) - centre) * factor) >> 10, -FAR, FAR)
    for layer in range(3):
        values = (values @ whole[2 * layer] + whole[2 * layer + 1]) >> 12
        if layer < 2:
            values = np.maximum(values, 0)
    answer: Integers = values[:, 0]
    return answer


def learn(starts: Starts, rng: np.random.Generator) -> Trained:
    """A network trained on ``starts``."""
    centre = np.rint(starts.x.mean(0)).astype(np.int64)
    # An input that never differs is ignored.
    spreads = starts.x.std(0)
    factor = np.zeros(len(spreads), dtype=np.int64)
    factor[spreads > 0] = np.rint((1 << 20) / spreads[spreads > 0]).astype(np.int64)
    middle, spread = round(starts.y.mean()), round(starts.y.std())
    scaled = np.clip((starts.x - centre) * factor / (1 << 20), -FAR / 1024, FAR / 1024)
    weights = train(scaled, (starts.y - middle) / spread, rng)
    return Trained(centre, factor, middle, spread, quantise(weights))


# --- its numbers in Rust --------------------------------------------------------------------------


def rust(name: str, values: Integers) -> str:
    """A field with one row of numbers per line."""
    if values.ndim == 1:
        return f"    {name}: [{', '.join(str(v) for v in values)}],\n"
    rows = "".join(f"        [{', '.join(str(v) for v in row)}],\n" for row in values.T)
    return f"    {name}: [\n{rows}    ],\n"


def write(trained: Trained, links: str, name: str) -> None:
    """Writes the numbers as a Rust file."""
    whole = trained.whole
    (FOLDER / f"{name}.rs").write_text(
        f"//! Weights trained on {links}. Written by\n"
        "//! `python/training/forecast.py`; do not edit.\n\n"
        "use super::Weights;\n\n"
        "pub(super) const WEIGHTS: Weights = Weights {\n"
        + rust("centre", trained.centre)
        + rust("factor", trained.factor)
        + f"    middle: {trained.middle},\n    spread: {trained.spread},\n"
        + rust("first", whole[0])
        + rust("first_bias", whole[1])
        + rust("second", whole[2])
        + rust("second_bias", whole[3])
        + rust("last", whole[4][:, 0])
        + f"    last_bias: {whole[5][0]},\n}};\n"
    )


def read(name: str) -> Trained:
    """The numbers of a Rust file."""
    text = (FOLDER / f"{name}.rs").read_text()
    found = re.findall(r"^    (\w+): (.*?),\n(?=    \w|\})", text, re.DOTALL | re.MULTILINE)
    field = {key: np.array(json.loads(re.sub(r",\s*\]", "]", value))) for key, value in found}
    whole = [
        field["first"].T, field["first_bias"], field["second"].T, field["second_bias"],
        field["last"][:, None], field["last_bias"][None],
    ]  # fmt: skip
    return Trained(
        field["centre"], field["factor"], int(field["middle"]), int(field["spread"]), whole
    )


# --- its error ------------------------------------------------------------------------------------


def error(trained: Trained, starts: Starts) -> tuple[float, float, float]:
    """The factor between forecast and rate, median and for 90 %, and the median forecast/rate."""
    signed = (trained.forecast(starts.x) - starts.y) / 256
    factors = [2 ** float(np.quantile(np.abs(signed), q)) for q in (0.5, 0.9)]
    return factors[0], factors[1], 2 ** float(np.median(signed))


def show(name: str, starts: Starts, networks: Sequence[Trained | None]) -> str:
    """A row of a table: the error of several networks on the same starts."""
    cells = []
    for each in networks:
        found = None if each is None else error(each, starts)
        cells.append("" if found is None else f"{found[0]:.2f}, {found[1]:.2f} ({found[2]:.2f})")
    return f"| {name} | {len(starts.y)} | {' | '.join(cells)} |\n"


def train_fixed() -> str:
    """Trains on links of constant rate alone; returns what to print."""
    rng = np.random.default_rng(SEED)
    starts = observe([constant(rng) for _ in range(STARTS_FIXED)], [1] * STARTS_FIXED)
    trained = learn(starts.part(slice(HELD_OUT_FIXED, None)), rng)
    write(trained, "links of constant rate", "fixed")
    held_out = starts.part(slice(None, HELD_OUT_FIXED))
    return "| links | starts | error |\n| --- | --- | --- |\n" + show(
        "held out", held_out, [trained]
    )


def train_varying() -> str:
    """Trains on all families; returns the tables of errors."""
    rng = np.random.default_rng(SEED + 1)
    families = {}
    for name, draw in FAMILIES.items():
        sys.stderr.write(f"{name} ...\n")
        families[name] = drawn(draw, STARTS, rng)
    held_out = {name: starts.part(slice(None, HELD_OUT)) for name, starts in families.items()}
    rest = {name: starts.part(slice(HELD_OUT, None)) for name, starts in families.items()}

    def without(left_out: str | None) -> Trained:
        sys.stderr.write(f"training without {left_out or 'none'} ...\n")
        parts = [starts for name, starts in rest.items() if name != left_out]
        return learn(joined(parts), np.random.default_rng(SEED + 2))

    trained = without(None)
    write(trained, "links of constant and of varying rate", "varying")
    fixed = read("fixed")
    text = (
        "| held-out starts | | `trained=fixed` | trained without them | `trained=varying` |\n"
        "| --- | --- | --- | --- | --- |\n"
    )
    for name, starts in held_out.items():
        text += show(name, starts, [fixed, without(name), trained])
    text += "\n| preset | | `trained=fixed` | `trained=varying` |\n| --- | --- | --- | --- |\n"
    for preset in PRESETS:
        network = Network(f'[path]\npreset = "{preset}"\n', most=1_200_000_000)
        # Seeds that no family has.
        seeds = range(1_000_001, 1_000_001 + PRESET_STARTS)
        text += show(f"`{preset}`", observe([network] * PRESET_STARTS, seeds), [fixed, trained])
    return text


def main() -> None:
    """Trains, writes the weights, and prints the error on other starts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--links", choices=("varying", "fixed"), default="varying")
    fixed = parser.parse_args().links == "fixed"
    sys.stdout.write(train_fixed() if fixed else train_varying())


if __name__ == "__main__":
    main()
