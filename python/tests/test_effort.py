"""The implementation effort of router support that ``fast-startup`` shows: counted in the source.

``SLOWSTART_SNAPSHOT=write`` writes the counts of the checkout into the study's folder. An installed
package has the counts without the source; the tests then skip.
"""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slowstart.studies.analysis import load_analysis
from slowstart.studies.catalogue import FOLDERS

ROOT = Path(__file__).resolve().parents[2]
CRATES = ROOT / "crates"
EFFORT = FOLDERS / "fast-startup" / "effort.csv"
SCHEMES = ("Quick-Start", "RCP", "XCP")
_SENDERS = {
    "Quick-Start": ("congestion/src/startup/quick_start.rs", "tcp/src/quick_start.rs"),
    "RCP": ("congestion/src/monolithic/rcp.rs",),
    "XCP": ("congestion/src/monolithic/xcp.rs",),
}
_ROUTERS = {
    "Quick-Start": "network/src/router/quick_start.rs",
    "RCP": "network/src/router/rcp.rs",
    "XCP": "network/src/router/xcp.rs",
}
# The structs that hold the state of a flow at its sender, and of a router.
_FLOW = {
    "Quick-Start": ("QuickStart", "Request"),
    "RCP": ("Rcp",),
    "XCP": ("Xcp",),
}
_LINK = {
    "Quick-Start": ("QuickStartRouter",),
    "RCP": ("RcpRouter",),
    "XCP": ("XcpRouter", "Control"),
}
_HEADERS = {
    "Quick-Start": ("RateRequest", "RateResponse", "RateReport"),
    "RCP": ("Rcp", "RcpEcho"),
    "XCP": ("Xcp", "XcpEcho"),
}
_HEADER_TYPES = {"Quick-Start": ("RateCode", "Nonce"), "RCP": (), "XCP": ()}
_FEEDBACK = "units/src/feedback.rs"
_SHARED = (
    "network/src/router/mod.rs", "tcp/src/receiver/echo.rs", "tcp/src/sender/feedback.rs",
)  # fmt: skip
# Fields of these types are no state of the scheme's own: settings, the ordinary congestion control,
# and structs whose fields are counted.
_NOT_OWN = re.compile(r"\b(\w+Config|Ordinary|Limited|Request|Control)\b")
# A field of such a type can hold an entry for each flow.
_GROWS = re.compile(r"\b(Vec|VecDeque|BTreeMap|HashMap|BTreeSet|HashSet|Slab)\b")

needs_source = pytest.mark.skipif(
    not (CRATES / _FEEDBACK).is_file(), reason="needs the Rust source of a checkout"
)


def code(text: str) -> list[str]:
    """The lines of code: without blank lines, comments and the module of tests."""
    text = text.partition("#[cfg(test)]\nmod tests")[0]
    lines = (re.sub(r"\s*//.*", "", line) for line in text.splitlines())
    return [line for line in lines if line.strip()]


def read(file: str) -> list[str]:
    return code((CRATES / file).read_text(encoding="utf-8"))


def item(lines: list[str], head: str) -> list[str]:
    """The lines of the item whose first line begins with ``head`` and ends with a brace."""
    starts = [
        at
        for at, line in enumerate(lines)
        if line.startswith(head) and line.endswith("{") and not line[len(head)].isalnum()
    ]
    assert len(starts) == 1, f"{head}: {len(starts)} items"
    end = next(at for at in range(starts[0], len(lines)) if lines[at] == "}")
    return lines[starts[0] : end + 1]


def fields(lines: list[str], struct: str) -> list[str]:
    """The fields of a struct, with their types."""
    head = next(
        (each for each in (f"pub struct {struct}", f"pub(crate) struct {struct}",
                           f"struct {struct}") if any(x.startswith(each + " {") for x in lines)),
        "",
    )  # fmt: skip
    if not head:
        return []
    found = [line for line in item(lines, head) if re.match(r"    (pub )?\w+: .+,$", line)]
    assert found, struct
    return found


def hooks(lines: list[str]) -> int:
    """The functions of the transport's contracts that a sender implements."""
    impls = [line for line in lines if re.match(r"impl \w+ for \w+ \{", line)]
    return sum(
        line.startswith("    fn ")
        for each in impls
        for line in item(lines, each.removesuffix(" {"))
    )


def header_fields(scheme: str) -> list[str]:
    text = "\n".join(item(read(_FEEDBACK), "pub enum Feedback"))
    found: list[str] = []
    for variant in _HEADERS[scheme]:
        match = re.search(rf"\n    {variant} \{{\n(.*?)\n    \}},", text, re.DOTALL)
        assert match is not None, variant
        found += match[1].splitlines()
    return found


def header_bytes(scheme: str) -> int:
    """What a packet with the scheme's header is longer by."""
    text = "\n".join(item(read(_FEEDBACK), "impl Feedback"))
    arms = re.findall(r"((?:\| )?Self::[\w:{}.| \n]+?) => (\d+),", text)
    sizes = {int(size) for arm, size in arms for variant in _HEADERS[scheme]
             if f"Self::{variant} " in arm}  # fmt: skip
    assert len(sizes) == 1, scheme
    return sizes.pop()


def state(files: tuple[str, ...], structs: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for file in files:
        for struct in structs:
            found += fields(read(file), struct)
    return [each for each in found if not _NOT_OWN.search(each)]


def header_type_lines(scheme: str) -> int:
    lines = read(_FEEDBACK)
    return sum(
        len(item(lines, f"impl {each}")) + sum(x.startswith(f"pub struct {each}(") for x in lines)
        for each in _HEADER_TYPES[scheme]
    )


def counted() -> list[dict[str, str]]:
    """The rows of the table."""
    shared = sum(len(read(each)) for each in _SHARED) + sum(
        len(item(read(_FEEDBACK), each)) for each in ("pub enum Feedback", "impl Feedback")
    )
    rows: list[tuple[str, str, dict[str, int]]] = [
        ("sender: lines of code",
         ("the files of the sender's algorithm; for Quick-Start also its request, check of the "
         "answer and report in the transport"),
         {each: sum(len(read(file)) for file in _SENDERS[each]) for each in SCHEMES}),
        ("sender: hooks",
         "functions of the contracts with the transport that the scheme implements itself",
         {each: hooks(read(_SENDERS[each][0])) for each in SCHEMES}),
        ("sender: state per flow",
         "fields of its structs, without settings and the ordinary congestion control",
         {each: len(state(_SENDERS[each], _FLOW[each])) for each in SCHEMES}),
        ("router: lines of code",
         "the file of the router's algorithm",
         {each: len(read(_ROUTERS[each])) for each in SCHEMES}),
        ("router: state per link",
         "fields of its structs, without settings; an array counts once",
         {each: len(state((_ROUTERS[each],), _LINK[each])) for each in SCHEMES}),
        ("router: state per flow",
         "fields of its structs that can hold an entry for each flow (lists, maps and sets)",
         {each: sum(bool(_GROWS.search(field)) for field in state((_ROUTERS[each],), _LINK[each]))
          for each in SCHEMES}),
        ("header: fields",
         "fields of all its packets: to the routers, back to the sender, and Quick-Start's report",
         {each: len(header_fields(each)) for each in SCHEMES}),
        ("header: bytes in a packet that carries it",
         ("RCP and XCP: every data packet and ACK; Quick-Start: one handshake packet in each "
         "direction and the first data packet. RCP's size is our assumption"),
         {each: header_bytes(each) for each in SCHEMES}),
        ("header: lines of code of its own types",
         "Quick-Start's rate code and nonce",
         {each: header_type_lines(each) for each in SCHEMES}),
        ("shared by all three: lines of code",
         ("the header's type, the receiver's echo, the sender's passing on of feedback, and what "
         "stands before the three routers"),
         dict.fromkeys(SCHEMES, shared)),
    ]  # fmt: skip
    return [
        {"what": what, "counted": words, **{each: str(values[each]) for each in SCHEMES}}
        for what, words, values in rows
    ]


@needs_source
def test_the_counts_of_the_page_are_those_of_the_source() -> None:
    rows = counted()
    if os.environ.get("SLOWSTART_SNAPSHOT") == "write":
        with EFFORT.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    with EFFORT.open(encoding="utf-8", newline="") as file:
        there = list(csv.DictReader(file))
    assert there == rows, "stale: run this test with SLOWSTART_SNAPSHOT=write"


def test_code_has_no_comments_blank_lines_and_tests() -> None:
    text = """//! A page.

/// A struct.
pub struct Rate {
    /// A field.
    value: Vec<u64>, // of each flow
    config: RateConfig,
}

impl Startup for Rate {
    fn needs(&self) -> Needs {
        Needs::NONE
    }
}

#[cfg(test)]
mod tests {
}
"""
    lines = code(text)
    assert len(lines) == 9
    assert fields(lines, "Rate") == ["    value: Vec<u64>,", "    config: RateConfig,"]
    assert [bool(_GROWS.search(each)) for each in fields(lines, "Rate")] == [True, False]
    assert hooks(lines) == 1


def test_the_page_shows_the_counts() -> None:
    module: Any = load_analysis(EFFORT.parent)
    findings = SimpleNamespace(study=SimpleNamespace(folder=EFFORT.parent))
    heads, rows = module.effort_table(findings, None)
    assert heads[1:] == list(SCHEMES)
    by_name = {row[0][0]: [value for value, _ in row[1:]] for row in rows}
    assert by_name["router: state per flow"] == ["0", "0", "0"]
    assert all(row[0][1] and all(value.isdecimal() for value, _ in row[1:]) for row in rows)
