"""The command ``slowstart check``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from slowstart.commands.options import Quiet  # noqa: TC001 (Typer reads it)
from slowstart.errors import InputError

EPILOG = """\b
Examples:
  slowstart check rules.toml
  slowstart check rules.toml --junit junit.xml --json check.json
  slowstart check rules.toml --record baseline.json
  slowstart check suite/startup --stack quinn -a own
  slowstart check suite/bbr-draft -a bbr3
  slowstart check suite/c4

\b
A file of rules has cases, each a path or a scenario with what must hold there:
  stack = "quinn"
  algorithm = "own"
  [[case]]
  name = "GEO"
  path = "geo"
  size = "20 MB"
  [case.rules]
  exit_within = "4 s"
  loss_at_most = "1 %"
  not_worse = ["completion", "loss"]      # than the baseline
docs/guides/ci.md describes all keys. The same file gives the same bytes each time.

\b
Exit status: 0 all rules hold, 1 one does not, 2 invalid input.
"""


def check(
    rules: Annotated[
        str,
        typer.Argument(metavar="RULES", show_default=False,
                       help="A file of rules (TOML), or the name of a suite (suite/startup; see: "
                       "slowstart list suites)."),
    ],
    algorithm: Annotated[
        list[str] | None,
        typer.Option("-a", "--algorithm", metavar="ALG", show_default=False,
                     help="The algorithm under test, instead of the file's; repeatable."),
    ] = None,
    stack: Annotated[
        list[str] | None,
        typer.Option("--stack", metavar="STACK", show_default=False,
                     help="The stack, instead of the file's: simulated, linux-vm, or a QUIC stack "
                     "(see: slowstart list stacks); repeatable."),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option("-n", "--runs", metavar="N", min=1, max=1_000_000, show_default=False,
                     help="Runs of each case, instead of the file's number."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="FILE", show_default=False,
                     help="The baseline of the rules not_worse, instead of the file's."),
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(metavar="FILE", show_default=False,
                     help="Write the measurements to this file as a baseline; check nothing."),
    ] = None,
    junit: Annotated[
        str | None,
        typer.Option(metavar="FILE", show_default=False, help="Write JUnit XML to this file."),
    ] = None,
    as_json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", show_default=False,
                     help="Write a JSON document to this file."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=4096, show_default=False,
                     help="Number of runs to execute in parallel [default: one per core]. It does "
                     "not affect the result."),
    ] = None,
    quiet: Quiet = False,
) -> int:  # fmt: skip
    """Check a start-up against rules, for continuous integration."""
    from slowstart.checking import judge, output
    from slowstart.checking import rules as reading
    from slowstart.checking import runs as running
    from slowstart.checking.baseline import Baseline, write
    from slowstart.report.progress import Meter
    from slowstart.store.output import replace_file

    if record is not None and (junit or as_json or baseline):
        raise InputError("--record checks nothing: leave out --baseline, --junit and --json")
    for option, file in (("--record", record), ("--junit", junit), ("--json", as_json)):
        if file is not None and (Path(file).is_dir() or not Path(file).absolute().parent.is_dir()):
            raise InputError(f"{option} {file}: name a file in a folder that exists")
    suite = reading.load(rules, reading.Override(stack or (), algorithm or (), runs))
    known = None
    if record is None:
        name = baseline or (suite.baseline and str(suite.folder / suite.baseline))
        known = Baseline.read(Path(name)) if name else None
        judge.check_baseline(suite, known)
    jobs = running.jobs(suite)
    if known is not None:
        judge.check_entries(jobs, known)
    with Meter("checking", quiet=quiet) as meter:
        outcomes = running.execute(jobs, threads, meter)
    if record is not None:
        count = write(Path(record), outcomes)
        if not quiet:
            sys.stdout.write(f"recorded {count} measurements of {len(jobs)} cases in {record}\n")
        return 0
    verdicts = judge.judge(suite, outcomes, known)
    if junit is not None:
        replace_file(Path(junit), output.junit(suite, verdicts))
    if as_json is not None:
        replace_file(Path(as_json), output.document(suite, verdicts))
    if not quiet:
        for each in verdicts:
            sys.stdout.write(f"{each.text}\n")
        counts = output.totals(verdicts)
        sys.stdout.write(", ".join(f"{count} {name}" for name, count in counts.items()) + "\n")
    return int(any(each.outcome == "failed" for each in verdicts))
