"""``slowstart validate --streams``: random streams of ACKs on the simulated TCP and the kernel."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path
from typing import Any

from slowstart import __version__
from slowstart._native import compare_stream, stream_profiles
from slowstart.errors import complain
from slowstart.report.progress import Meter


def validate(streams: int, *, seed: int, output: str | None, as_json: bool, quiet: bool) -> int:
    """Compares ``streams`` streams of each profile; returns 1 if one differs.

    A stream has no verdict, and its ``identical`` is ``None``, if in most of its runs the host was
    late or the phase of the kernel's ticks unknown.

    Raises:
        InputError: This user may not create network namespaces.
    """
    profiles = stream_profiles()
    found: list[dict[str, Any]] = []
    jobs = [(profile, seed + number) for number in range(streams) for profile in profiles]
    with Meter("comparing", quiet=quiet) as meter:
        for done, (profile, each) in enumerate(jobs, 1):
            found.append(json.loads(compare_stream(profile, each, output is not None)))
            meter(done, len(jobs))
    if output is not None:
        _keep(Path(output), found)
    if as_json:
        for report in found:
            report.pop("script", None)
        document = {
            "format": 1,
            "version": __version__,
            "kernel": platform.release(),
            "streams": found,
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        _show(profiles, found)
    return int(any(report["identical"] is False for report in found))


def _keep(folder: Path, found: list[dict[str, Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for report in found:
        if report["identical"] is False:
            path = folder / f"{report['profile']}-{report['seed']}.pkt"
            head = f"// Linux {platform.release()}. {report['difference']}\n"
            path.write_text(head + report["script"], encoding="utf-8")
            complain(f"kept {path}")


def _show(profiles: list[str], found: list[dict[str, Any]]) -> None:
    write = sys.stdout.write
    write(f"{'profile':<12}{'streams':>8}{'identical':>11}{'events':>8}\n")
    for profile in [*profiles, "all"]:
        rows = [row for row in found if profile in (row["profile"], "all")]
        same = sum(row["identical"] is True for row in rows)
        write(f"{profile:<12}{len(rows):>8}{same:>11}{sum(row['events'] for row in rows):>8}\n")
    for row in found:
        name = f"{row['profile']}-{row['seed']}"
        if row["identical"] is None:
            write(f"{name}: not judged: in most runs this host was late or its ticks unknown\n")
        elif not row["identical"]:
            write(f"{name}, event {row['event']}: {row['difference']}\n")
