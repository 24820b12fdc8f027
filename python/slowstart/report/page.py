"""Writes a result's tables and figures as a single self-contained HTML file."""

from __future__ import annotations

import base64
import platform
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jinja2

from slowstart._version import __version__
from slowstart.figures import colors
from slowstart.report import kinds, table_files, tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from slowstart._native import Scenario


@dataclass(frozen=True)
class Drawing:
    """A figure with its name and its caption."""

    name: str
    path: str | None
    """The path that it shows; ``None`` for all paths."""
    caption: str
    svg: bytes
    """The picture itself."""
    narrow: bytes | None = None
    """The same with panels below each other, for narrow screens; ``None`` if that is no different.
    """

    def shown(self) -> tuple[str, str, str, str | None, str | None]:
        """What the page needs: name, caption, data URLs of both pictures, and the command."""
        narrow = None if self.narrow is None else data_url(self.narrow)
        return self.name, self.caption, data_url(self.svg), narrow, self.command()

    def command(self) -> str | None:
        """The command that draws it again in the page's folder; ``None`` if there is none."""
        kind = kinds.of(self.name)
        if kind is None:
            return None
        only = "" if self.path is None else f" --paths {shlex.quote(tables.short(self.path))}"
        return f"slowstart plot . {kind}{only}"


@dataclass(frozen=True)
class Block:
    """What the report says about start-ups, by path."""

    words: Mapping[str, Sequence[str]]
    rows: Mapping[str, Sequence[Sequence[tables.Cell]]]
    columns: Sequence[tables.Column]


@dataclass(frozen=True)
class Paired:
    """The comparisons of pairs of runs, by path."""

    words: str = ""
    rows: Mapping[str, Sequence[Sequence[tables.Cell]]] = field(default_factory=dict)
    columns: Sequence[tables.Column] = ()


@dataclass(frozen=True)
class Shared:
    """How flows that run at the same time share each path."""

    rows: Mapping[str, Sequence[Sequence[tables.Cell]]] = field(default_factory=dict)
    columns: Sequence[tables.Column] = ()


def slug(name: str) -> str:
    """``name`` as a file name of letters, digits and dashes."""
    return re.sub(r"[^A-Za-z0-9]+", "-", tables.short(name)).strip("-") or "path"


def inline(folder: Path, name: str) -> str:
    """The figure saved as ``name.svg``, as a data URL."""
    return data_url((folder / f"{name}.svg").read_bytes())


def data_url(svg: bytes) -> str:
    """An SVG picture as a data URL."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")


def render(template: str, **values: object) -> str:
    """Renders one of this package's templates; an undefined name is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("slowstart"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return with_contents(environment.get_template(template).render(**values))


def with_contents(page: str) -> str:
    """The page with a list of its sections and figures behind its title, and an anchor for each."""
    taken = set(re.findall(r'\bid="([^"]*)"', page))

    def anchored(match: re.Match[str]) -> str:
        if "id=" in match[1]:
            return match[0]
        word = re.sub(r"[^a-z0-9]+", "-", _text(match[2]).lower()).strip("-") or "section"
        name, number = word, 1
        while name in taken:
            number += 1
            name = f"{word}-{number}"
        taken.add(name)
        return f'<h2 id="{name}"{match[1]}>{match[2]}</h2>'

    page = re.sub(r"<h2([^>]*)>(.*?)</h2>", anchored, page, flags=re.DOTALL)
    entries: list[str] = []
    count = 0
    for match in _ENTRY.finditer(page):
        head, title, figure, name = match.groups()
        count += bool(figure)
        if head:
            entries.append(f'<li><a href="#{head}">{_text(title)}</a></li>')
        else:
            entries.append(f'<li class="figure"><a href="#{figure}">{_text(name)}</a></li>')
    if len(entries) < 3:
        return page
    words = f"Contents: {len(entries) - count} sections" + (f", {count} figures" if count else "")
    listed = f"<summary>{words}</summary><ul>{''.join(entries)}</ul>"
    whole = f"<details{'' if count else ' open'}>{listed}</details>"
    nav = f'<nav class="contents" aria-label="contents">{whole}</nav>'
    return page.replace("</h1>", f"</h1>\n{nav}", 1)


_ENTRY = re.compile(
    r'<h2 id="([^"]+)"[^>]*>(.*?)</h2>'
    r'|<section class="panel[^"]*" id="([^"]+)">.*?<strong>(.*?)</strong>',
    re.DOTALL,
)


def _text(markup: str) -> str:
    """Markup without its tags."""
    return " ".join(re.sub(r"<[^>]+>", "", markup).split())


def write(
    folder: Path,
    overview: Mapping[str, Any],
    scenarios: Sequence[Scenario],
    drawings: Sequence[Drawing],
    notes: Sequence[str],
    block: Block,
    kernel: str | None,
    paired: Paired,
    shared: Shared,
) -> None:
    """Writes ``report.html`` to ``folder``, with its figures.

    Args:
        folder: The folder of the report.
        overview: The overview of the result; see :mod:`slowstart.report.tables`.
        scenarios: The scenarios that ran.
        drawings: The figures, in order.
        notes: Sentences about excluded runs and omitted figures.
        block: The words and tables about the start-ups.
        kernel: What ran them, unless they were in virtual time (:func:`kernel`).
        paired: The comparisons with the baseline.
        shared: How flows share the paths.
    """
    paths = {each.path: each.resolved["path"] for each in scenarios}
    groups = tables.by_path(overview["summary"])
    measured = list(dict.fromkeys(row["path"] for row in overview["paths"]))
    names = list(dict.fromkeys(row["name"] for row in overview["summary"]))
    styles = colors.styles(names)
    shown = tables.columns(overview["summary"])
    background = tables.traffic_by_path(overview)
    responses = tables.responses_by_path(overview)
    networks = tables.networks_by_path(overview)

    def cells(summary: dict[str, Any]) -> list[tables.Cell]:
        full = tables.row(summary)
        return [full[place] for place in shown]

    sections: list[dict[str, Any]] = [
        {
            "title": tables.short(path),
            "summary": paths[path]["summary"],
            "facts": tables.describe(paths[path]),
            "networks": networks.get(path, []),
            "words": block.words.get(path, []),
            "sharing": shared.rows.get(path, []),
            "pairs": paired.rows.get(path, []),
            "startups": block.rows.get(path, []),
            "traffic": background.get(path, []),
            "responses": responses.get(path, []),
            "rows": [(styles[row["name"]].color, cells(row)) for row in groups.get(path, [])],
            "figures": [each.shown() for each in drawings if each.path == path],
        }
        for path in measured
    ]
    for section, path in zip(sections, measured, strict=True):
        for kind, heads in (
            ("networks", tables.NETWORK_COLUMNS),
            ("sharing", shared.columns),
            ("pairs", paired.columns),
            ("startups", block.columns),
            ("traffic", tables.TRAFFIC_COLUMNS),
            ("responses", tables.RESPONSE_COLUMNS),
        ):
            if section[kind]:
                names_of = [column.head for column in heads]
                table_files.write(folder, f"{kind}-{slug(path)}", names_of, section[kind])
        if section["rows"]:
            names_of = [tables.COLUMNS[place].head for place in shown]
            plain = [row for _, row in section["rows"]]
            table_files.write(folder, f"summary-{slug(path)}", names_of, plain)
    # All have the same seeds; a path on which nothing is random has one run.
    any_of_them = max(scenarios, key=lambda each: each.runs)
    page = render(
        "report.html.j2",
        version=__version__,
        columns=[tables.COLUMNS[place] for place in shown],
        sections=sections,
        figures=[each.shown() for each in drawings if each.path is None],
        network_columns=tables.NETWORK_COLUMNS if networks else (),
        traffic_columns=tables.TRAFFIC_COLUMNS if background else (),
        response_columns=tables.RESPONSE_COLUMNS if responses else (),
        pair_columns=paired.columns,
        pair_words=paired.words,
        sharing_columns=shared.columns if shared.rows else (),
        startup_columns=block.columns if block.rows else (),
        notes=notes,
        names=names or list(dict.fromkeys(row["name"] for row in overview["traffic"])),
        titles=[tables.short(path) for path in measured],
        flows=_flows(scenarios),
        kernel=kernel,
        seeds=(any_of_them.seed, any_of_them.seed + any_of_them.runs - 1),
        runs=any_of_them.runs,
    )
    (folder / "report.html").write_text(page, encoding="utf-8")


def kernel(run: Mapping[str, Any]) -> str:
    """Describes what ran, by an entry of the result document of a kernel or in real time."""
    if run["stack"] == "linux-vm":
        return f"the TCP of Linux {run['kernel']} in a virtual machine, in virtual time"
    if run["stack"] == "linux":
        return f"the TCP of Linux {platform.release()}"
    return f"{run['stack']} {run['stack_version']} in real time, on Linux {run['kernel']}"


def _flows(scenarios: Sequence[Scenario]) -> str:
    """Describes the flows, if all have the same settings."""
    flows = [flow for each in scenarios for flow in each.resolved["flows"]]
    if not flows:
        return "Connections as in the scenario"
    amounts = {(flow["size_bytes"], flow["duration_s"]) for flow in flows}
    windows = {flow["initial_window_segments"] for flow in flows}
    paced = {flow["pacing"] for flow in flows}
    if len(amounts) > 1 or len(windows) > 1 or len(paced) > 1:
        return "Flows as in the scenario"
    size, duration = next(iter(amounts))
    words = []
    if size is not None:
        words.append(f"Transfers of {tables.size(size)}")
    if duration is not None:
        words.append(f"{tables.seconds(duration)} of sending")
    words.append(f"initial window {next(iter(windows))} segments")
    words.append("paced" if next(iter(paced)) else "not paced")
    return ", ".join(words)
