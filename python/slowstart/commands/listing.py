"""Lists algorithms, paths, networks, scenarios, suites, studies and stacks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from slowstart._native import algorithms, paths, refusal, stacks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console

# Minimum width of a terminal for listing the studies as a table.
_ROOMY = 120
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
    from slowstart.report.tables import console

    out = console()
    for topic, entries in found.items():
        if not entries:
            out.print(f"This version has no {topic}.")
        elif topic == "algorithms":
            _show_algorithms(out, entries, short=short)
        elif topic == "scenarios":
            _show_scenarios(out, entries)
        elif topic == "networks":
            _show_networks(out, entries)
        elif topic == "studies":
            _show_studies(out, entries)
        elif topic == "stacks":
            _show_stacks(out, entries)
        else:
            _show_entries(out, topic, entries)


# By topic: the facts of an entry, and what to do with one.
_ENTRIES = {
    "paths": ("{model}, {page}", "slowstart path NAME characterizes a path without TCP."),
    "suites": (
        "{cases} cases, {skipped} of them not tested; {rules} rules; {page}",
        "Check a start-up with: slowstart check NAME [-a ALGORITHM] [--stack STACK]",
    ),
}


def _show_entries(out: Console, topic: str, entries: Sequence[Mapping[str, Any]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    facts, remark = _ENTRIES[topic]
    table = Table(title=topic, title_justify="left", box=box.SIMPLE_HEAD, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for entry in entries:
        words = (f"\n{facts.format_map(entry)}", "dim")
        table.add_row(entry["name"], Text.assemble(entry["summary"], words))
    out.print(table)
    out.print(remark)


def _show_stacks(out: Console, entries: Sequence[Mapping[str, Any]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    for entry in entries:
        title = f"{entry['name']} {entry['version']}"
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_header=False)
        table.add_column(no_wrap=True)
        table.add_column()
        for name, summary in entry["own"].items():
            table.add_row(Text(name, "bold"), summary)
        table.add_row(Text("runs", "bold"), ", ".join(entry["runs"]))
        for name, sentence in entry["refused"].items():
            table.add_row(Text(name, "dim"), Text(f"refused: {sentence}", "dim"))
        out.print(table)
    out.print(
        "Compare with: slowstart compare PATH -a cubic+search -a own --stack NAME [--stack "
        "simulated --pacing]. docs/guides/quic-stacks.md explains the runs.",
        markup=False,
    )


def _show_networks(out: Console, entries: Sequence[Mapping[str, Any]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title="networks", title_justify="left", box=box.SIMPLE_HEAD, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for entry in entries:
        facts = ", ".join(each for each in (entry["example"], entry["page"]) if each)
        table.add_row(entry["name"], Text.assemble(entry["summary"], (f"\n{facts}", "dim")))
    out.print(table)
    words = 'A scenario file has one as [network] kind = "NAME"; slowstart path FILE draws it.'
    out.print(words, markup=False)


def _show_scenarios(out: Console, entries: Sequence[Mapping[str, Any]]) -> None:
    """Prints one line for each family, with the summary of its first scenario."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title="scenarios", title_justify="left", box=box.SIMPLE_HEAD, show_header=False)
    table.add_column(style="bold", overflow="fold")
    table.add_column()
    firsts = {entry["family"]: entry for entry in reversed(entries)}
    for family, first in reversed(firsts.items()):
        table.add_row(Text(family), Text(f"{first['name']}: {first['summary']}"))
    out.print(table)
    out.print(
        "Run one with: slowstart run NAME [-a ALGORITHM]. slowstart list scenarios --json has each "
        "name and file."
    )


def _show_algorithms(out: Console, entries: Sequence[Mapping[str, Any]], *, short: bool) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    for kind in dict.fromkeys(entry["kind"] for entry in entries):
        table = Table(title=kind, title_justify="left", box=box.SIMPLE_HEAD, show_header=False)
        table.add_column(no_wrap=True)
        table.add_column()
        for entry in (entry for entry in entries if entry["kind"] == kind):
            origin = (f"\n{entry['provenance']}: {entry['source']}", "dim")
            table.add_row(Text(entry["name"], "bold"), Text.assemble(entry["summary"], origin))
            for option in () if short else entry["options"]:
                default = f"{option['name']}={option['default']}"
                table.add_row(Text(f"  :{default}", "dim"), option["help"])
        out.print(table)
    out.print(
        "Write avoidance+start-up[:option=value,...], for example cubic+search:exit=drain. "
        "docs/reference/algorithms has a page for each."
    )


def _show_studies(out: Console, entries: Sequence[Mapping[str, Any]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from slowstart.report.tables import write_plain

    heads = ("claims", "runs", "minutes", "on the kernel")
    every = ("study", "document", "what it repeats", *heads)
    if write_plain(every, map(_study_cells, entries)):
        return
    if out.width < _ROOMY:
        # Print what does not fit beside the summary below it.
        table = Table(title="studies", title_justify="left", box=None, show_header=False)
        table.add_column(no_wrap=True)
        table.add_column()
        for entry in entries:
            cost = (
                f"\n{entry['document']}: {entry['claims']} claims, {entry['runs']} runs; "
                f"minutes: {_minutes(entry)}; on the kernel: {_on_the_kernel(entry)}"
            )
            words = Text.assemble(entry["summary"], (cost, "dim"))
            table.add_row(Text(entry["name"], "bold"), words)
    else:
        table = Table(title="studies", title_justify="left", box=box.SIMPLE_HEAD)
        for head in every:
            right = head in heads
            table.add_column(head, justify="right" if right else "left", no_wrap=head == "study")
        for entry in entries:
            name, *cells = _study_cells(entry)
            table.add_row(Text(name, "bold"), *cells)
    out.print(table)
    out.print(
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
