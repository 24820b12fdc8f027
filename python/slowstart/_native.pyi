"""The compiled half of slowstart."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypedDict

class OptionInfo(TypedDict):
    name: str
    default: str
    help: str

class AlgorithmInfo(TypedDict):
    name: str
    kind: str
    """``start-up``, ``avoidance``, ``recovery`` or ``congestion control`` (all three)."""
    summary: str
    source: str
    provenance: str
    """How sure this project is of it."""
    options: list[OptionInfo]

class PathInfo(TypedDict):
    name: str
    summary: str
    source: str
    model: str
    """What serves its forward link: ``fixed``, ``varying``, or a model of an access network."""
    page: str
    """The page about it in the project."""

class Sent:
    """A segment that left."""

    now_ns: int
    size: int
    """Bytes, as the window counts them."""
    in_flight: int
    """Bytes in flight before it."""
    snd_nxt: int
    retransmission: bool
    app_limited: bool

class Ack:
    """An acknowledgment."""

    now_ns: int
    delivered: int
    """Bytes that it delivered, SACKed ones among them."""
    prior_in_flight: int
    in_flight: int
    snd_una: int
    snd_nxt: int
    bytes_sent: int
    latest_rtt_ns: int | None
    srtt_ns: int
    min_rtt_ns: int
    cwnd_limited: bool
    app_limited: bool

class Window:
    """The window, in bytes."""

    cwnd: int
    ssthresh: int | None
    """``None`` while it was never set."""
    smss: int

def version() -> str:
    """The version of slowstart."""

def algorithms() -> list[AlgorithmInfo]:
    """Every part that can stand in the name of an algorithm."""

def paths() -> list[PathInfo]:
    """The presets of paths."""

def look(
    path: str, *, seed: int, duration: str, every: str
) -> tuple[str, Table, list[tuple[str, float, int]], Table]:
    """A path without TCP: resolved (JSON), packets, name, end, packet size of links, and probes.

    With other traffic on the path it lasts longer by that traffic's warm-up.
    """

def probing(path: str, *, seed: int, duration: str) -> Scenario:
    """A run of the other traffic on a path, beside one flow that sends a full packet at times."""

def median_interval(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """The median and its 95 % interval by order statistics, as in every summary.

    The ends are ``None`` for fewer than six values, all three for none.
    """

def run_vector(file: str | PathLike[str]) -> str:
    """Runs a conformance vector, or those of a folder; a JSON list with a report for each."""

def parse_toml(text: str, name: str) -> tuple[dict[str, Any], dict[tuple[str | int, ...], int]]:
    """A TOML document, and the line of each of its values by the keys that lead to it.

    Raises:
        slowstart.InputError: It is no TOML; with ``name`` and the line.
    """

def read_text(file: str | PathLike[str], limit: int) -> str:
    """The text of a regular file of at most ``limit`` bytes, and of no device or pipe.

    Raises:
        slowstart.InputError: It cannot be read, is larger, or is no text.
    """

def run_batch(
    scenarios: Sequence[Scenario],
    *,
    threads: int | None = None,
    traces: bool = False,
    runs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Result:
    """Runs every run of every scenario; see :func:`slowstart.run`."""

def enter_user_namespace() -> None:
    """Where this process may not make network namespaces: moves it into a user namespace.

    To be called before any thread is started.

    Raises:
        slowstart.InputError: That is not allowed.
    """

def check_linux(scenarios: Sequence[Scenario], *, switch_hystart: bool = False) -> None:
    """Refuses what this machine, this user or this kernel cannot run.

    Raises:
        slowstart.InputError: What is missing, in one sentence.
    """

def run_linux(
    scenarios: Sequence[Scenario],
    *,
    traces: str = "none",
    runs: int | None = None,
    force: bool = False,
    switch_hystart: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Result:
    """Runs every run of every scenario on the running kernel; see :func:`slowstart.run`.

    ``traces`` is ``none``, ``first`` (of each scenario's first run that counts) or ``all``.
    """

def kernel_load(names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Loads congestion controls into the running kernel until they are unloaded.

    ``names`` are algorithms, or what the kernel calls them; a small selection if empty. Returns of
    each that was loaded the kernel's name, the algorithm, and a line about it.

    Raises:
        slowstart.InputError: What is missing, or wrong.
        slowstart.RunError: The kernel refuses.
    """

def kernel_unload(names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Unloads congestion controls, all of this project's if ``names`` is empty."""

def kernel_status(names: Sequence[str]) -> str:
    """What is loaded, what may be (of ``names``), and what that lacks: a JSON document."""

Parts = tuple[str, str, str, str]
"""QEMU, the kernel, the folder of its modules, and the program that runs in the machine."""

def check_vm(parts: Parts, scenarios: Sequence[Scenario]) -> None:
    """Refuses what the kernel of a virtual machine cannot run.

    Raises:
        slowstart.InputError: What is missing, in one sentence.
    """

def run_vm(
    parts: Parts,
    scenarios: Sequence[Scenario],
    *,
    traces: str = "none",
    runs: int | None = None,
    threads: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Result:
    """Runs every run of every scenario in a virtual machine of its own; see :func:`slowstart.run`.

    ``traces`` is ``none``, ``first`` (of each scenario's first run, if it counts) or ``all``.
    """

def emulate(
    path: str,
    command: Sequence[str],
    *,
    seed: int,
    upload: bool = False,
    capture: str | PathLike[str] | None = None,
    capture_side: str = "sender",
    log: str | PathLike[str] | None = None,
    force: bool = False,
    server_command: str | None = None,
    watch: Callable[[float, int, int, int, int], object] | None = None,
) -> tuple[int, list[str], bool]:
    """Runs a command behind a path: its exit status, and why not to believe the emulation.

    A capture or log that exists and is not empty is refused; ``force`` replaces it. The last is
    whether the server command listened in time; true without one.

    ``watch`` is called with the seconds so far, and of the forward link the IP bytes delivered, the
    packets that wait, and the packets dropped and marked.
    """

class Scenario:
    """A resolved scenario. It never changes."""

    @staticmethod
    def from_file(file: str | PathLike[str]) -> Scenario:
        """Reads a scenario file (TOML).

        Raises:
            slowstart.InputError: With file, line, column, and the nearest known key.
        """

    @staticmethod
    def from_toml(text: str, *, name: str = "text", folder: str | PathLike[str] = "") -> Scenario:
        """Reads a scenario from ``text``; ``name`` stands for the file in messages.

        Traces are looked up from ``folder``.
        """

    @staticmethod
    def compare(
        path: str,
        algorithms: Sequence[str],
        *,
        size: str | None = None,
        duration: str | None = None,
        runs: int,
        seed: int,
        initial_window: int,
        pacing: bool = False,
        flows: int,
        stagger: str | None = None,
        together: bool = False,
    ) -> list[Scenario]:
        """One scenario for each algorithm; with ``together`` one in which they share the path."""

    def with_runs(self, *, runs: int | None = None, seed: int | None = None) -> Scenario:
        """The same scenario with another number of runs, or another seed of the first run."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def path(self) -> str:
        """The name of its path."""

    @property
    def runs(self) -> int:
        """How often it is run."""

    @property
    def seed(self) -> int:
        """Seed of the first run."""

    @property
    def flows(self) -> list[str]:
        """The names of its flows, in order."""

    def to_json(self) -> str:
        """The scenario as resolved: what ``scenario`` is in a result document."""

    @property
    def resolved(self) -> dict[str, Any]:
        """The scenario as resolved, as a dictionary that is shared: do not change it."""

    def definition(self) -> str:
        """All that decides a run of a given seed, recorded traces included, as JSON.

        Equal for two scenarios that are the same up to the seed and the number of runs.
        """

class Result:
    """What was measured, scenario by scenario and run by run."""

    def to_json(self) -> str:
        """The result document (``"format": 2``), indented."""

    def select(self, index: int) -> Result:
        """The results of one scenario alone."""

    def flows(self) -> Table:
        """One row for each flow of each run."""

    def links(self) -> Table:
        """One row for each link of each run."""

    def traffic(self) -> Table:
        """One row for each kind of other traffic of each run; none where there is none."""

    def summary(self) -> Table:
        """One row for each path and flow name: medians with 95 % intervals."""

    def untrusted(self) -> list[tuple[int, int, list[str]]]:
        """Runs on a kernel that are not to be believed: scenario, run, and why."""

    def flow_traces(self) -> Table:
        """One row for each ACK; only of runs with ``traces=True``."""

    def link_traces(self) -> Table:
        """One row for each packet offered to a link; only of runs with ``traces=True``."""

    def __len__(self) -> int: ...

class Table:
    """An Arrow table, which polars, pyarrow and pandas take without copying."""

    @property
    def column_names(self) -> list[str]:
        """Names of the columns; each carries its unit."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
