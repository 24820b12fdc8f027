"""The normalized difference of SEARCH, in closed form and from time series; RTT spectra.

The closed forms are equations 4.1 to 4.3 of Kachooei 2024, extended to all times, with a constant
RTT as in the thesis or with the queue that slow start builds. The unit of time is one base RTT, the
unit of data is one BDP, and at time 0 the rate of ACKs reaches that of the bottleneck.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

WINDOW, BINS = 3.5, 10
LN2 = math.log(2)

# --- closed forms --------------------------------------------------------------------------------


def delivered(time: Values) -> Values:
    """Data acknowledged: it doubles each RTT until time 0, then grows at capacity."""
    return np.where(time <= 0, np.exp2(np.minimum(time, 0)) / LN2, 1 / LN2 + time)


def sent_at(time: Values) -> Values:
    """The send time of data acknowledged at ``time``, if slow start fills an unbounded queue."""
    early = np.log2(1 + np.maximum(time, 0) * LN2) - 1
    queued = np.where(time <= 1 / LN2, early, (time - 1 / LN2) / 2)
    return np.where(time <= 0, time - 1, queued)


def norm(time: Values, window: float = WINDOW, *, queue: bool = False) -> Values:
    """The normalized difference; with ``queue`` the look-back RTT includes the flow's queue."""
    before = sent_at(time) if queue else time - 1
    current = delivered(time) - delivered(time - window)
    return 1 - current / (2 * (delivered(before) - delivered(before - window)))


def crossing(threshold: float, window: float = WINDOW, *, queue: bool = False) -> float:
    """The time at which the normalized difference reaches ``threshold``, else infinity."""
    time = np.linspace(0, 20, 200_001)
    there = norm(time, window, queue=queue) >= threshold
    return float(time[int(np.argmax(there))]) if there.any() else math.inf


def loss_seen(buffer: Values) -> Values:
    """The time at which the sender detects the first loss; ``buffer`` is in BDP (at least 0.44)."""
    return 2 * buffer + 2 - 1 / LN2


# --- from time series ---------------------------------------------------------------------------


def numbers(rows: pl.DataFrame, column: str) -> Values:
    """A column."""
    return rows[column].cast(pl.Float64).to_numpy()


def measured_norm(
    series: pl.DataFrame,
    times: Values,
    window_s: float,
    rtt_s: float | None = None,
    *,
    of_sent: bool = False,
) -> tuple[Values, Values, Values]:
    """At ``times``: delivered in the window, expected there, and the normalized difference.

    Args:
        series: The time series of a flow.
        times: In seconds; the result is NaN where the older window does not fit.
        window_s: The length of the window.
        rtt_s: A constant look-back; by default the current RTT sample.
        of_sent: Expect the data sent one RTT before (version 1.0); by default twice the data
            delivered then (version 2.0).
    """
    rows = series.with_columns(pl.col("rtt_ms").forward_fill()).drop_nulls("rtt_ms")
    time, acked = numbers(rows, "time_s"), numbers(rows, "acked_bytes")
    sent = np.maximum.accumulate(acked + numbers(rows, "in_flight_bytes"))
    place = np.clip(np.searchsorted(time, times, side="right") - 1, 0, len(time) - 1)
    back = numbers(rows, "rtt_ms")[place] / 1e3 if rtt_s is None else np.full(len(times), rtt_s)

    def until(counts: Values, end: Values) -> Values:
        last = np.searchsorted(time, end, side="right") - 1
        return np.where(last >= 0, counts[np.maximum(last, 0)], 0.0)

    def between(counts: Values, end: Values) -> Values:
        return until(counts, end) - until(counts, end - window_s)

    current = between(acked, times)
    expected = between(sent, times - back) if of_sent else 2 * between(acked, times - back)
    fits = (times - back - window_s >= time[0]) & (expected > 0)
    difference = np.full(len(times), np.nan)
    difference[fits] = 1 - current[fits] / expected[fits]
    return current, expected, difference


def norm_of_bins(series: pl.DataFrame, bounds: Values) -> Values:
    """The normalized difference at the ends of bins, from the data delivered in each bin."""
    rows = series.with_columns(pl.col("rtt_ms").forward_fill()).drop_nulls("rtt_ms")
    time, acked = numbers(rows, "time_s"), numbers(rows, "acked_bytes")
    place = np.clip(np.searchsorted(time, bounds, side="right") - 1, 0, len(time) - 1)
    total, back = acked[place], numbers(rows, "rtt_ms")[place] / 1e3 / (bounds[1] - bounds[0])
    found = np.full(len(bounds), np.nan)
    for index in range(len(bounds)):
        last = index - int(back[index])
        rest = back[index] % 1
        if last < BINS + 1:
            continue
        newer, older = total[last] - total[last - BINS], total[last - 1] - total[last - BINS - 1]
        expected = 2 * ((1 - rest) * newer + rest * older)
        if expected > 0:
            found[index] = 1 - (total[index] - total[index - BINS]) / expected
    return found


def spectrum(time: Values, rtt: Values, end: float) -> tuple[Values, Values] | None:
    """Frequencies in Hz and amplitudes of an RTT until ``end``; ``None`` if it is too short.

    The RTT is resampled at 64 points or more, linearly detrended, windowed (Hann) and zero-padded.
    """
    inside = time <= end
    time, rtt = time[inside], rtt[inside]
    if len(time) < 16:
        return None
    step = max(0.001, (time[-1] - time[0]) / 2000)
    regular = np.arange(time[0], time[-1], step)
    values = np.interp(regular, time, rtt)
    if len(values) < 64:
        return None
    values = values - np.polyval(np.polyfit(regular, values, 1), regular)
    size = 8 * len(values)
    amplitude = np.abs(np.fft.rfft(values * np.hanning(len(values)), size)) / len(values)
    return np.fft.rfftfreq(size, step), amplitude
