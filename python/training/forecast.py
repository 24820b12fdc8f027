"""Trains the neural network of the start-up `forecast` on simulated connection starts.

Run it in a checkout whose `slowstart` is installed, with numpy:

    python python/training/forecast.py

It writes `crates/congestion/src/startup/forecast/weights.rs`; run `cargo fmt` afterwards. One seed
determines all random numbers. The last bits of sums depend on the machine's linear algebra library,
so weights trained on another machine may differ in their last digits. The documentation of
`crates/congestion/src/startup/forecast/mod.rs` describes the numbers and the integer arithmetic
that uses them.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import polars as pl

import slowstart

SEED = 20220613
STARTS = 6000
HELD_OUT = 1000
ACKS = 20
HIDDEN = 32
EPOCHS = 120
BATCH = 64
FAR = 4096  # four standard deviations: inputs are clipped to this distance from the mean
SMSS = 1448
ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "crates/congestion/src/startup/forecast/weights.rs"

SCENARIO = """
[path]
rate = "{rate} bit/s"
rtt = "{rtt} us"
buffer = "{buffer} packets"
{jitter}
[[flow]]
algorithm = "cubic+standard"
size = "120 kB"
"""


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


def starts(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The features, and log2 of the rate in kbit/s (in 1/256), of simulated starts."""
    scenarios, rates = [], []
    for _ in range(STARTS):
        rate = int(10 ** rng.uniform(5.5, 8.7))
        rtt = int(10 ** rng.uniform(3.6, 5.9))
        buffer = int(10 ** rng.uniform(0.9, 3.3))
        jitter = rng.uniform() < 0.3
        scenarios.append(
            slowstart.Scenario.from_toml(
                SCENARIO.format(
                    rate=rate,
                    rtt=rtt,
                    buffer=buffer,
                    jitter=f'jitter = "{int(rtt * rng.uniform(0.005, 0.1))} us"' if jitter else "",
                )
            )
        )
        rates.append(rate)
    result = slowstart.run(scenarios, traces=True)
    inputs, targets = [], []
    for index, rate in enumerate(rates):
        trace = pl.DataFrame(result.select(index).flow_traces())
        trace = trace.filter((pl.col("acked_bytes") > 0) & pl.col("rtt_ms").is_not_null())
        trace = trace.filter(pl.col("ssthresh_bytes").is_null())[:ACKS]
        if len(trace) < ACKS:
            continue
        seconds = [round(t * 1e6) for t in trace["time_s"]]
        rtts = [round(rtt * 1e3) for rtt in trace["rtt_ms"]]
        times = [t - seconds[0] for t in seconds]
        last = trace[-1]
        acked = last["acked_bytes"][0] // SMSS
        in_flight = last["in_flight_bytes"][0] // SMSS
        inputs.append(features(rtts, times, acked, in_flight))
        targets.append(log2(rate // 1000))
    return np.array(inputs, dtype=float), np.array(targets, dtype=float)


def train(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Trains two hidden layers with ReLU by Adam, on the squared error of the scaled logarithm."""
    sizes = [x.shape[1], HIDDEN, HIDDEN, 1]
    weights: list[np.ndarray] = []
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
            layers = [x[rows]]
            for layer in range(3):
                z = layers[-1] @ weights[2 * layer] + weights[2 * layer + 1]
                layers.append(z if layer == 2 else np.maximum(z, 0))
            delta = 2 * (layers[3] - y[rows, None]) / len(rows)
            gradients: list[np.ndarray] = []
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
                weights[i] -= pace * moment / (size + 1e-8)
    return weights


def quantise(weights: list[np.ndarray]) -> list[np.ndarray]:
    """Rounds weights to 2^-12 (16 bits), biases to 2^-22."""
    whole = []
    for i, values in enumerate(weights):
        scaled = np.rint(values * (1 << (22 if i % 2 else 12))).astype(np.int64)
        whole.append(scaled if i % 2 else np.clip(scaled, -32768, 32767))
    return whole


def infer(
    x: np.ndarray, centre: np.ndarray, factor: np.ndarray, whole: list[np.ndarray]
) -> np.ndarray:
    """The output of the integer network, in 2^-10."""
    values = np.clip(((x.astype(np.int64) - centre) * factor) >> 10, -FAR, FAR)
    for layer in range(3):
        values = (values @ whole[2 * layer] + whole[2 * layer + 1]) >> 12
        if layer < 2:
            values = np.maximum(values, 0)
    return values[:, 0]


def rust(name: str, kind: str, values: np.ndarray) -> str:
    """A Rust constant with one row of numbers per line."""
    if values.ndim == 1:
        rows = [", ".join(str(v) for v in values)]
        declared = f"[{kind}; {len(values)}]"
    else:
        rows = ["[" + ", ".join(str(v) for v in row) + "]" for row in values.T]
        declared = f"[[{kind}; {values.shape[0]}]; {values.shape[1]}]"
    body = "".join(f"    {row},\n" for row in rows)
    return f"pub(super) const {name}: {declared} = [\n{body}];\n"


def main() -> None:
    """Trains, reports the error on held-out starts, and writes the weights."""
    rng = np.random.default_rng(SEED)
    x, y = starts(rng)
    centre = np.rint(x[HELD_OUT:].mean(0)).astype(np.int64)
    factor = np.rint((1 << 20) / x[HELD_OUT:].std(0)).astype(np.int64)
    middle, spread = round(y[HELD_OUT:].mean()), round(y[HELD_OUT:].std())
    scaled = np.clip((x - centre) * factor / (1 << 20), -FAR / 1024, FAR / 1024)
    weights = train(scaled[HELD_OUT:], (y[HELD_OUT:] - middle) / spread, rng)
    whole = quantise(weights)
    forecast = middle + ((infer(x, centre, factor, whole) * spread) >> 10)
    error = np.abs(forecast - y)[:HELD_OUT] / 256
    quantiles = [2 ** float(np.quantile(error, q)) for q in (0.5, 0.9, 0.99)]
    said = ", ".join(f"{q:.2f}" for q in quantiles)
    print(f"{len(x)} starts; factor between forecast and rate, median, 90 %, 99 %: {said}")  # noqa: T201
    text = (
        "//! Written by `python/training/forecast.py`; do not edit. On starts that it was not\n"
        f"//! trained with, the factor between forecast and rate is {quantiles[0]:.2f} in the\n"
        f"//! median and {quantiles[1]:.2f} for 90 % ({len(x)} starts in all).\n\n"
        f"pub(super) const INPUTS: usize = {x.shape[1]};\n"
        f"pub(super) const HIDDEN: usize = {HIDDEN};\n"
        "/// For each input: its mean, which is subtracted, and its scale factor in 2^-20.\n"
        + rust("CENTRE", "i64", centre)
        + rust("FACTOR", "i64", factor)
        + "/// Mean and standard deviation of the output, in 1/256 of log2 of kbit/s.\n"
        f"pub(super) const MIDDLE: i64 = {middle};\npub(super) const SPREAD: i64 = {spread};\n"
        + "/// Weights of each neuron in 2^-12, biases in 2^-22.\n"
        + rust("FIRST", "i16", whole[0])
        + rust("FIRST_BIAS", "i64", whole[1])
        + rust("SECOND", "i16", whole[2])
        + rust("SECOND_BIAS", "i64", whole[3])
        + rust("LAST", "i16", whole[4][:, 0])
        + f"pub(super) const LAST_BIAS: i64 = {whole[5][0]};\n"
    )
    TARGET.write_text(text)


if __name__ == "__main__":
    main()
