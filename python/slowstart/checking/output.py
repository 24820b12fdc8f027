"""What a check found: as JSON, and as JUnit XML for servers of continuous integration."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from slowstart._version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slowstart.checking.judge import Verdict
    from slowstart.checking.rules import Suite


def totals(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """How many rules passed, failed and were skipped."""
    counted = Counter(each.outcome for each in verdicts)
    return {name: counted[name] for name in ("passed", "failed", "skipped")}


def document(suite: Suite, verdicts: Sequence[Verdict]) -> str:
    """The JSON document."""
    found = {
        "format": 1,
        "version": __version__,
        "file": suite.file,
        **totals(verdicts),
        "rules": [asdict(each) for each in verdicts],
    }
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def junit(suite: Suite, verdicts: Sequence[Verdict]) -> str:
    """The JUnit XML document: a test suite for each case, without times, which would differ."""
    by_case: dict[str, list[Verdict]] = {}
    for each in verdicts:
        by_case.setdefault(each.case, []).append(each)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f"<testsuites name={quoteattr(suite.file)}{_counts(verdicts)}>")
    for case, some in by_case.items():
        lines.append(f"  <testsuite name={quoteattr(case)}{_counts(some)}>")
        for each in some:
            lines += _case(suite, each)
        lines.append("  </testsuite>")
    lines.append("</testsuites>")
    return "\n".join(lines) + "\n"


def _counts(some: Sequence[Verdict]) -> str:
    counted = totals(some)
    return f' tests="{len(some)}" failures="{counted["failed"]}" skipped="{counted["skipped"]}"'


def _case(suite: Suite, each: Verdict) -> list[str]:
    name = f"{each.rule} ({each.stack}, {each.algorithm})" if each.rule else each.case
    head = (
        f"    <testcase classname={quoteattr(each.case)} name={quoteattr(name)}"
        f' file={quoteattr(suite.file)} line="{each.line}"'
    )
    if each.outcome == "passed":
        return [f"{head}/>"]
    message = quoteattr(each.sentence)
    if each.outcome == "skipped":
        return [f"{head}>", f"      <skipped message={message}/>", "    </testcase>"]
    where = f"{suite.file}:{each.line}: {each.text}"
    return [
        f"{head}>",
        f"      <failure message={message}>{escape(where)}</failure>",
        "    </testcase>",
    ]
