"""The command ``slowstart traces``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from slowstart._version import __version__
from slowstart.errors import RunError, complain

app = typer.Typer(
    help="Show or fetch the recorded traces that studies use.",
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
Traces are third-party data and not part of slowstart. Studies search for them in the
folder given by --traces, else by the environment variable SLOWSTART_TRACES, else in the
default folder of `fetch`, $XDG_DATA_HOME/slowstart/traces (usually
~/.local/share/slowstart/traces). A study reports the claims that it cannot test because
traces are missing.
""",
)

Folder = Annotated[
    str | None,
    typer.Option("--traces", metavar="DIR", show_default=False, help="Use this folder."),
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
    sys.stdout.write(f"Folder of traces: {where}\n")
    for each in traces.collections():
        states = [traces.state(trace, where) for trace in each.traces]
        found = f"{states.count('there')} of {len(states)} found"
        sys.stdout.write(f"\n{each.title}: {found}\n")
        sys.stdout.write(f"  source: {each.source}\n  terms:  {each.terms}\n")
        for trace, state in zip(each.traces, states, strict=True):
            if state == "another content":
                sys.stdout.write(f"  {trace.name} has the wrong checksum\n")


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


FETCH_EPILOG = """\b
Examples:
  slowstart traces fetch
  slowstart traces fetch --dry-run
  slowstart traces fetch --traces my-traces
"""


@app.command("fetch", epilog=FETCH_EPILOG)
def _fetch(
    folder: Folder = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be fetched, without fetching.")
    ] = False,
) -> int:
    """Fetch missing traces that have an address, and verify their checksums."""
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
                # Without a network the others would fail, too, so print their addresses only.
                complain(str(error))
                failures += 1
                sys.stdout.write(f"would fetch {trace.url}\n  sha256 {trace.sha256}\n")
    for source, names in by_hand.items():
        sys.stdout.write(f"copy to {where} by hand, from {source}:\n")
        for name in names:
            sys.stdout.write(f"  {name}\n")
    if not failures and not by_hand and not any(True for _ in traces.missing(where)):
        sys.stdout.write(f"all traces are in {where}\n")
    return 1 if failures else 0
