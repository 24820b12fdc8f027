"""The command ``slowstart traces``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from slowstart import __version__
from slowstart.errors import RunError, complain

app = typer.Typer(
    help="Recorded traces that studies use: where they are looked for, and where they come from.",
    rich_markup_mode=None,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  slowstart traces
  slowstart traces fetch
  slowstart traces fetch --dry-run
  SLOWSTART_TRACES=my-traces slowstart study hsdpa-live

\b
Traces are data of others and no part of slowstart. Studies look for them in the folder
of --traces, else of the environment variable SLOWSTART_TRACES, else where `fetch` puts
them: $XDG_DATA_HOME/slowstart/traces, usually ~/.local/share/slowstart/traces.
Claims about traces that are missing cannot be tested, and the study says so.
""",
)

Folder = Annotated[
    str | None,
    typer.Option("--traces", metavar="DIR", show_default=False, help="This folder instead."),
]


@app.callback()
def _list(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    from slowstart import traces

    if context.invoked_subcommand is not None:
        return
    where = traces.folder() or traces.home()
    if as_json:
        document = {
            "format": 1,
            "version": __version__,
            "folder": str(where),
            "collections": [_entry(each, where) for each in traces.collections()],
        }
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        return
    sys.stdout.write(f"Traces are looked for in {where}\n")
    for each in traces.collections():
        states = [traces.state(trace, where) for trace in each.traces]
        there = f"{states.count('there')} of {len(states)} there"
        sys.stdout.write(f"\n{each.title}: {there}\n")
        sys.stdout.write(f"  source: {each.source}\n  terms:  {each.terms}\n")
        for trace, state in zip(each.traces, states, strict=True):
            if state == "another content":
                sys.stdout.write(f"  {trace.name} is another file: its checksum differs\n")


def _entry(collection: Any, where: Path) -> dict[str, Any]:
    from slowstart import traces

    return {
        "title": collection.title,
        "source": collection.source,
        "terms": collection.terms,
        "files": [
            {
                "name": each.name,
                "sha256": each.sha256,
                "url": each.url,
                "state": traces.state(each, where),
            }
            for each in collection.traces
        ],
    }


@app.command("fetch")
def _fetch(
    folder: Folder = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be fetched, and fetch nothing.")
    ] = False,
) -> int:
    """Fetch the traces that are missing and have an address; each is checked."""
    from slowstart import traces

    where = Path(folder) if folder else traces.folder() or traces.home()
    failures = 0
    by_hand: dict[str, list[str]] = {}
    for collection, trace in list(traces.missing(where)):
        if trace.url is None:
            by_hand.setdefault(collection.source, []).append(trace.name)
        elif dry_run or failures:
            sys.stdout.write(f"would fetch {trace.url}\n  sha256 {trace.sha256}\n")
        else:
            try:
                traces.fetch(trace, where)
                sys.stdout.write(f"{where / trace.name}\n")
            except RunError as error:
                # Without a network every other would fail as well: what it is, is said instead.
                complain(str(error))
                failures += 1
                sys.stdout.write(f"would fetch {trace.url}\n  sha256 {trace.sha256}\n")
    for source, names in by_hand.items():
        sys.stdout.write(f"to be put into {where} by hand, from {source}:\n")
        for name in names:
            sys.stdout.write(f"  {name}\n")
    if not failures and not by_hand and not any(True for _ in traces.missing(where)):
        sys.stdout.write(f"every trace is in {where}\n")
    return 1 if failures else 0
