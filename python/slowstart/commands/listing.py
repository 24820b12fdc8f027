"""Lists algorithms, paths, networks, scenarios, suites, studies and stacks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from slowstart._native import algorithms, paths, refusal, stacks
from slowstart.report.definitions import BOLD, DIM, Words, write_definitions, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_TRACE = {
    "name": "trace:FILE",
    "summary": "a recorded link in Mahimahi's format; trace:DOWN,UP for both directions, "
    "trace:FILE,delay=FILE with recorded delays",
    "source": "the file",
    "model": "trace",
    "toml": 'trace = "FILE"',
    "page": "docs/reference/networks/traces.md",
}


_NETWORKS = (
    {
        "name": "adhoc",
        "summary": "nodes with radios that forward packets for each other: 802.11 or 802.15.4; "
        "DSDV, AODV or fixed routes; static, random waypoint or positions of a file; energy",
        "source": "IEEE 802.11, IEEE 802.15.4, RFC 3561, RFC 4944; Perkins and Bhagwat 1994",
        "example": "scenarios/adhoc.toml",
        "page": "docs/reference/networks/adhoc-802.11.md",
    },
    {
        "name": "constellation",
        "summary": "satellites with links between them, and terminals on the ground: Iridium, "
        "Starlink, or any orbits",
        "source": "Henderson, The ns Manual; Pratt et al. 1999; Walker 1984",
        "example": "scenarios/iridium.toml",
        "page": "docs/reference/networks/constellation.md",
    },
    {
        "name": "ideal",
        "summary": "every node reaches every other one at a fixed rate and delay: what radios add",
        "source": "none",
        "example": "",
        "page": "docs/reference/scenario.md",
    },
)


def _algorithms() -> list[dict[str, Any]]:
    return [dict(each) for each in algorithms()]


# A year in a source; the number of an RFC is none.
_YEAR = re.compile(r"(?<!RFC )(?<![\d.])(?:19|20)\d\d(?![\d.])")


def since(entries: Sequence[Mapping[str, Any]], year: int) -> list[Mapping[str, Any]]:
    """The algorithms whose source names a year from ``year`` on, the newest first.

    The source in the registry of algorithms holds the revision and the date of a draft.
    """
    found = [(max(map(int, _YEAR.findall(each["source"])), default=0), each) for each in entries]
    found.sort(key=lambda pair: -pair[0])
    return [each for newest, each in found if newest >= year]


def _paths() -> list[dict[str, Any]]:
    return [*(dict(each) for each in paths()), _TRACE]


def _networks() -> list[dict[str, Any]]:
    return [dict(each) for each in _NETWORKS]


def _studies() -> list[dict[str, Any]]:
    from slowstart.commands import validate as command
    from slowstart.studies.catalogue import catalogue

    return [*catalogue(), command.catalogue_entry()]


def _scenarios() -> list[dict[str, Any]]:
    from slowstart.store.shipped import scenarios

    return [
        {
            "name": each.name,
            "summary": each.summary,
            "family": each.family,
            "page": "docs/reference/suite.md",
            "toml": each.text(),
        }
        for each in scenarios()
    ]


def _suites() -> list[dict[str, Any]]:
    from slowstart.checking.rules import Override, load, suites

    found = []
    for name in suites():
        suite = load(name, Override())
        rules = sum(len(case.rules) for case in suite.cases)
        found.append(
            {
                "name": name,
                "summary": suite.about,
                "cases": len(suite.cases),
                "rules": rules,
                "skipped": sum(bool(case.skip) for case in suite.cases),
                "page": "docs/guides/ci.md",
            }
        )
    return found


_START_UPS = "cubic+"


def _stacks() -> list[dict[str, Any]]:
    """Each QUIC stack with its own controllers, and the algorithms that it refuses."""
    kinds = {"start-up": _START_UPS, "congestion control": ""}
    names = [kinds[each["kind"]] + each["name"] for each in algorithms() if each["kind"] in kinds]
    found = []
    for stack in stacks():
        refused = {name: refusal(stack["name"], name) for name in names}
        found.append(
            {
                "name": stack["name"],
                "version": stack["version"],
                "own": {f"own:{name}": summary for name, summary in stack["own"]},
                "runs": [name for name, sentence in refused.items() if sentence is None],
                "refused": {name: why for name, why in refused.items() if why is not None},
                "page": "docs/guides/quic-stacks.md",
            }
        )
    return found


CATALOGUE: Mapping[str, Callable[[], list[dict[str, Any]]]] = {
    "algorithms": _algorithms,
    "paths": _paths,
    "networks": _networks,
    "scenarios": _scenarios,
    "suites": _suites,
    "studies": _studies,
    "stacks": _stacks,
}


def show(found: Mapping[str, Sequence[Mapping[str, Any]]], *, short: bool = False) -> None:
    """Prints catalogues to standard output; ``short`` leaves out the options of algorithms."""
    for topic, entries in found.items():
        if not entries:
            write_text(f"This version has no {topic}.")
        elif topic == "algorithms":
            _show_algorithms(entries, short=short)
        elif topic == "scenarios":
            _show_scenarios(entries)
        elif topic == "networks":
            _show_networks(entries)
        elif topic == "studies":
            _show_studies(entries)
        elif topic == "stacks":
            _show_stacks(entries)
        else:
            _show_entries(topic, entries)


# By topic: the facts of an entry, and what to do with one.
_ENTRIES = {
    "paths": ("{model}, {page}", "slowstart path NAME characterizes a path without TCP."),
    "suites": (
        "{cases} cases, {skipped} of them not tested; {rules} rules; {page}",
        "Check a start-up with: slowstart check NAME [-a ALGORITHM] [--stack STACK]",
    ),
}


def _show_entries(topic: str, entries: Sequence[Mapping[str, Any]]) -> None:
    facts, remark = _ENTRIES[topic]
    rows = [
        (Words(each["name"], BOLD), Words(each["summary"]), Words(facts.format_map(each), DIM))
        for each in entries
    ]
    write_definitions(topic, rows)
    write_text(remark)


def _show_stacks(entries: Sequence[Mapping[str, Any]]) -> None:
    for entry in entries:
        rows = [(Words(name, BOLD), Words(summary)) for name, summary in entry["own"].items()]
        rows.append((Words("runs", BOLD), Words(", ".join(entry["runs"]))))
        for name, sentence in entry["refused"].items():
            rows.append((Words(name, DIM), Words(f"refused: {sentence}", DIM)))
        write_definitions(f"{entry['name']} {entry['version']}", rows)
    write_text(
        "Compare with: slowstart compare PATH -a cubic+search -a own --stack NAME [--stack "
        "simulated --pacing]. docs/guides/quic-stacks.md explains the runs."
    )


def _show_networks(entries: Sequence[Mapping[str, Any]]) -> None:
    rows = []
    for entry in entries:
        facts = ", ".join(each for each in (entry["example"], entry["page"]) if each)
        rows.append((Words(entry["name"], BOLD), Words(entry["summary"]), Words(facts, DIM)))
    write_definitions("networks", rows)
    write_text('A scenario file has one as [network] kind = "NAME"; slowstart path FILE draws it.')


def _show_scenarios(entries: Sequence[Mapping[str, Any]]) -> None:
    """Prints one line for each family, with the summary of its first scenario."""
    firsts = {entry["family"]: entry for entry in reversed(entries)}
    rows = [
        (Words(family, BOLD), Words(f"{first['name']}: {first['summary']}"))
        for family, first in reversed(firsts.items())
    ]
    write_definitions("scenarios", rows)
    write_text(
        "Run one with: slowstart run NAME [-a ALGORITHM]. slowstart list scenarios --json has each "
        "name and file."
    )


def _show_algorithms(entries: Sequence[Mapping[str, Any]], *, short: bool) -> None:
    for kind in dict.fromkeys(entry["kind"] for entry in entries):
        rows: list[tuple[Words, ...]] = []
        for entry in (entry for entry in entries if entry["kind"] == kind):
            origin = f"{entry['provenance']}: {entry['source']}"
            name = Words(entry["name"], BOLD)
            rows.append((name, Words(entry["summary"]), Words(origin, DIM)))
            for option in () if short else entry["options"]:
                default = f"  :{option['name']}={option['default']}"
                rows.append((Words(default, DIM), Words(option["help"])))
        write_definitions(kind, rows)
    write_text(
        "Write avoidance+start-up[:option=value,...], for example cubic+search:exit=drain. "
        "docs/reference/algorithms has a page for each."
    )


def _show_studies(entries: Sequence[Mapping[str, Any]]) -> None:
    from slowstart.report.tables import write_plain

    heads = ("claims", "runs", "minutes", "on the kernel")
    if write_plain(("study", "document", "what it repeats", *heads), map(_study_cells, entries)):
        return
    rows = []
    for entry in entries:
        cost = (
            f"{entry['document']}: {entry['claims']} claims, {entry['runs']} runs; "
            f"minutes: {_minutes(entry)}; on the kernel: {_on_the_kernel(entry)}"
        )
        rows.append((Words(entry["name"], BOLD), Words(entry["summary"]), Words(cost, DIM)))
    write_definitions("studies", rows)
    write_text(
        "Minutes are for two cores; on the kernel (--stack linux) they are real time. Run a study "
        "with: slowstart study NAME [--quick]"
    )


def _study_cells(entry: Mapping[str, Any]) -> list[str]:
    return [
        entry["name"],
        entry["document"],
        entry["summary"],
        str(entry["claims"]),
        str(entry["runs"]),
        _minutes(entry),
        _on_the_kernel(entry),
    ]


def _minutes(entry: Mapping[str, Any]) -> str:
    return f"{entry['minutes']:g}, quick {entry['minutes_quick']:g}"


def _on_the_kernel(entry: Mapping[str, Any]) -> str:
    runs = entry.get("runs_linux")
    return f"{runs} in {entry['minutes_linux']:g} min" if runs else "-"
