"""The native module of slowstart."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, TypedDict

class OptionInfo(TypedDict):
    name: str
    default: str
    help: str

class AlgorithmInfo(TypedDict):
    name: str
    kind: str
    """``start-up``, ``avoidance``, ``recovery`` or ``congestion control`` (monolithic)."""
    summary: str
    source: str
    provenance: str
    """Its provenance: standard, Linux code, paper, or reconstruction."""
    options: list[OptionInfo]
    needs: list[str]
    """What it needs of its transport or of the path with default options: ``pacing``, ``routers``,
    ``memory`` (of earlier connections), ``known-path`` (only a simulator knows it), and others."""

class PathInfo(TypedDict):
    name: str
    summary: str
    source: str
    model: str
    """The model of its forward link: ``fixed``, ``varying``, or an access network."""
    toml: str
    """The keys of its ``[path]`` table, as a user would write them."""
    page: str
    """Its page in the documentation."""

class Sent:
    """A segment that was sent."""

    now_ns: int
    """Time, in nanoseconds since the run began."""
    size: int
    """Size in bytes, as counted in the window: a full segment counts ``smss``."""
    in_flight: int
    """Bytes in flight before this segment."""
    snd_nxt: int
    """Offset of the next byte to send, after this segment. Offsets count payload bytes from
    zero."""
    retransmission: bool
    """Whether the segment was sent before."""
    app_limited: bool
    """Whether the application, not the window, limited the sender."""

class Ack:
    """An acknowledgment."""

    now_ns: int
    """Time, in nanoseconds since the run began."""
    delivered: int
    """Bytes that this ACK reports as delivered, SACKed bytes included, each byte once."""
    newly_lost: int
    """Bytes declared lost while this ACK was processed; 0 in ``on_delivery``, which comes
    before."""
    prior_in_flight: int
    """Bytes in flight before this ACK."""
    in_flight: int
    """Bytes in flight after this ACK; in ``on_delivery`` before losses are marked."""
    snd_una: int
    """Offset of the first byte not acknowledged, after this ACK. Offsets count payload bytes from
    zero."""
    snd_nxt: int
    """Offset of the next byte to send, before this ACK releases any segment."""
    advanced: bool
    """Whether ``snd_una`` advanced."""
    bytes_sent: int
    """Payload bytes sent so far, retransmissions included."""
    latest_rtt_ns: int | None
    """Round-trip time in nanoseconds of the newest segment that this ACK delivered and that was
    sent once; ``None`` if there is no such segment."""
    srtt_ns: int
    """Smoothed round-trip time, in nanoseconds."""
    min_rtt_ns: int
    """Smallest round-trip time of the last five minutes, in nanoseconds."""
    delivery_rate: int | None
    """Delivery rate in bit/s, measured over the flight of the newest segment that this ACK
    delivered, as in Linux. ``None`` without a valid sample, in ``on_delivery``, and for an
    avoidance."""
    cwnd_limited: bool
    """Whether the window limited the sender."""
    app_limited: bool
    """Whether the application limited the sender: it had no data to send, and what was in flight
    then is not all delivered."""
    phase: str
    """State of the sender, as in Linux: ``"open"``, ``"disorder"``, ``"cwr"`` (a reduction after a
    mark), ``"recovery"`` (a reduction after a loss) or ``"loss"`` (after a timeout)."""

class Window:
    """The window, in bytes."""

    cwnd: int
    """Congestion window, in bytes."""
    ssthresh: int | None
    """Slow-start threshold, in bytes; ``None`` until it is first set. The sender is in slow start
    while ``cwnd`` is below it."""
    smss: int
    """Sender maximum segment size: payload bytes of a full segment."""

class Congestion:
    """The beginning of a congestion episode."""

    now_ns: int
    """Time, in nanoseconds since the run began."""
    kind: str
    """``"loss"``, ``"ecn"`` (a mark) or ``"timeout"``."""
    phase: str
    """State of the sender before the episode, as in ``Ack.phase``."""
    in_flight: int
    """Bytes in flight, without what was lost."""
    snd_nxt: int
    """Offset of the next byte to send. Offsets count payload bytes from zero."""
    first_of_window: bool
    """False if a timeout repeats for the same window."""

def version() -> str:
    """The version of slowstart."""

def algorithms() -> list[AlgorithmInfo]:
    """All parts that the name of an algorithm can contain."""

def paths() -> list[PathInfo]:
    """The preset paths."""

def characterize(
    path: str, *, seed: int, duration: str, every: str
) -> tuple[str, Table, list[tuple[str, float, int]], Table]:
    """Observes a path without TCP.

    Returns the resolved path (JSON); the departures from saturated links; the name, end time and
    packet size of each link; and the probes. Background traffic on the path extends the observation
    by its warm-up.
    """

def topology(path: str) -> str:
    """The nodes, links, hosts and routes of a path and of the flows of its file (JSON)."""

def characterize_network(path: str, *, seed: int, duration: str) -> str | None:
    """An ad-hoc network or a constellation over time (JSON); None if the path has none."""

def probing(path: str, *, seed: int, duration: str) -> Scenario:
    """A scenario with a path's background traffic and a probe flow of occasional full packets."""

def median_interval(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """The median and its 95 % interval by order statistics, as in every summary.

    The bounds are ``None`` for fewer than six values, and all three are ``None`` for no values.
    """

def analyze_file(file: str | PathLike[str], *, points: int = 0, numbers: Sequence[int] = ()) -> str:
    """Analyzes a capture or log; returns its report (JSON).

    Each connection has at most ``points`` points for figures; in a capture only those of
    ``numbers``, if there are any.

    Raises:
        slowstart.InputError: The file cannot be read, or has no known format.
    """

class Census:
    """The input files of a census, and how they are divided into parts.

    Args:
        inputs: Files and folders.
        folder: What is in this folder is no input.

    Raises:
        slowstart.InputError: One of ``inputs`` cannot be read.
    """

    def __init__(
        self, inputs: Sequence[str | PathLike[str]], folder: str | PathLike[str]
    ) -> None: ...
    @property
    def files(self) -> int:
        """Number of files."""
    @property
    def bytes(self) -> int:
        """Bytes of all files."""
    @property
    def parts(self) -> int:
        """Number of parts."""
    @property
    def digest(self) -> str:
        """A digest of the names, sizes and times of all files."""
    def run(
        self,
        folder: str | PathLike[str],
        *,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        """Reads the parts that are not in ``folder`` yet; ``progress`` gets bytes done and of all.

        Raises:
            slowstart.RunError: A file cannot be written.
        """

def census_edges() -> tuple[list[float], list[int]]:
    """Upper edges of the groups of smallest RTTs in ms, and of sizes in bytes, of a census."""

def write_capture(
    scenario: Scenario, file: str | PathLike[str], *, run: int, vantages: Sequence[str]
) -> int:
    """Simulates a run and writes its packets to a new pcapng file; returns how many."""

def replay_file(
    file: str | PathLike[str], *, numbers: Sequence[int], algorithms: Sequence[str]
) -> str:
    """Replays connections of a capture into congestion controls; returns a list (JSON).

    Raises:
        slowstart.InputError: The file cannot be read, or an algorithm is not valid.
    """

def compare_file(
    file: str | PathLike[str], *, numbers: Sequence[int], algorithms: Sequence[str]
) -> str:
    """Compares what congestion controls would have had in flight with what the senders had.

    Returns a list (JSON), one comparison per connection.

    Raises:
        slowstart.InputError: The file cannot be read, or an algorithm is not valid.
    """

def write_mahimahi(scenario: Scenario, file: str | PathLike[str], *, run: int) -> int:
    """Simulates a run and writes a new log of Mahimahi; returns the packets that entered."""

def analyze_simulated(
    scenario: Scenario, *, run: int, vantage: str, algorithms: Sequence[str] = ()
) -> str:
    """Simulates a run, analyzes its capture at ``vantage``, and returns JSON, a list of flows.

    A flow has ``truth``, ``found``, ``last_new_s`` (when its last new data left, since the SYN),
    ``limits`` (seconds by true and by found cause) and ``digest`` (of the capture); with
    ``algorithms`` also ``comparison`` (as in :func:`compare_file`).
    """

def quic_packets(scenario: Scenario, *, run: int) -> str:
    """Runs a scenario on its QUIC stack, and returns the packets of its senders.

    The answer is JSON, a list of flows with ``name``, ``algorithm``, ``result`` and ``packets``:
    ``at_ns``, ``event`` (sent, acked, lost), ``number``, ``space`` and ``bytes``.
    """

def run_vector(file: str | PathLike[str]) -> str:
    """Runs a conformance vector, or a folder of them; returns a JSON list of reports."""

def run_script(file: str, stack: str, algorithm: str | None = None, tolerance_ms: int = 10) -> str:
    """Runs a packetdrill script on a stack; returns a report as a JSON object."""

def stream_profiles() -> list[str]:
    """The profiles of random streams."""

def compare_stream(profile: str, seed: int, shrinks: bool) -> str:
    """Compares the simulated TCP with the kernel over a random stream; returns a JSON object."""

def parse_toml(text: str, name: str) -> tuple[dict[str, Any], dict[tuple[str | int, ...], int]]:
    """Parses TOML; returns the document, and the line of each value by its path of keys.

    Raises:
        slowstart.InputError: ``text`` is invalid TOML. The message has ``name`` and the line.
    """

def read_text(file: str | PathLike[str], limit: int) -> str:
    """Reads the text of a regular file (no device or pipe) of at most ``limit`` bytes.

    Raises:
        slowstart.InputError: The file cannot be read, is larger, or is not UTF-8 text.
    """

def run_to_files(
    scenarios: Sequence[Scenario],
    files: Mapping[str, PathLike[str]],
    scratch: PathLike[str],
    *,
    threads: int | None = None,
    runs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[Table, str]:
    """Runs scenarios and writes tables to new Parquet files.

    The tables are ``flows``, ``links``, ``traffic``, ``responses``, ``epochs`` and ``queues``.

    Numbers that the summary needs again go to the new file ``scratch``. Returns the summary, and
    the overview of :mod:`slowstart.tables` as JSON.
    """

def run_batch(
    scenarios: Sequence[Scenario],
    *,
    threads: int | None = None,
    traces: bool = False,
    runs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    links: bool = True,
) -> Result:
    """Simulates all runs of all scenarios; see :func:`slowstart.run`.

    Without ``links``, the time series are those of flows alone.
    """

def stacks() -> list[dict[str, Any]]:
    """The QUIC stacks: ``name``, ``version``, and ``own``, pairs of a name and a summary."""

def foreign_stack(given: str) -> dict[str, Any]:
    """What a stack of others states, as an entry of :func:`stacks`; it is started once.

    Raises:
        slowstart.InputError: It cannot be started, or does not state its name.
    """

def conform_stack(given: str) -> list[tuple[str, str | None]]:
    """Each rule of the interface of stacks, and what the stack did against it, or ``None``.

    Raises:
        slowstart.InputError: ``given`` is no program.
    """

def serve_stack(file: str) -> None:
    """Serves the stack of a shared object on standard input and output until the input ends."""

def refusal(stack: str, algorithm: str) -> str | None:
    """Why a QUIC stack does not run an algorithm; ``None`` if it does."""

def enter_user_namespace() -> None:
    """Moves this process to a user namespace, unless it may make network namespaces already.

    Call it before the process starts any thread.

    Raises:
        slowstart.InputError: The system does not allow it.
    """

def kernel_tick_us() -> int:
    """The length of the running kernel's tick, in microseconds; 0 if it is unknown."""

def check_linux(scenarios: Sequence[Scenario], *, switch_hystart: bool = False) -> None:
    """Checks that this machine, this user and this kernel can run ``scenarios``.

    Raises:
        slowstart.InputError: Something is missing.
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
    """Makes all runs of all scenarios on the running kernel; see :func:`slowstart.run`.

    ``traces`` is ``none``, ``first`` (each scenario's first valid run) or ``all``.
    """

def check_real(scenarios: Sequence[Scenario]) -> None:
    """Checks that the stacks of ``scenarios`` and this machine can run them in real time.

    Raises:
        slowstart.InputError: Something is missing.
    """

def run_real(
    scenarios: Sequence[Scenario],
    *,
    traces: str = "none",
    runs: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Result:
    """Makes all runs of all scenarios in real time, on the stacks that they have.

    ``traces`` is ``none``, ``first`` (each scenario's first valid run) or ``all``.
    """

def kernel_load(names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Loads congestion controls into the running kernel until they are unloaded.

    ``names`` are algorithms or their names in the kernel; a standard set if empty. Returns the
    kernel's name, the algorithm, and a one-line description of each.

    Raises:
        slowstart.InputError: A name is invalid, or something is missing.
        slowstart.RunError: The kernel rejected a program.
    """

def kernel_unload(names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Unloads congestion controls; all of this project's if ``names`` is empty."""

def kernel_status(names: Sequence[str]) -> str:
    """A JSON document: loaded congestion controls, available ones, and missing requirements."""

Parts = tuple[str, str, str, str]
"""The paths of QEMU, the kernel, the folder of its modules, and the guest program."""

def check_vm(parts: Parts, scenarios: Sequence[Scenario]) -> None:
    """Checks that the kernel of the virtual machine can run ``scenarios``.

    Raises:
        slowstart.InputError: Something is missing.
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
    """Makes each run of each scenario in its own virtual machine; see :func:`slowstart.run`.

    ``traces`` is ``none``, ``first`` (each scenario's first run, if it is valid) or ``all``.
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
    host: bool = False,
) -> tuple[int, list[str], bool]:
    """Runs a command behind a path; with ``host``, the other end is this host.

    Returns the command's exit status, the reasons why the emulation failed its timing self-check,
    and whether the server command listened in time (true without one). An existing capture or log
    that is not empty is an error unless ``force`` is set.

    ``watch`` is called with the elapsed seconds, and for the forward link with the delivered IP
    bytes, the queued packets, and the packets dropped and marked.
    """

class Scenario:
    """A resolved scenario. It is immutable."""

    @staticmethod
    def from_file(file: str | PathLike[str]) -> Scenario:
        """Reads a scenario file (TOML).

        Raises:
            slowstart.InputError: The file is invalid. The message has file, line and column.
        """

    @staticmethod
    def from_toml(text: str, *, name: str = "text", folder: str | PathLike[str] = "") -> Scenario:
        """Reads a scenario from ``text``; ``name`` stands for the file in messages.

        Relative paths of traces start at ``folder``.
        """

    @staticmethod
    def from_tomls(
        texts: Sequence[str], *, name: str = "text", folder: str | PathLike[str] = "", seed: int
    ) -> list[Scenario]:
        """The scenarios of many texts, each with one run and this seed; on all cores."""

    @staticmethod
    def definitions(scenarios: Sequence[Scenario]) -> list[str]:
        """``definition()`` of each scenario; on all cores."""

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
        """One scenario per algorithm; with ``together``, a single one where they share the path."""

    def with_runs(self, *, runs: int | None = None, seed: int | None = None) -> Scenario:
        """The same scenario with another number of runs or another first seed."""

    def with_names(self, name: str | None = None, *, flows: Mapping[str, str] = {}) -> Scenario:
        """The same scenario with another name, and other names of its flows.

        The column ``scenario`` of every table has the scenario's name, and ``name`` that of the
        flow.

        Args:
            name: Its name; unchanged if ``None``.
            flows: New names of flows, by the present ones.
        """

    def with_hosts(
        self, *, tick_us: int, autotuning: str | None = None, burst_bps: int | None = None
    ) -> Scenario:
        """The same scenario with hosts as a kernel has them.

        Args:
            tick_us: The length of their tick; 0 for exact timers.
            autotuning: How receivers size their windows, as the key of a flow; unchanged if
                ``None``.
            burst_bps: The rate in bit/s at which the packets of a burst leave the sending host, as
                of ``[[hosts]]``; all at once if ``None``. A path with hosts of its own keeps them.

        Raises:
            InputError: There is no such autotuning.
        """

    def on(self, stack: str, own: str | None = None) -> Scenario:
        """The same scenario on another stack in virtual time.

        Args:
            stack: ``simulated``, or a QUIC stack (:func:`stacks`).
            own: One of the stack's own controllers for all flows: ``own``, ``own:bbr``.

        Raises:
            slowstart.InputError: The stack does not support the scenario.
        """

    @property
    def stack(self) -> str:
        """The stack that runs it."""

    @property
    def own(self) -> str | None:
        """The stack's own controller that all flows have."""

    def with_algorithms(self, algorithms: Mapping[str, str]) -> Scenario:
        """The same scenario with other algorithms of its flows, by their names, which stay."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def path(self) -> str:
        """The name of its path."""

    @property
    def is_random(self) -> bool:
        """Whether two of its runs may differ: false only where no part draws random numbers."""

    @property
    def runs(self) -> int:
        """The number of runs."""

    @property
    def seed(self) -> int:
        """Seed of the first run."""

    @property
    def flows(self) -> list[str]:
        """The names of its flows, in order."""

    def to_json(self) -> str:
        """The resolved scenario, as in ``scenario`` of a result document."""

    @property
    def resolved(self) -> dict[str, Any]:
        """The resolved scenario as a shared dictionary: do not modify it."""

    def to_exact_json(self) -> str:
        """The whole scenario as JSON, for :meth:`from_exact_json` of the same version."""

    @staticmethod
    def from_exact_json(text: str) -> Scenario:
        """The scenario of :meth:`to_exact_json`.

        Raises:
            slowstart.InputError: It is not such a text.
        """

    def definition(self) -> str:
        """Everything that determines a run except its seed, including recorded traces, as JSON.

        It is equal for scenarios that differ only in the seed and the number of runs.
        """

class Result:
    """The measurements of all runs, ordered by scenario and run."""

    def to_json(self) -> str:
        """The result document (``"format": 2``), indented."""

    def write_json(self, file: str | PathLike[str]) -> None:
        """Writes the result document to a new file, and a line end."""

    def select(self, index: int) -> Result:
        """The results of one scenario."""

    def flows(self) -> Table:
        """One row per flow and run."""

    def links(self) -> Table:
        """One row per link and run."""

    def traffic(self) -> Table:
        """One row per source of background traffic and run; empty if there is none."""

    def networks(self) -> Table:
        """One row per run over an ad-hoc network or a constellation; empty without one."""

    def network_drops(self) -> Table:
        """One row per cause for which such a network lost packets, and run."""

    def nodes(self) -> Table:
        """One row per node of such a network, and run."""

    def responses(self) -> Table:
        """One row per class of response sizes, source of background traffic and run.

        The first row of each source is over all sizes and has no ``to_bytes``. Empty without
        connections in which both sides write.
        """

    def epochs(self) -> Table:
        """One row per request and response, of the sources with ``list_flows = true``."""

    def queues(self) -> Table:
        """One row per percentile (0 to 100) of the queue, link and run; empty if not requested."""

    def overview(self) -> str:
        """The overview of :mod:`slowstart.tables` as JSON."""

    def summary(self) -> Table:
        """One row per path and flow name: medians with 95 % intervals."""

    def untrusted(self) -> list[tuple[int, int, list[str]]]:
        """Kernel runs that failed the timing self-check: index of scenario, run, and reasons."""

    def flow_traces(self, columns: Sequence[str] | None = None) -> Table:
        """One row per ACK of each flow and run; needs ``traces=True``.

        Args:
            columns: The columns to make, which takes less time and memory than all of them; the
                table has them in the order of the whole table.

        Raises:
            slowstart.InputError: No time series were recorded, ``columns`` is empty, or a name in
                it is no column.
        """

    def link_traces(self) -> Table:
        """One row per packet offered to a link; needs ``traces=True``."""

    def __len__(self) -> int: ...

class Table:
    """An Arrow table; polars, pyarrow and pandas can use it without copying."""

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, which include their units."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
