"""What ``studies/suss-testbed`` cannot express as a statistic of runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slowstart.studies.estimates import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slowstart.studies.runner import Findings
    from slowstart.studies.store import Stack


def bdp_packets(findings: Findings, _: Stack, __: Mapping[str, Any]) -> Estimate | None:
    """The BDP of the wired path in full packets, as resolved."""
    for cell in findings.study.experiments["wired"].cells:
        if cell.scenario is not None:
            path = json.loads(cell.scenario.to_json())["path"]
            return Estimate(float(path["bdp_packets"]), None, None, None, 0, 0)
    return None
