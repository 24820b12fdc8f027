"""Makes large inputs for a census, from simulated flows.

    make.py capture FILE.pcap --connections 1000000     many connections at one server
    make.py archives FOLDER --connections 20000         tcp-info, one file each, in .tgz files
    make.py scan FILE.pcap --connections 1000000        SYNs without answers

Short flows are simulated once. Each connection repeats one of them with a client address and a
start of its own. Packets have 96 bytes, as a capture with that snap length, in the order of their
times. Equal arguments give equal bytes.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import io
import json
import struct
import subprocess
import tarfile
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np

SNAP, RECORD, IP = 96, 16 + 96, 16  # bytes of a packet, with its header, and where IP begins
CHUNK = 4096
EPOCH_S = 1_790_000_000
SIZES = ("3 kB", "10 kB", "14 kB", "30 kB", "60 kB", "100 kB")
STARTUPS = ("cubic+hystart", "reno+standard", "cubic+search", "bbr")
PATHS = ("wired", "geo", "lte", "wifi-strong")


def scenarios(sizes: tuple[str, ...] = SIZES) -> list[str]:
    """One scenario per path, with a flow for each size and start-up, one after another."""
    made = []
    for path in PATHS:
        text = f'[path]\npreset = "{path}"\n'
        for place, size in enumerate(sizes):
            for other, startup in enumerate(STARTUPS):
                begin = 20 * (place * len(STARTUPS) + other)
                text += f'[[flow]]\nalgorithm = "{startup}"\nsize = "{size}"\nstart = "{begin} s"\n'
        made.append(text)
    return made


def packets(file: Path) -> list[tuple[int, int, bytes]]:
    """Time in nanoseconds, length and bytes of each packet of a capture of ``slowstart export``."""
    data, at, found = file.read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:  # Enhanced Packet Block
            _, high, low, kept, whole = struct.unpack_from("<IIIII", data, at + 8)
            found.append((high << 32 | low, whole, data[at + 28 : at + 28 + kept]))
        at += length
    return found


def closing(flow: list[tuple[int, int, bytes]]) -> list[tuple[int, int, bytes]]:
    """A FIN of each host, which the simulator does not send."""
    made: list[tuple[int, int, bytes]] = []
    source, end = flow[0][2][12:16], 0
    for from_sender in (True, False):
        mine = [each for each in flow if (each[2][12:16] == source) == from_sender]
        time, _, last = max(mine, key=lambda each: struct.unpack_from(">I", each[2], 24))
        whole, header = struct.unpack_from(">H", last, 2)[0], 20 + (last[32] >> 4) * 4
        packet = bytearray(last[:header])
        seq = struct.unpack_from(">I", last, 24)[0] + whole - header
        struct.pack_into(">H", packet, 2, header)
        struct.pack_into(">I", packet, 24, seq & 0xFFFFFFFF)
        if from_sender:  # it has all that the client sent
            struct.pack_into(">I", packet, 28, struct.unpack_from(">I", mine[-1][2], 28)[0])
        else:
            struct.pack_into(">I", packet, 28, (end + 1) & 0xFFFFFFFF)
        end, packet[33] = seq, 0x11  # FIN, ACK
        made.append((max(flow[-1][0], time) + 1_000_000 * len(made) + 1000, header, bytes(packet)))
    return made


def templates() -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each flow: times, records of the pcap file, and which packets the client sends."""
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(scenarios()):
            source, file = Path(folder) / f"{number}.toml", Path(folder) / f"{number}.pcapng"
            source.write_text(text)
            command = ["slowstart", "export", source, "--vantage", "sender", "-o", file]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
            flows: dict[int, list[tuple[int, int, bytes]]] = {}
            for packet in packets(file):
                flows.setdefault(max(struct.unpack_from(">HH", packet[2], 20)), []).append(packet)
            for flow in flows.values():
                flow += closing(flow)
                times = np.array([each[0] for each in flow])
                records = np.zeros((len(flow), RECORD), np.uint8)
                for row, (_, whole, kept) in zip(records, flow, strict=True):
                    content = bytes(kept)[:SNAP]
                    row[8:16] = np.frombuffer(struct.pack("<II", SNAP, max(whole, SNAP)), np.uint8)
                    row[IP : IP + len(content)] = np.frombuffer(content, np.uint8)
                # The sender is the host that opens; its peer gets the addresses of the clients.
                client = records[:, IP + 12 : IP + 16].tobytes()
                first = client[:4]
                sends = np.array([client[4 * i : 4 * i + 4] != first for i in range(len(flow))])
                made.append((times - times[0], records, sends))
    return made


def capture(file: Path, connections: int, seconds: float) -> None:
    """Writes a capture of ``connections`` connections that begin within ``seconds``."""
    known, random = templates(), np.random.default_rng(1)
    starts = np.sort(random.integers(0, int(seconds * 1e9), connections))
    which = random.integers(0, len(known), connections)
    held_times, held = np.zeros(0, np.int64), np.zeros((0, RECORD), np.uint8)
    with file.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAP, 101))
        for begin in range(0, connections, CHUNK):
            numbers = np.arange(begin, min(begin + CHUNK, connections))
            times, rows = [held_times], [held]
            for template in np.unique(which[numbers]):
                mine = numbers[which[numbers] == template]
                offsets, records, sends = known[template]
                block = np.broadcast_to(records, (len(mine), *records.shape)).copy()
                address = (mine + (11 << 24)).astype(">u4").view(np.uint8).reshape(-1, 1, 4)
                block[:, sends, IP + 12 : IP + 16] = address
                block[:, ~sends, IP + 16 : IP + 20] = address
                times.append((starts[mine][:, None] + offsets).ravel())
                rows.append(block.reshape(-1, RECORD))
            all_times, all_rows = np.concatenate(times), np.concatenate(rows)
            order = np.argsort(all_times, kind="stable")
            all_times, all_rows = all_times[order], all_rows[order]
            end = begin + CHUNK
            until = starts[end] if end < connections else np.iinfo(np.int64).max
            ready = int(np.searchsorted(all_times, until))
            stamp = all_times[:ready, None] // np.array([10**9, 1]) % np.array([2**32, 10**9])
            stamp[:, 0] += EPOCH_S
            all_rows[:ready, :8] = stamp.astype("<u4").view(np.uint8).reshape(-1, 8)
            out.write(all_rows[:ready].tobytes())
            held_times, held = all_times[ready:], all_rows[ready:]


def scan(file: Path, connections: int) -> None:
    """Writes SYNs of one host to as many addresses, 100,000 a second."""
    _, records, _ = templates()[0]
    with file.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAP, 101))
        for begin in range(0, connections, CHUNK):
            numbers = np.arange(begin, min(begin + CHUNK, connections))
            block = np.broadcast_to(records[0], (len(numbers), RECORD)).copy()
            block[:, IP + 16 : IP + 20] = (
                (numbers + (11 << 24)).astype(">u4").view(np.uint8).reshape(-1, 4)
            )
            stamp = np.stack((EPOCH_S + numbers // 100_000, numbers % 100_000 * 10_000), 1)
            block[:, :8] = stamp.astype("<u4").view(np.uint8).reshape(-1, 8)
            out.write(block.tobytes())


def tcp_info(flow: list[dict[str, float]], number: int, start: datetime) -> bytes:
    """The archive of one connection: a line per snapshot, as m-lab/tcp-info writes it."""
    peer = (11 << 24) + number
    socket = struct.pack(">BBBBHH4s12x4s12x", 2, 1, 0, 0, 443, 49152, bytes([10, 77, 0, 1]),
                         peer.to_bytes(4, "big"))  # fmt: skip
    socket = base64.b64encode(socket.ljust(72, b"\0")).decode()
    head = {"UUID": f"synthetic_{number}", "Sequence": 0}
    lines = [json.dumps({"Metadata": head, "Timestamp": "0001-01-01T00:00:00Z"})]
    mss, acked_before = 1448, 0.0
    for each in flow:
        info = bytearray(232)
        threshold = each["ssthresh_bytes"]
        window = int(each["cwnd_bytes"] or 0) // mss
        struct.pack_into("<I", info, 16, mss)
        struct.pack_into("<I", info, 24, int(each["in_flight_bytes"]) // mss)
        struct.pack_into("<I", info, 68, int((each["rtt_ms"] or 0) * 1e3))
        least = 0x7FFFFFFF if threshold is None else min(int(threshold) // mss, 0x7FFFFFFF)
        struct.pack_into("<II", info, 76, least, window)
        acked_before = max(acked_before, each["acked_bytes"])
        struct.pack_into("<Q", info, 120, int(acked_before))
        struct.pack_into("<I", info, 148, int((each["rtt_ms"] or 0) * 1e3))
        attributes = [None, None, base64.b64encode(info).decode(), None, "Y3ViaWMA"]
        at = start + timedelta(seconds=each["time_s"])
        lines.append(json.dumps({
            "Timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "RawIDM": socket,
            "Attributes": attributes}))  # fmt: skip
    return gzip.compress(("\n".join(lines) + "\n").encode(), 1, mtime=0)


def archives(folder: Path, connections: int, each: int) -> None:
    """Writes ``connections`` archives of snapshots every 10 ms, ``each`` to a .tgz file."""
    import polars as pl

    import slowstart

    flows = []
    for text in scenarios(("60 kB", "300 kB", "1 MB")):
        traces = pl.DataFrame(
            slowstart.run(slowstart.Scenario.from_toml(text), traces=True).flow_traces()
        )
        for _, flow in traces.group_by("flow", maintain_order=True):
            tick = (pl.col("time_s") * 100).floor().alias("tick")
            sampled = flow.with_columns(tick).unique("tick", keep="last", maintain_order=True)
            flows.append(sampled.to_dicts())
    folder.mkdir(parents=True)
    random, begin = np.random.default_rng(1), datetime.fromtimestamp(EPOCH_S, timezone.utc)
    for first in range(0, connections, each):
        with tarfile.open(folder / f"{first // each:05}.tgz", "w:gz", compresslevel=1) as out:
            for number in range(first, min(first + each, connections)):
                flow = flows[int(random.integers(len(flows)))]
                content = tcp_info(flow, number, begin + timedelta(milliseconds=number))
                member = tarfile.TarInfo(f"2026/09/{number:08}.00000.jsonl.gz")
                member.size = len(content)
                out.addfile(member, io.BytesIO(content))


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("capture", "archives", "scan"))
    parser.add_argument("target", type=Path)
    parser.add_argument("--connections", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=1000.0, help="new connections per second")
    parser.add_argument("--each", type=int, default=5000, help="connections per .tgz file")
    given = parser.parse_args()
    if given.kind == "capture":
        capture(given.target, given.connections, given.connections / given.rate)
    elif given.kind == "scan":
        scan(given.target, given.connections)
    else:
        archives(given.target, given.connections, given.each)


if __name__ == "__main__":
    main()
