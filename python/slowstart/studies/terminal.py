"""The table of a study's claims on standard output."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from slowstart._version import __version__
from slowstart.report.tables import console, write_plain
from slowstart.studies import headline
from slowstart.studies.bands import plain
from slowstart.studies.claims import (
    AGREES,
    CANNOT_TEST,
    DIFFERS,
    INDEPENDENT,
    NOT_IDENTIFIED,
    STANDINGS,
    UNDECIDED,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from slowstart.studies.calibrate import Search
    from slowstart.studies.findings import Findings

_STYLES = {
    AGREES: "green", DIFFERS: "dark_orange3", UNDECIDED: "deep_sky_blue4",
    NOT_IDENTIFIED: "dark_goldenrod", CANNOT_TEST: "dim",
}  # fmt: skip


def show(findings: Findings, report: str | None) -> None:
    """Prints the claims with their verdicts, and the path of the report."""
    out = console()
    long = not sys.stdout.isatty()
    out.print(Text(findings.study.title, "bold"), soft_wrap=long)
    if findings.study.claimed:
        out.print(Text(f"The publication claims: {findings.study.claimed}"), soft_wrap=long)
    if findings.study.replay is not None:
        out.print(Text(findings.study.replay.said), soft_wrap=long)
    for sentence in findings.answer:
        out.print(Text(sentence), soft_wrap=long)
    if findings.study.headline:
        _show_headline(out, findings)
    if findings.study.claims:
        _show_claims(out, findings)
    for stack in findings.stacks:
        for reason, parts in findings.left_out(stack).items():
            out.print(Text(f"Left out on {stack}: {_few(parts)}: {reason}", "dim"), soft_wrap=long)
        for entry in findings.failed_check(stack):
            line = f"Excluded: failed the timing self-check: {entry}"
            out.print(Text(line, "dim"), soft_wrap=long)
    if findings.study.allowed and "simulated" in findings.stacks:
        _show_fitted(out, findings)
    if findings.study.claims:
        _show_totals(out, findings)
    if report is not None:
        sys.stdout.write(f"The report is {report}\n")


def _show_headline(out: Console, findings: Findings) -> None:
    """The headline statements of the publication: a block for each row, a line for each claim."""
    from slowstart.studies.page import headline_table

    several = len(findings.stacks) > 1
    columns = headline.columns(findings.study.headline)
    out.print()
    for row in headline_table(findings):
        out.print(Text(row["name"], "bold"))
        for column, cell in zip(columns, row["cells"], strict=True):
            for verdict, numbers in cell:
                stack = f"{verdict.stack}: " if several else ""
                line = Text.assemble(
                    (f"  {headline.SIGNS[verdict.word]} {verdict.word:<14} ",
                     _STYLES[verdict.word]),
                    f"{column}: ",
                    (f"{stack}{numbers}", "dim"),
                )  # fmt: skip
                out.print(line, soft_wrap=not sys.stdout.isatty())
    out.print()


def _show_fitted(out: Console, findings: Findings) -> None:
    """What the networks were fitted to, and what they predict."""
    study, long = findings.study, not sys.stdout.isatty()
    for name, allowed in study.allowed.items():
        calibration = study.calibrations[name]
        out.print(Text(f"{name}: fitted to, and predicted", "bold"), soft_wrap=long)
        out.print(Text(f"  {allowed.words}", "dim"), soft_wrap=long)
        for target in headline.fitted(calibration, allowed):
            out.print(Text(f"  fitted     {_fit(target)}"), soft_wrap=long)
        for verdict in headline.predicted(
            calibration, findings.verdicts, study.experiments, findings.stacks[0]
        ):
            words = f"{verdict.claim.words} {headline.numbers(verdict).capitalize()}"
            line = Text.assemble(
                "  predicted  ", words, ": ", (verdict.word, _STYLES[verdict.word])
            )
            out.print(line, soft_wrap=long)


def _fit(target: Mapping[str, Any]) -> str:
    """A target: published, at the chosen point, and over the allowed set."""
    found, reach = target["found"], target["reach"]
    words = f"{target['words']} ({target['statistic']}): published {plain(target['published'])}"
    if found is not None:
        words += f", here {plain(found, 3)} at the chosen point"
    if reach is not None and reach[0] != reach[1]:
        words += f", {plain(reach[0], 3)} to {plain(reach[1], 3)} over the allowed set"
    return words


def _show_claims(out: Console, findings: Findings) -> None:
    from slowstart.studies.page import claims_table

    several = len(findings.stacks) > 1
    if write_plain(*_plain_claims(findings)):
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("claim", ratio=3)
    table.add_column("agrees if", ratio=1)
    for stack in findings.stacks:
        table.add_column(stack if several else "measured", ratio=1)
        table.add_column("verdict", no_wrap=True)
        if not several:
            table.add_column("because", ratio=2)
    rows = claims_table(findings)
    for row in rows:
        claim = row["claim"]
        cells = [
            Text.assemble(claim.words, ("  " + claim.where, "dim")),
            Text(row["expected"]),
        ]
        for each in row["verdicts"]:
            verdict = each["verdict"]
            unit = f" {claim.unit}" if claim.unit and each["value"] != "-" else ""
            cells += [
                Text.assemble(each["value"] + unit, ("  " + each["detail"], "dim")),
                Text(verdict.word, _STYLES[verdict.word]),
            ]
            if not several:
                cells.append(Text(verdict.reason))
        table.add_row(*cells)
    out.print(table)


def _plain_claims(findings: Findings) -> tuple[list[str], list[list[str]]]:
    """The heads and rows of the claims: one row for each claim and stack."""
    from slowstart.studies.page import claims_table

    heads = ["claim", "where", "stack", "agrees if", "measured", "interval", "verdict", "because"]
    rows = []
    for row in claims_table(findings):
        claim = row["claim"]
        for each in row["verdicts"]:
            verdict = each["verdict"]
            unit = f" {claim.unit}" if claim.unit and each["value"] != "-" else ""
            measured = [each["value"] + unit, each["detail"]]
            head = [claim.words, claim.where, verdict.stack, row["expected"]]
            rows.append([*head, *measured, verdict.word, verdict.reason])
    return heads, rows


def _show_totals(out: Console, findings: Findings) -> None:
    from slowstart.studies.page import claims_table

    for stack in findings.stacks:
        totals = findings.numbers_of(stack)
        claims = sum(findings.claims_of(INDEPENDENT, stack).values())
        counted = (
            f"Of {sum(totals.values())} published numbers and statements {totals[AGREES]} agree, "
            f"{totals[DIFFERS]} differ, {totals[UNDECIDED]} are undecided, "
            f"{totals[NOT_IDENTIFIED]} are not identified, {totals[CANNOT_TEST]} cannot be tested "
            f"({claims} independent claims)"
        )
        name = f"{stack}: " if len(findings.stacks) > 1 else ""
        out.print(f"{name}{counted}", soft_wrap=True)
    if findings.dependent:
        left = "; ".join(
            f"{count} ({STANDINGS[standing]})" for standing, count in findings.dependent.items()
        )
        out.print(f"Not in these totals: {left}", soft_wrap=True)
    if findings.study.allowed and not findings.over_set and "simulated" in findings.stacks:
        names = ", ".join(findings.study.allowed)
        words = "judged at the chosen point alone, not over what the published baseline allows"
        out.print(Text(f"Claims about {names}: {words}"), soft_wrap=True)
    if findings.study.readings and not findings.over_set and "simulated" in findings.stacks:
        words = "; ".join(f"{each.name}: {each.answer}" for each in findings.study.readings)
        out.print(Text(f"Judged with one answer to what is left open: {words}"), soft_wrap=True)
    differing = [row for row in claims_table(findings) if _differs(row)]
    wrong = [row["claim"].name for row in differing if not row["explanation"].holds]
    if wrong and not findings.quick:
        out.print(Text(f"The explanation does not hold in these runs: {_few(wrong)}"))
    for sentence in (*findings.counted_once, *findings.equal_runs):
        out.print(sentence, markup=False, soft_wrap=not sys.stdout.isatty())
    if findings.quick:
        out.print("This was a quick run: fewer repetitions, so the verdicts are provisional.")


def show_claim(words: str, rows: Sequence[tuple[str, str]]) -> None:
    """Prints a claim: its words, and a line for each of its parts."""
    out = console()
    long = not sys.stdout.isatty()
    out.print(Text(words, "bold"), soft_wrap=long)
    width = max(len(head) for head, _ in rows)
    for head, said in rows:
        out.print(Text.assemble((f"{head:<{width}}  ", "dim"), said), soft_wrap=long)


def show_searches(title: str, found: Sequence[Search], folder: str) -> None:
    """Prints what each calibration allows."""
    out = console()
    long = not sys.stdout.isatty()
    out.print(Text(title, "bold"), soft_wrap=long)
    for each in found:
        allowed, names = each.allowed, list(each.calibration.parameters)
        out.print()
        head = f"{each.calibration.name}: {allowed.words}"
        out.print(Text(head, "bold"), soft_wrap=long)
        for target in headline.fitted(each.calibration, allowed):
            out.print(Text(f"  {_fit(target)}"), soft_wrap=long)
        for name in names:
            values = allowed.ranges[name]
            reach = str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"
            out.print(Text(f"  {name}: {reach}; chosen {allowed.chosen[name]}"), soft_wrap=long)
        for shipped in allowed.presets:
            why = each.calibration.apart.get(shipped.preset)
            words = f"  {shipped.words}" + (f". It stays: {why}" if why else "")
            out.print(Text(words, "" if shipped.met or why else "yellow"), soft_wrap=long)
        for name in each.calibration.edges(allowed.chosen):
            words = (
                f"  {name}: the chosen value is the last one searched: widen values, or give edge"
            )
            out.print(Text(words, "yellow"), soft_wrap=long)
    out.print()
    sys.stdout.write(f"The sets and every point tried are in {folder}\n")


_EXPLANATIONS = (
    ("without_experiment", "without an experiment"),
    ("arguments", "with an explanation that no run can contradict"),
    ("refuted", "with an explanation that these runs contradict"),
)
"""Independent claims that differ, by what their explanation is worth: key of totals, words."""


def show_totals(found: Sequence[Mapping[str, Any]]) -> None:
    """Prints the verdicts of each study by published number, and their sums."""
    words = list(found[0]["totals"])
    heads = [
        "study", "runs", "numbers", *words, "differs without an experiment",
        "explained by an argument", "explanation contradicted",
    ]  # fmt: skip
    rows = [
        [
            each["name"],
            "quick" if each["quick"] else "full",
            str(each["numbers"]),
            *(str(each["totals"][word]) for word in words),
            *(str(len(each[key])) for key, _ in _EXPLANATIONS),
        ]
        for each in found
    ]
    sums = [sum(int(row[place]) for row in rows) for place in range(2, len(heads))]
    rows.append(["all", "", *(str(each) for each in sums)])
    if write_plain(heads, rows):
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for place, head in enumerate(heads):
        table.add_column(head, justify="left" if place < 2 else "right")
    for row in rows:
        table.add_row(*row)
    out = console()
    out.print(table)
    for each in found:
        for key, saying in _EXPLANATIONS:
            if each[key]:
                out.print(Text(f"{each['name']} {saying}: {', '.join(each[key])}"), soft_wrap=True)


def searches(name: str, found: Sequence[Search]) -> dict[str, Any]:
    """What each calibration allows, as one JSON document."""
    return {
        "format": 1,
        "kind": "calibration",
        "version": __version__,
        "study": name,
        "calibrations": [
            {
                "name": each.calibration.name,
                "runs": each.allowed.runs,
                "searched": each.allowed.searched,
                "allowed": each.allowed.size,
                "held_at_least": each.allowed.low,
                "stable": each.allowed.stable,
                "meets_targets": each.allowed.met,
                "bound_se": each.bound,
                "chosen": dict(each.allowed.chosen),
                "judged": [dict(point) for point in each.allowed.judged],
                "shares": list(each.allowed.shares),
                "ranges": {key: list(values) for key, values in each.allowed.ranges.items()},
                "presets": [
                    {
                        "preset": one.preset,
                        "point": dict(one.point),
                        "distance_se": one.distance,
                        "meets_targets": one.met,
                        "apart": each.calibration.apart.get(one.preset),
                    }
                    for one in each.allowed.presets
                ],
                "points": [
                    {
                        "point": dict(tried.point),
                        "found": dict(tried.found),
                        "distance_se": tried.distance if tried.distance != math.inf else None,
                        "weight": tried.weight,
                        "weight_se": tried.error,
                        "allowed": tried.inside,
                    }
                    for tried in each.tried
                ],
            }
            for each in found
        ],
    }


def _differs(row: Mapping[str, Any]) -> bool:
    """Whether a claim differs on at least one stack."""
    return any(each["verdict"].word == DIFFERS for each in row["verdicts"])


def _few(parts: Sequence[str]) -> str:
    """The first four of a list, and the number of the others."""
    few = ", ".join(parts[:4])
    return few if len(parts) <= 4 else f"{few} and {len(parts) - 4} more"
