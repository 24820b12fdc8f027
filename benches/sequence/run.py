#!/usr/bin/env python3
"""Compares the points of the sequence panel with those of tcptrace and of tshark, on ten captures.

    python benches/sequence/run.py

The simulator writes the captures; two are written again, with sequence numbers that wrap and over
IPv6. tcptrace's graph (``-S``) has its points in a file for xplot. tshark prints the fields of each
packet and what it takes for a retransmission. A program that is not installed is left out, and a
line says so. Each cell is the number of points that agree, and of those that only we or only the
other has; ``-v`` prints the first of these. A FIN, which has a sequence number, and the window of
the SYN are left out. Our times are those of the sender, also where the capture is elsewhere; there,
only the bytes are compared.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slowstart._native import Scenario, analyze_file, write_capture

SHALLOW = 'rate = "40 Mbit/s"\nrtt = "70 ms"\nbuffer = "40 packets"'
FLOW = 'algorithm = "reno+standard"\nsize = "1 MB"'
_OUTAGE = """rate = [
    { for = "300 ms", rate = "40 Mbit/s" },
    { for = "3 s", rate = "0 bit/s" },
    { for = "60 s", rate = "40 Mbit/s" },
]
rtt = "70 ms"
buffer = "40 packets"
"""
# Name, keys of the path, keys of the flow, where it is captured, how it is written again.
CAPTURES = (
    ("no loss", 'preset = "wired"', 'algorithm = "cubic+hystart"\nsize = "1 MB"', "sender", ""),
    ("a shallow buffer", SHALLOW, FLOW, "sender", ""),
    ("the same at the receiver", SHALLOW, FLOW, "receiver", ""),
    ("the same between", SHALLOW, FLOW, "middle", ""),
    ("random loss of 5 %", f'{SHALLOW}\nloss = "5 %"', FLOW, "sender", ""),
    ("reordering", f'{SHALLOW}\nreordering = {{ probability = "2 %", delay = "8 ms" }}', FLOW,
     "sender", ""),
    ("a receive buffer of 20 kB", SHALLOW, f'{FLOW}\nreceive_buffer = "20 kB"', "sender", ""),
    ("an outage of 3 s", _OUTAGE, FLOW, "sender", ""),
    ("sequence numbers that wrap", SHALLOW, FLOW, "sender", "wrap"),
    ("IPv6", SHALLOW, FLOW, "sender", "ipv6"),
)  # fmt: skip
KINDS = ("new data", "retransmissions", "cumulative ACKs", "SACKed ranges", "window's edge")
_WRAP = 2**32
_BLOCK_OF_PACKET = 6
# The simulator's hosts, and where the sequence numbers of the sender begin in "wrap".
_DATA_PORT, _WRAP_AFTER = 49152, 500_000
# Colours of xplot that tcptrace draws with.
_COLORS = {"white", "red", "green", "purple", "yellow", "orange", "blue"}


@dataclass
class Points:
    """What a graph draws: microseconds since the SYN, and bytes of the stream."""

    sent: set[tuple[int, int]] = field(default_factory=set)
    retransmitted: set[tuple[int, int, int]] = field(default_factory=set)
    acked: set[tuple[int, int]] = field(default_factory=set)
    sacked: set[tuple[int, int, int]] = field(default_factory=set)
    edge: set[tuple[int, int]] = field(default_factory=set)
    names: Counter[str] = field(default_factory=Counter)
    """How many retransmissions tshark names so."""

    def drawn(self, *, timed: bool) -> list[set[tuple[int, ...]]]:
        """One set for each of :data:`KINDS`; without times, how often each comes."""
        sets = (self.sent, self.retransmitted, self.acked, self.sacked, self.edge)
        if timed:
            return [set(each) for each in sets]
        # A range may be sent several times.
        return [_counted([point[1:] for point in sorted(each)]) for each in sets]


def _counted(points: list[tuple[int, ...]]) -> set[tuple[int, ...]]:
    seen: Counter[tuple[int, ...]] = Counter()
    made = set()
    for each in points:
        seen[each] += 1
        made.add((*each, seen[each]))
    return made


def _again(block: bytes, how: str) -> bytes:
    """A packet's block with other sequence numbers, or over IPv6."""
    kind, _, _, _, _, size, _ = struct.unpack_from("<7I", block)
    if kind != _BLOCK_OF_PACKET:
        return block
    packet = bytearray(block[28 : 28 + size])
    options = block[28 + (size + 3) // 4 * 4 : -4]
    header = (packet[0] & 15) * 4
    full = struct.unpack_from(">H", packet, 2)[0] - header
    tcp = packet[header:]
    if how == "ipv6":
        grown = 40 - header
        packet = bytearray(struct.pack(">IHBB", 6 << 28, full, 6, 64))
        for address in (block[40:44], block[44:48]):
            packet += bytes.fromhex("20010db8") + bytes(8) + address
        packet += tcp
        captured, real = size + grown, struct.unpack_from("<I", block, 24)[0] + grown
        body = bytes(packet) + bytes(-captured % 4) + options
        length = 32 + len(body)
        head = struct.pack("<2I", kind, length) + block[8:20] + struct.pack("<2I", captured, real)
        return head + body + struct.pack("<I", length)
    is_data = struct.unpack_from(">H", tcp)[0] == _DATA_PORT
    places = [4 if is_data else 8]
    place, end = 20, (tcp[12] >> 4) * 4
    while not is_data and place < end and tcp[place]:
        length = 1 if tcp[place] == 1 else tcp[place + 1]
        if tcp[place] == 5:
            places += range(place + 2, place + length, 4)
        place += length
    delta = _WRAP - _WRAP_AFTER - 1_000_000_000
    for each in places:
        value = struct.unpack_from(">I", tcp, each)[0]
        struct.pack_into(">I", tcp, each, (value + delta) % _WRAP if value else 0)
    return block[:28] + bytes(packet[:header] + tcp) + block[28 + size :]


def rewrite(file: Path, how: str) -> None:
    """Writes a capture again: its sequence numbers wrap, or it is of IPv6."""
    data, made, place = file.read_bytes(), [], 0
    while place < len(data):
        length = struct.unpack_from("<I", data, place + 4)[0]
        made.append(_again(data[place : place + length], how))
        place += length
    file.write_bytes(b"".join(made))


class Covered:
    """Bytes that were SACKed, of which each draws only what is new."""

    def __init__(self) -> None:
        self.spans: list[tuple[int, int]] = []

    def add(self, begin: int, end: int) -> list[tuple[int, int]]:
        """The parts of a block that are new."""
        new, place = [], begin
        for low, high in self.spans:
            if low > place and place < end:
                new.append((place, min(low, end)))
            place = max(place, high) if low < end else place
        if place < end:
            new.append((place, end))
        merged: list[tuple[int, int]] = []
        for low, high in sorted([*self.spans, *new]):
            if merged and low <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
            else:
                merged.append((low, high))
        self.spans = merged
        return new


def _connection(file: Path, points: int) -> dict[str, Any]:
    (one,) = json.loads(analyze_file(file, points=points))["connections"]
    found: dict[str, Any] = one
    return found


def _size(file: Path) -> int:
    return int(_connection(file, 0)["bytes"])


def ours(file: Path) -> Points:
    """What the report draws, with every point."""
    one = _connection(file, 10**6)
    made, sent, acked, edge = Points(), 0, 0, None

    def micro(each: dict[str, float]) -> int:
        return round(each["time_s"] * 1e9) // 1000

    for each in one["series"]:
        at = micro(each)
        if each["sent_bytes"] > sent:
            sent = each["sent_bytes"]
            made.sent.add((at, sent))
        if each["acked_bytes"] > acked:
            acked = each["acked_bytes"]
            made.acked.add((at, acked))
        if each["receive_window_bytes"] is not None:
            now = each["acked_bytes"] + each["receive_window_bytes"]
            # The first is the window of the SYN.
            if edge is not None and now != edge:
                made.edge.add((at, now))
            edge = now
    for key in ("retransmitted", "sacked"):
        spans = one.get(key) or []
        setattr(made, key, {(micro(each), each["begin_bytes"], each["end_bytes"])
                            for each in spans})  # fmt: skip
    return made


def _sacks(blocks: list[tuple[int, int, int]]) -> set[tuple[int, int, int]]:
    covered, made = Covered(), set()
    for at, begin, end in blocks:
        made |= {(at, *new) for new in covered.add(begin, end)}
    return made


def tcptrace(file: Path) -> Points:
    """Arrows are segments, red ones retransmitted; green is the ACK, purple SACK, yellow window."""
    subprocess.run(  # noqa: S603
        ["tcptrace", "-n", "-S", str(file)],  # noqa: S607
        cwd=file.parent, check=True, capture_output=True,
    )  # fmt: skip
    made, color, begin, sent, blocks = Points(), "", 0, 0, []
    lines = (file.parent / "a2b_tsg.xpl").read_text().splitlines()
    words = [each.split() for each in lines]
    first = next(each[1] for each in words if each[0] == "diamond")
    base = next(int(each[2]) for each in words if each[0] == "diamond") + 1
    size = _size(file)

    def place(text: str) -> int:
        # tcptrace draws sequence numbers as they are, before and after they wrap.
        return (int(text) - base + _WRAP // 2) % _WRAP - _WRAP // 2

    def micro(text: str) -> int:
        return round((float(text) - float(first)) * 1e6)

    def drawn(at: int, end: int) -> None:
        nonlocal sent
        if end <= begin:
            return
        if color == "red":
            made.retransmitted.add((at, begin, end))
        elif end > sent:
            sent = end
            made.sent.add((at, end))

    for each in words:
        if len(each) == 1 and each[0] in _COLORS:
            color = each[0]
        elif each[0] == "darrow":
            begin = place(each[2])
        elif each[0] == "uarrow":
            drawn(micro(each[1]), place(each[2]))
        elif each[0] == "line" and len(each) == 5:
            at, low, to, high = micro(each[1]), place(each[2]), micro(each[3]), place(each[4])
            if at != to or low == high:
                continue
            data = min(high, size)
            if color == "green" and data > low:
                made.acked.add((at, data))
            elif color == "purple":
                blocks.append((at, low, data))
            elif color == "yellow":
                made.edge.add((at, high))
            elif low == begin and data > low:
                # Data with a FIN have no second arrow.
                drawn(at, data)
    made.sacked = _sacks(blocks)
    return made


_FIELDS = ("frame.time_epoch", "tcp.srcport", "tcp.seq", "tcp.len", "tcp.ack", "tcp.window_size",
           "tcp.flags.syn", "tcp.options.sack_le", "tcp.options.sack_re",
           "tcp.analysis.fast_retransmission", "tcp.analysis.spurious_retransmission",
           "tcp.analysis.out_of_order", "tcp.analysis.retransmission")  # fmt: skip
# What tshark calls data that it saw before, in the order of the last fields. A fast or spurious one
# is a retransmission, too, and the narrower name counts.
_NAMES = ("fast retransmission", "spurious retransmission", "out of order", "retransmission")


def tshark(file: Path) -> Points:
    """The fields of each packet, and what is taken for a retransmission."""
    program = ["tshark", "-r", str(file), "-T", "fields", "-E", "occurrence=a"]
    for name in _FIELDS:
        program += ["-e", name]
    text = subprocess.run(program, check=True, capture_output=True, text=True).stdout  # noqa: S603
    made, first, sent, acked, edge, blocks = Points(), None, 0, 0, None, []
    total = _size(file)
    for line in text.splitlines():
        time, port, seq, size, ack, window, syn, left, right, *again = line.split("\t")
        seconds, _, fraction = time.partition(".")
        nano = int(seconds) * 10**9 + int(fraction.ljust(9, "0"))
        first = nano if first is None else first
        at = nano // 1000 - first // 1000
        if int(port) == _DATA_PORT:
            begin, end = int(seq) - 1, int(seq) - 1 + int(size)
            if end > max(begin, sent):
                sent = end
                made.sent.add((at, end))
            if any(again) and int(size):
                made.retransmitted.add((at, begin, end))
                named = zip(_NAMES, again, strict=True)
                made.names[next(name for name, is_so in named if is_so)] += 1
            continue
        if syn in ("1", "True"):
            continue
        if min(int(ack) - 1, total) > acked:
            acked = min(int(ack) - 1, total)
            made.acked.add((at, acked))
        now = int(ack) - 1 + int(window)
        if now != edge:
            edge = now
            made.edge.add((at, edge))
        if left:
            pairs = zip(left.split(","), right.split(","), strict=True)
            blocks += [(at, int(low) - 1, int(high) - 1) for low, high in pairs]
    made.sacked = _sacks(blocks)
    return made


def main() -> None:
    """Prints the table, and what tshark calls the retransmissions."""
    tools = {"tcptrace": tcptrace, "tshark": tshark}
    for name in [each for each in tools if shutil.which(each) is None]:
        del tools[name]
        say(f"skipped: {name} is not installed")
    say("| capture | against |", " | ".join(KINDS), "|")
    say("| --- " * (len(KINDS) + 2) + "|")
    called: Counter[str] = Counter()
    for name, path, flow, place, how in CAPTURES:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "flow.pcapng"
            scenario = Scenario.from_toml(f"seed = 1\n[path]\n{path}\n[[flow]]\n{flow}\n")
            write_capture(scenario, file, run=0, vantages=[place])
            if how:
                rewrite(file, how)
            timed = place == "sender"
            here = ours(file).drawn(timed=timed)
            for tool, read in tools.items():
                other = read(file)
                called += other.names
                cells = []
                there = other.drawn(timed=timed)
                for kind, mine, theirs in zip(KINDS, here, there, strict=True):
                    one, two = mine - theirs, theirs - mine
                    cells.append(f"{len(mine & theirs)}, {len(one)}, {len(two)}")
                    if (one or two) and "-v" in sys.argv:
                        say(name, tool, kind, sorted(one)[:4], sorted(two)[:4])
                say(f"| {name} | {tool} |", " | ".join(cells), "|")
    say("tshark's names for them:", dict(called))


def say(*words: object) -> None:
    """One line."""
    print(*words, flush=True)  # noqa: T201


main()
