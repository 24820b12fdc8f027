#!/usr/bin/env python3
"""A worker in Python: the smallest transport that slowstart measures, and the protocol of workers.

    slowstart check-stack "worker: python3 worker.py"
    slowstart compare wired -a own --stack "worker: python3 worker.py" --size 1MB

The client sends numbered packets of data and the server acknowledges each one. The window doubles
each round trip and is halved by a loss; it then grows by one packet each round trip. The lowest
packet without an ACK is lost if one was acknowledged that left three packets later. Nothing is
negotiated: the first packet is a hello. docs/reference/stack-interface.md describes the protocol.
"""

from __future__ import annotations

import struct
import sys
from typing import BinaryIO

NONE = 2**64 - 1
HELLO, WELCOME, DATA, ACK = range(4)
HEADER = struct.Struct("<BQQB")  # kind, packet number, offset in the stream, whether it is the last
MILLISECOND = 1_000_000


class Endpoint:
    """One end of a connection. Times are nanoseconds."""

    def __init__(self, now: int, is_client: bool, initial_window: int, datagram: int) -> None:
        """A client begins to connect at ``now``."""
        self.is_client, self.datagram = is_client, datagram
        self.out: list[bytes] = []
        self.deadline = NONE
        self.established = self.finished = False
        self.received = self.sent = self.lost = self.timeouts = self.acked = 0
        self.window, self.threshold = initial_window * datagram, NONE
        self.rtt = NONE
        self.smoothed = 500 * MILLISECOND
        self.number = self.offset = self.written = self.largest = self.recovery = 0
        self.is_last = self.sent_last = False
        self.flight: dict[int, tuple[int, int, int, bool]] = {}
        self.again: list[tuple[int, int, bool]] = []
        self.gaps: dict[int, int] = {}
        self.length: int | None = None
        if is_client:
            self.hello(now)

    def hello(self, now: int) -> None:
        """Opens the connection, or tries again."""
        self.out.append(HEADER.pack(HELLO, 0, 0, 0))
        self.deadline = now + 2 * self.smoothed
        self.smoothed = min(2 * self.smoothed, 10_000 * MILLISECOND)

    def receive(self, now: int, data: bytes) -> None:
        """A datagram arrived."""
        if len(data) < HEADER.size:
            return
        kind, number, offset, last = HEADER.unpack_from(data)
        if kind == HELLO and not self.is_client:
            self.established = True
            self.out.append(HEADER.pack(WELCOME, 0, 0, 0))
        elif kind == WELCOME and self.is_client and not self.established:
            self.established = True
            self.smoothed = 100 * MILLISECOND
            self.deadline = NONE
        elif kind == DATA and self.established and not self.is_client:
            self.out.append(HEADER.pack(ACK, number, 0, 0))
            end = offset + len(data) - HEADER.size
            self.gaps[offset] = max(self.gaps.get(offset, 0), end)
            self.length = end if last else self.length
            while self.received in self.gaps:
                begin = self.received
                self.received = max(begin, self.gaps.pop(begin))
                if begin == self.received:
                    break
            self.finished = self.received == self.length
        elif kind == ACK and number in self.flight:
            self.acknowledge(now, number)

    def acknowledge(self, now: int, number: int) -> None:
        """A packet arrived at the server."""
        was_full = self.in_flight() + self.datagram > self.window
        sent, begin, end, _ = self.flight.pop(number)
        size = end - begin + HEADER.size
        self.acked += size
        self.rtt = now - sent
        self.smoothed += (self.rtt - self.smoothed) // 8
        self.largest = max(self.largest, number)
        if was_full and number >= self.recovery:
            in_slow_start = self.window < self.threshold
            self.window += size if in_slow_start else self.datagram * size // self.window
        for each in [each for each in self.flight if each + 3 <= self.largest]:
            self.lose(each)
        self.deadline = now + 3 * self.smoothed if self.flight else NONE

    def lose(self, number: int) -> None:
        """A packet is lost: its data leave again."""
        _, begin, end, last = self.flight.pop(number)
        self.again.append((begin, end, last))
        self.lost += 1
        if number >= self.recovery:
            self.window = self.threshold = max(self.window // 2, 2 * self.datagram)
            self.recovery = self.number

    def expire(self, now: int) -> None:
        """The deadline has come."""
        if self.deadline > now:
            return
        self.deadline = NONE
        if not self.established:
            self.hello(now)
        elif self.flight:
            for each in list(self.flight):
                self.lose(each)
            self.window = 2 * self.datagram
            self.timeouts += 1
            self.smoothed = min(2 * self.smoothed, 10_000 * MILLISECOND)

    def application(self, act: int, count: int) -> None:
        """The application writes (3), writes and ends (4), or stops (5)."""
        self.written = self.offset if act == 5 else self.written + count
        self.is_last = act != 3

    def in_flight(self) -> int:
        """Bytes that were sent and neither acknowledged nor lost."""
        return sum(end - begin + HEADER.size for _, begin, end, _ in self.flight.values())

    def transmit(self, now: int) -> list[bytes]:
        """Every datagram that leaves now."""
        out, self.out = self.out, []
        flying = self.in_flight()
        while self.is_client and self.established and flying + self.datagram <= self.window:
            if self.again:
                begin, end, last = self.again.pop(0)
            else:
                begin = self.offset
                end = min(self.written, begin + self.datagram - HEADER.size)
                last = self.is_last and end == self.written
                if self.sent_last or (begin == end and not last):
                    break
                self.offset, self.sent_last = end, last
            self.flight[self.number] = (now, begin, end, last)
            out.append(HEADER.pack(DATA, self.number, begin, last) + bytes(end - begin))
            self.number += 1
            self.sent += 1
            flying += end - begin + HEADER.size
            if self.deadline == NONE:
                self.deadline = now + 3 * self.smoothed
        return out

    def answer(self, now: int) -> bytes:
        """The answer to a request: deadline, state and datagrams."""
        datagrams = self.transmit(now)
        flags = self.established | self.finished << 1
        counters = (self.received, self.sent, self.lost, self.timeouts, self.acked)
        state = (*counters, self.window, self.threshold, self.in_flight(), self.rtt)
        self.rtt = NONE
        head = struct.pack("<BQB9QHI", 3, self.deadline, flags, *state, 0, len(datagrams))
        return head + b"".join(struct.pack("<BI", 0, len(each)) + each for each in datagrams)


def text(words: str) -> bytes:
    """A text of the protocol."""
    return struct.pack("<H", len(words.encode())) + words.encode()


def turn(endpoint: Endpoint, message: bytes) -> bytes:
    """Answers the events of a turn."""
    now, events = struct.unpack_from("<QI", message, 5)
    at = 17
    for _ in range(events):
        event = message[at]
        if event == 1:
            (length,) = struct.unpack_from("<I", message, at + 2)
            endpoint.receive(now, message[at + 6 : at + 6 + length])
            at += 6 + length
        elif event == 2:
            endpoint.expire(now)
            at += 1
        else:
            endpoint.application(event, struct.unpack_from("<Q", message, at + 1)[0])
            at += 9
    return endpoint.answer(now)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers requests until there are no more."""
    endpoints: dict[int, Endpoint] = {}
    while length := requests.read(4):
        message = requests.read(int.from_bytes(length, "little"))
        if message[0] == 1:
            answer = struct.pack("<BI", 1, 1) + text("python-example") + text("1.0")
            answer += text("newreno")
        elif message[0] == 2:
            number, now, is_client = struct.unpack_from("<IQB", message, 1)
            window, datagram = struct.unpack_from("<II", message, 18)
            endpoints[number] = Endpoint(now, bool(is_client), window, datagram)
            answer = endpoints[number].answer(now)
        else:
            (number,) = struct.unpack_from("<I", message, 1)
            answer = turn(endpoints[number], message)
        answers.write(struct.pack("<I", len(answer)) + answer)
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
