"""``slowstart probe``, and identification of QUIC senders from qlog."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slowstart import InputError, stacks
from slowstart._native import Scenario, analyze_file, compare_file
from slowstart.analysis import identify, identify_probe, identify_quic, likelihood, probe
from slowstart.commands.cli import invoke
from slowstart.store import exports

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/net/tun").exists(), reason="needs root and /dev/net/tun"
)


@needs_root
def test_a_server_is_probed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine fails the timing self-check, which only repeats the download.
    monkeypatch.setattr(probe, "TRIES", 1)
    folder = tmp_path / "probed"
    code = invoke([
        "probe", "--url", "http://{server}:8000/", "--path", "wired", "--size", "3 MB", "--json",
        "-o", str(folder), "--", sys.executable, "-I", "-c", identify_probe.SERVER, "reno",
    ])  # fmt: skip
    printed = capsys.readouterr().out
    assert code == 0
    document = json.loads(printed)
    (download,) = document["downloads"]
    assert download["bytes"] >= 3_000_000
    assert document["identification"]["candidates"][0]["initial_window_segments"] == 10
    assert document["identification"]["sentence"].startswith("The server's start-up is")
    assert json.loads((folder / "result.json").read_text())["captured_at"] == "sender"
    page = (folder / "report.html").read_text()
    assert "over wired" in page
    records = re.search(r"wired\.pcapng: pcapng, (\d+) records", page)
    assert records is not None
    assert int(records[1]) > 2000
    assert analyze_file(folder / "wired.pcapng")
    assert not list(folder.glob(".client*"))


@needs_root
def test_an_answer_that_is_no_file_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["probe", "--url", "http://{server}:8000/none", "--path", "dsl", "--"]
    assert invoke([*command, sys.executable, "-m", "http.server", "8000"]) == 1
    assert "with HTTP/1.0 404" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--", "python3"], "name what to download with --url"),
        (["--url", "http://example.org/f", "--", "python3"], "the server must be on it"),
        (["--url", "ftp://{server}/f", "--", "python3"], "a URL has the form"),
        (["--url", "http://{server}:x/", "--", "python3"], "a URL has the form"),
        (["--url", "tcp://{server}", "--", "python3"], "tcp needs a port"),
        (["--url", "http://{server}/", "--", "no-such-program"], "there is no such program"),
        (["--url", "http://{server}/", "--size", "12", "--", "python3"], "a size has a unit"),
        (["--url", "http://{server}/", "--path", "nowhere", "--", "python3"], "neither the name"),
    ],
)
def test_wrong_words_are_refused(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["probe", *words]) == 2
    assert sentence in capsys.readouterr().err


def test_the_address_of_a_url() -> None:
    assert probe.address("localhost:8000/a?b=c") == ("http", probe.SERVER, "8000", "/a?b=c")
    assert probe.address("https://{server}") == ("https", probe.SERVER, "443", "/")


def test_a_download_that_shows_something_else_does_not_decide() -> None:
    names = ["cubic+standard", "cubic+hystart", "cubic+search"]

    def comparison(off: dict[str, float]) -> dict[str, Any]:
        moments = [{"in_flight_bytes": 100_000, "counts": True} for _ in range(20)]
        tracks = [
            {"algorithm": name, "paced": False, "paces": False, "exit": None,
             "in_flight_bytes": [int(100_000 * (1 + off[name]))] * 20}
            for name in names
        ]  # fmt: skip
        return {"why": None, "segment_bytes": 1000, "first_flight_bytes": 10_000,
                "moments": moments, "tracks": tracks}  # fmt: skip

    clear = comparison({"cubic+standard": 0.5, "cubic+hystart": 0.002, "cubic+search": 0.5})
    wrong = comparison({"cubic+standard": 0.5, "cubic+hystart": 0.9, "cubic+search": 0.0})
    connections = [{"number": n, "vantage": "sender", "sender": f"a:{n}"} for n in range(3)]
    found = identify.judge(connections, [clear, clear, wrong], fault=probe.FAULT)
    assert found.candidates[0].names == ("hystart",)
    assert found.unlike == (("a:2", "search"),)


def test_what_is_known_before_a_capture_counts_once() -> None:
    weights = likelihood.before(20)
    assert weights.sum() == pytest.approx(1)
    assert weights[-1] / weights[:-1].sum() == pytest.approx(likelihood.UNKNOWN)


def qlog(folder: Path, control: str, stack: str = "quinn", path: str = "wired") -> Path:
    algorithm = stacks.placeholder(control)
    text = f'[path]\npreset = "{path}"\n[[flow]]\nalgorithm = "{algorithm}"\nsize = "3 MB"\n'
    text = f"seed = 100\n{text}"
    scenario = stacks.placed(Scenario.from_toml(text), stack, control)
    file = folder / "flow.qlog"
    file.write_bytes(exports.as_qlog(exports.of_packets(scenario, 0)))
    return file


@pytest.mark.parametrize(
    ("control", "name"),
    [("own:cubic", "standard"), ("cubic+hystart", "hystart"), ("cubic+limited", "limited")],
)
def test_the_start_up_of_a_quic_sender_is_named(control: str, name: str, tmp_path: Path) -> None:
    (found,) = identify.identify(qlog(tmp_path, control))
    assert found.why is None
    assert name in found.candidates[0].names
    assert found.candidates[0].paced
    assert found.candidates[0].initial_window == 10


@pytest.mark.parametrize(
    ("stack", "control"),
    [("quinn", "cubic+hystart++"), ("quinn", "cubic+packet-pair"), ("noq", "cubic+hystart++"),
     ("noq", "cubic+forecast")],
)  # fmt: skip
def test_the_replay_counts_the_bytes_of_the_handshake_as_the_stack_does(
    stack: str, control: str, tmp_path: Path
) -> None:
    """A jitter of seconds shows a round trip that ends a few packets early."""
    (found,) = identify.identify(qlog(tmp_path, control, stack, "geo"))
    assert found.why is None
    assert found.candidates[0].names == (identify.start_up(control),)
    assert found.candidates[0].probability > found.none_of_these


def test_a_start_up_that_sets_its_window_shares_a_row_with_such_a_stack(tmp_path: Path) -> None:
    (found,) = identify.identify(qlog(tmp_path, "cubic+initial-start", path="geo"))
    assert {"initial-start", "standard"} <= set(found.candidates[0].names)


def test_a_capture_that_decides_between_two_windows_keeps_two_rows() -> None:
    def fitted(surprise: float, flight: float, own: int | None) -> likelihood.Fitted:
        return likelihood.Fitted("any", paced=True, surprise=surprise, exit=None,
                                 in_flight=np.full(40, flight), own_window=own,
                                 begun={13_248: np.full(40, 13_248.0)})  # fmt: skip

    constants = likelihood.CONSTANTS["quic"]
    own = fitted(0.010, 13_248, 13_248)
    for surprise, is_same in ((0.011, True), (0.1, False)):
        other = fitted(surprise, 16_000, None)
        assert likelihood.is_same(own, other, 1472, constants) is is_same
        assert likelihood.is_same(other, own, 1472, constants) is is_same
    # Without a window of its own, another flight is another sender.
    assert not likelihood.is_same(
        fitted(0.010, 13_248, None), fitted(0.010, 16_000, None), 1472, constants
    )


def test_a_qlog_without_frames_has_the_bytes_in_flight(tmp_path: Path) -> None:
    """Such as quinn's own: no ACK frames, and the bytes in flight after each ACK."""
    file = qlog(tmp_path, "own:cubic")
    known = json.loads(compare_file(file, numbers=[1], algorithms=["cubic+standard"]))[0]
    document = json.loads(file.read_text())
    events, sizes, flight = [], {}, 0
    for event in document["traces"][0]["events"]:
        header = event["data"]["header"]
        if header["packet_type"] != "1RTT":
            events.append(event)
            continue
        if event["name"].endswith("packet_sent"):
            sizes[header["packet_number"]] = event["data"]["raw"]["length"]
            flight += event["data"]["raw"]["length"]
            events.append({**event, "data": {"header": {
                **header, "length": event["data"]["raw"]["length"]}}})  # fmt: skip
        elif event["name"].endswith("packet_received"):
            for low, high in event["data"]["frames"][0]["acked_ranges"]:
                flight -= sum(sizes.pop(number, 0) for number in range(low, high + 1))
            events.append({"time": event["time"], "name": "recovery:metrics_updated",
                           "data": {"bytes_in_flight": flight}})  # fmt: skip
        else:
            events.append(event)
    bare = tmp_path / "bare.sqlog"
    head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {"title": "bare"}}
    bare.write_text("".join(f"\x1e{json.dumps(each)}\n" for each in [head, *events]))
    made = json.loads(compare_file(bare, numbers=[1], algorithms=["cubic+standard"]))[0]
    assert made["first_flight_bytes"] == known["first_flight_bytes"]
    assert [each["in_flight_bytes"] for each in made["moments"]] == [
        each["in_flight_bytes"] for each in known["moments"]
    ]


@pytest.mark.parametrize(
    "event",
    [
        {"name": "transport:packet_sent", "data": {"header": {"packet_number": -1}}},
        {"name": "transport:packet_sent", "data": {"header": 7, "raw": {"length": 2**70}}},
        {"name": "transport:packet_received", "data": {"frames": [{"frame_type": "ack"}]}},
        {"name": "transport:packet_received",
         "data": {"frames": [{"frame_type": "ack", "acked_ranges": [[0, 2**64 - 1], "x", []]}]}},
        {"name": "recovery:packet_lost", "data": {"header": {"packet_number": 2**63}}},
        {"name": "quic:recovery_metrics_updated", "data": {"bytes_in_flight": 1e300}},
    ],
)  # fmt: skip
def test_events_of_any_form_are_no_error(event: dict[str, Any], tmp_path: Path) -> None:
    sent = {"name": "transport:packet_sent",
            "data": {"header": {"packet_number": 1}, "raw": {"length": 1200}}}  # fmt: skip
    events = [{"time": float(at), **each} for at, each in enumerate([sent, event, sent, event])]
    file = tmp_path / "any.qlog"
    file.write_text(json.dumps({"qlog_version": "0.3", "traces": [{"events": events}]}))
    (found,) = identify.identify(file)
    assert found.why is not None


def test_a_log_without_packets_says_so(tmp_path: Path) -> None:
    event = {"time": 1, "name": "recovery:metrics_updated", "data": {"congestion_window": 14720}}
    file = tmp_path / "window.qlog"
    file.write_text(json.dumps({"qlog_version": "0.3", "traces": [{"events": [event, event]}]}))
    (found,) = identify.identify(file)
    assert found.why == "the log does not have the packets of the connection's beginning"


def test_the_export_of_a_quic_run_has_its_packets(tmp_path: Path) -> None:
    scenario = tmp_path / "flow.toml"
    scenario.write_text('[path]\npreset = "wired"\n[[flow]]\nalgorithm = "cubic"\nsize = "1 MB"\n')
    file = tmp_path / "flow.qlog"
    words = ["export", str(scenario), "--format", "qlog", "--stack", "quinn", "-a", "own"]
    assert invoke([*words, "-o", str(file)]) == 0
    (connection,) = json.loads(analyze_file(file))["connections"]
    assert connection["verdict"]["rule"] == "log"
    assert connection["largest_segment_bytes"] == 1472
    assert connection["bytes"] > 1_000_000
    (found,) = identify.identify(file)
    assert "standard" in found.candidates[0].names


def test_quic_cases_are_held_out() -> None:
    train, test = (
        {(case.path_keys, case.seed) for case in cases}
        for cases in (identify_quic.training(), identify_quic.held_out(quick=False, runs=5))
    )
    assert train
    assert not train & test
    assert {"own:cubic", "cubic+search"} <= {each for each, _ in identify_quic.controls("quinn")}


def test_bad_addresses_are_input_errors() -> None:
    with pytest.raises(InputError, match="write spaces"):
        probe.address("http://{server}:80/a b")
