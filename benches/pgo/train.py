"""Runs the scenarios on which the profile of `make wheel` is trained: `train.py FOLDER`.

FOLDER holds the compiled module. The scenarios cover what users run: every preset, every part of
an algorithm, queue disciplines, background traffic, short and long flows. None of them is one that
`make bench` measures. One thread runs them, so every training gives the same profile.
"""

import sys

sys.path.insert(0, sys.argv[1])

import _native

Scenario = _native.Scenario

# Paths of long flows, which send most of the packets: rate, round-trip time, buffer.
PATHS = [
    ("20 Mbit/s", "40 ms", "2 bdp"),
    ("90 Mbit/s", "160 ms", "1 bdp"),
    ("350 Mbit/s", "60 ms", "0.7 bdp"),
    ("2 Gbit/s", "8 ms", "1 bdp"),
]
LONG = ["cubic", "cubic+standard", "cubic+hystart++", "cubic+search", "reno+standard", "bbr"]
DISCIPLINES = ["drop-tail", "codel", "fq-codel", "pie", "red"]


def path(rate, rtt, buffer, more=""):
    """A path with one bottleneck."""
    return f"[path]\nrate = '{rate}'\nrtt = '{rtt}'\nbuffer = '{buffer}'\n{more}\n"


def flow(algorithm, more=""):
    """A flow, or several if it has a count."""
    return f"[[flow]]\nalgorithm = '{algorithm}'\n{more}\n"


def long_flows():
    """One flow over a plain link; half of them see losses."""
    for rate, rtt, buffer in PATHS:
        for algorithm in LONG:
            yield "duration = '6 s'\n" + path(rate, rtt, buffer) + flow(algorithm)
    for options in ("pacing = true", "sack = false", "ack_policy = 'every-segment'"):
        yield "duration = '6 s'\n" + path(*PATHS[1]) + flow("cubic", options)
    for medium in ("loss = '0.1 %'", "loss = { p = '0.05 %', r = '30 %' }", "jitter = '3 ms'"):
        yield "duration = '10 s'\n" + path(*PATHS[1], medium) + flow("cubic")


def many_flows():
    """Flows that share a bottleneck, with each queue discipline."""
    for discipline in DISCIPLINES:
        ecn = "true" if discipline in ("codel", "fq-codel", "red") else "false"
        shared = path("300 Mbit/s", "30 ms", "2 bdp", f"aqm = '{discipline}'\n")
        shared += f"ecn = {ecn}\n" if discipline != "drop-tail" else ""
        flows = (
            flow(
                "cubic",
                f"count = 15\nstagger = '20 ms'\necn = {ecn}\nextra_delay = '{delay} ms'",
            )
            for delay in (0, 7, 25)
        )
        yield "duration = '20 s'\n" + shared + "".join(flows)


def short_flows():
    """Flows of a few packets, one after another, and those of web pages."""
    for size, count in (("12 kB", 15000), ("70 kB", 3000), ("400 kB", 800)):
        start = f"size = '{size}'\ncount = {count}\nstagger = '11 ms'"
        yield path("60 Mbit/s", "24 ms", "1 bdp") + flow("cubic", start)
    web = "[[traffic]]\nkind = 'web'\nload = '45 %'\nextra_delay = ['0 s', '8 ms', '30 ms']\n"
    video = "[[traffic]]\nkind = 'video'\nbitrate = '4 Mbit/s'\n"
    used = path("30 Mbit/s", "20 ms", "1 bdp", "reverse.rate = '10 Mbit/s'")
    yield used + web + video + flow("cubic+search", "size = '5 MB'\nstart = '400 s'")


def compared():
    """Transfers over every preset, and with every part of an algorithm."""
    # `wired` is the path of S1.
    presets = [each["name"] for each in _native.paths() if each["name"] != "wired"]
    for preset in presets:
        yield preset, ["cubic", "cubic+standard", "cubic+search", "bbr"], "3 MB"
    names = {
        "start-up": "cubic+{}",
        "avoidance": "{}+standard",
        "congestion control": "{}",
    }
    parts = [
        names[part["kind"]].format(part["name"])
        for part in _native.algorithms()
        if part["kind"] in names
    ]
    for preset in ("dsl", "docsis"):
        yield preset, parts, "1 MB"


def main():
    """Runs all scenarios, and converts their results."""
    texts = [*long_flows(), *many_flows(), *short_flows()]
    scenarios = [Scenario.from_toml(text) for text in texts]
    for preset, algorithms, size in compared():
        scenarios += Scenario.compare(
            preset, algorithms, size=size, runs=15, seed=1, initial_window=10, flows=1
        )
    result = _native.run_batch(scenarios, threads=1)
    result.to_json()
    _native.run_batch(scenarios[-3:], threads=1, traces=True).flow_traces()


main()
