"""A study's experiments on a user's file of Tmix connection vectors (``--tmix``).

An experiment whose traffic is ``synthetic``, the substitute for recorded connections, replays the
file instead: at the experiment's load, and again from its beginning when it ends. Run n takes the
parts of the file in the n-th order of the Common TCP Evaluation Suite. All else stays as it is.
Claims get no verdict: the published numbers belong to other connections.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart import stacks
from slowstart.errors import InputError
from slowstart.studies.files import toml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slowstart.studies.grid import Repetitions

KIND = "synthetic"
ORDERS = 3
"""The number of orders of the file, and so of runs that differ."""
_MOST = 4_000_000
"""The largest file in bytes: each scenario of a study holds all its connections."""
# A place in the text of a scenario, and the key there.
_PLACE = re.compile(r'^scenario[:\d]*: (\w+ = (".*?"|\S+): )?')
# What describes the substitute's connections, of which the file has its own.
_WORKLOAD = (
    "mean", "shape", "cut", "truncation", "size", "request", "request_sigma", "server_delay",
    "requests", "think", "think_sigma", "concurrent", "small_segments",
)  # fmt: skip


@dataclass(frozen=True)
class Replay:
    """A file that replaces the substitute."""

    file: Path
    sha256: str

    @classmethod
    def read(cls, file: str | Path) -> Replay:
        """Checks the file.

        Raises:
            InputError: There is no such file, or it has no valid connection vectors.
        """
        place = Path(file)
        try:
            size = place.stat().st_size
            content = place.read_bytes() if size <= _MOST else b""
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot read the connection vectors {file}: {reason}") from error
        if size > _MOST:
            raise InputError(
                f"{file} has {size / 1e6:.0f} MB: a study takes at most {_MOST / 1e6:.0f} MB of "
                "connection vectors, because each scenario holds them all"
            )
        found = cls(place.resolve(), hashlib.sha256(content).hexdigest())
        tree = {
            "path": {"rate": "10 Mbit/s", "rtt": "100 ms"},
            "duration": "1 s",
            "traffic": [found._replaced({"kind": KIND, "load": "10 %"}, 0)],
        }
        text = "".join(f"{key} = {toml(value)}\n" for key, value in tree.items())
        try:
            stacks.read(text, name="scenario", folder=str(found.file.parent))
        except InputError as error:
            # The errors of a vector name the file; the others name a place of the text above.
            reason = str(error)
            if reason.startswith("scenario:"):
                reason = f"{file}: {_PLACE.sub('', reason).partition(': give the table')[0]}"
            raise InputError(reason) from error
        return found

    def applies(self, tree: Mapping[str, Any]) -> bool:
        """Whether a scenario has traffic that the file replaces."""
        return any(each.get("kind") == KIND for each in tree.get("traffic", []))

    def applied(self, tree: Mapping[str, Any], order: int) -> dict[str, Any]:
        """A scenario that replays the file in one of its orders."""
        return {
            **tree,
            "traffic": [
                self._replaced(each, order) if each.get("kind") == KIND else each
                for each in tree["traffic"]
            ],
        }

    def _replaced(self, table: Mapping[str, Any], order: int) -> dict[str, Any]:
        kept = {key: value for key, value in table.items() if key not in _WORKLOAD}
        return {
            **kept, "kind": "tmix", "file": str(self.file), "repeat": True, "shuffle": order
        }  # fmt: skip

    def runs(self, repeated: Repetitions) -> Repetitions:
        """The runs of a cell: at most one in each order."""
        return replace(repeated, full=min(ORDERS, repeated.full), quick=min(ORDERS, repeated.quick))

    @property
    def said(self) -> str:
        """What the runs replay, and what that means."""
        return (
            f"These runs replay the connections of {self.file.name} (SHA-256 {self.sha256[:12]}) "
            "in place of the study's own workload. The published numbers belong to other "
            "connections and are not comparable, so no claim has a verdict."
        )
