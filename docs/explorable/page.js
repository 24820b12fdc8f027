// The page: settings, chapters, playing. The settings are in the fragment of the address.
"use strict";

(() => {
  const element = (id) => document.getElementById(id);

  // Start-ups by the name that slowstart gives them.
  const STARTUPS = [
    ["cubic+standard", "Slow start (RFC 5681)"],
    ["cubic+initial-start:initial_window=2", "Slow start from 2 segments"],
    ["cubic+limited", "Limited slow start (RFC 3742)"],
    ["cubic+hystart", "HyStart (Linux)"],
    ["cubic+hystart:train=false", "HyStart, delay only"],
    ["cubic+hystart:delay=false", "HyStart, ACK trains only"],
    ["cubic+hystart++", "HyStart++ (RFC 9406)"],
    ["cubic+search", "SEARCH"],
    ["cubic+search:version=4.0", "SEARCH 4.0 (draft)"],
    ["cubic+suss", "SUSS"],
    ["cubic+jump-start", "Jump-Start"],
    ["bbr", "BBRv1"],
    ["bbr3", "BBRv3"],
  ];
  const IDEAL = "cubic+oracle";
  const KINDS = [
    ["own", "as set below"],
    ["lte", "LTE cell"],
    ["5g", "5G cell"],
    ["geo", "GEO satellite"],
    ["leo", "LEO constellation"],
    ["wifi-strong", "Wi-Fi, strong signal"],
    ["wifi-weak", "Wi-Fi, weak signal"],
  ];
  // The steps of each slider, and how a value is shown.
  const SLIDERS = {
    rate: { steps: [1, 2, 4, 10, 20, 30, 40, 50, 75, 100], show: (v) => `${v} Mbit/s` },
    rtt: { steps: [10, 20, 30, 40, 60, 80, 100, 150, 200, 300, 600], show: (v) => `${v} ms` },
    buffer: { steps: [0.1, 0.2, 0.3, 0.5, 1, 1.5, 2, 3, 4, 8], show: (v) => `${v} BDP` },
    loss: { steps: [0, 0.01, 0.1, 0.5, 1, 2], show: (v) => `${v} %` },
    jitter: { steps: [0, 1, 2, 4, 6, 8, 10, 15, 20], show: (v) => `${v} ms` },
    size: {
      steps: [15, 60, 200, 500, 1000, 2000, 4000, 6000, 8000, 16000],
      show: (v) => (v < 1000 ? `${v} kB` : `${v / 1000} MB`),
    },
    seed: { steps: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], show: (v) => String(v) },
  };
  const USUAL = {
    chapter: 1, kind: "own", rate: 20, rtt: 60, buffer: 1, loss: 0, jitter: 0, size: 4000, seed: 1,
    a: "cubic+standard", b: "cubic+hystart",
  };
  const SPEEDS = [[0.01, "1/100"], [0.02, "1/50"], [0.05, "1/20"], [0.1, "1/10"], [0.5, "1/2"],
    [1, "real time"]];
  const SEEN = [["rtt", "RTT (delay tests)"], ["delivery", "delivery (SEARCH)"]];

  let state = { ...USUAL };
  let flows = [];
  let end = 1;
  let now = 0;
  let playing = false;
  let colours = Drawing.palette();

  // Text: the scenario of one start-up. The command reads the same keys.
  function pathText() {
    if (state.kind !== "own") return `[path]\npreset = "${state.kind}"\n`;
    const lines = ["[path]", `rate = "${state.rate} Mbit/s"`, `rtt = "${state.rtt} ms"`,
      `buffer = "${state.buffer} bdp"`];
    if (state.loss > 0) lines.push(`loss = "${state.loss} %"`);
    if (state.jitter > 0) lines.push(`jitter = "${state.jitter} ms"`);
    return `${lines.join("\n")}\n`;
  }

  function scenarioText(algorithm) {
    return `seed = ${state.seed}\n\n${pathText()}\n[[flow]]\nalgorithm = "${algorithm}"\n`
      + `size = "${state.size} kB"\n`;
  }

  // The rows of a queue are at packets that come. Between two of them a link of `rate` packets a
  // second may empty it.
  function withDrains(queue, rate) {
    const made = { time: [], packets: [] };
    queue.time.forEach((at, index) => {
      const empty = at + (queue.packets[index] / rate) * 1e6;
      made.time.push(at);
      made.packets.push(queue.packets[index]);
      if (empty < (queue.time[index + 1] ?? Infinity)) {
        made.time.push(empty);
        made.packets.push(0);
      }
    });
    return made;
  }

  // What the drawings need of a recording.
  function prepare(recording, name) {
    const packets = recording.packets[0];
    const trace = recording.traces.flows[0];
    const forward = recording.scenario.path.forward;
    const link = recording.traces.links.find((each) => each.link === forward.name)
      || recording.traces.links[0];
    const queue = link
      ? { time: link.time_s.map((at) => at * 1e6), packets: link.queue_packets }
      : { time: [], packets: [] };
    const limit = forward.queue_limit_packets
      || (forward.queue_limit_bytes ? Math.floor(forward.queue_limit_bytes / 1500) : null);
    const most = (from, to) => from.reduce((longest, at, index) => (
      to[index] === null ? longest : Math.max(longest, to[index] - at)), 1);
    const full = packets.smss_bytes;
    const rate = forward.service.kind === "fixed" ? forward.service.rate_bps : null;
    const size = 1500 + (forward.overhead_bytes || 0);
    return {
      name,
      result: recording.result.flows[0],
      bdp: recording.scenario.path.bdp_packets,
      ...packets,
      delay: Math.max(1, forward.delay_ms * 1000),
      longest: most(packets.sent_us, packets.arrived_us) + 1000,
      longest_ack: most(packets.ack_sent_us, packets.ack_arrived_us) + 1000,
      linger: Math.max(20000, recording.scenario.path.base_rtt_ms * 250),
      queue: rate ? withDrains(queue, rate / 8 / size) : queue,
      limit,
      packet_rate: rate ? rate / 8 / size : null,
      room: Math.max(1, limit && state.kind === "own" ? limit
        : queue.packets.reduce((longest, each) => Math.max(longest, each), 1)),
      initial: 10,
      trace: {
        time: trace.time_s,
        cwnd: trace.cwnd_bytes.map((bytes) => bytes / full),
        rtt: trace.rtt_ms,
        delivered: trace.acked_bytes,
      },
    };
  }

  function run() {
    const problem = element("problem");
    problem.hidden = true;
    try {
      const first = prepare(Simulator.record(scenarioText(state.a)), "first");
      const second = prepare(Simulator.record(scenarioText(state.b)), "second");
      const ideal = prepare(Simulator.record(scenarioText(IDEAL)), "ideal");
      flows = [first, second, ideal];
    } catch (error) {
      problem.textContent = `The simulator refused these settings: ${error.message}`;
      problem.hidden = false;
      Simulator.begin(); // a module that failed has no state to go on with
      return;
    }
    // The start-up, and a little more: the rest of a long transfer is of no interest here.
    const interesting = flows.map((flow) => {
      const exit = flow.result.slow_start_exit;
      const last = flow.trace.time.at(-1) || 1;
      return exit ? Math.min(last, exit.time_s * 1.6 + 0.2) : last;
    });
    end = Math.max(...interesting);
    now = Math.min(now, end);
    showSentences();
    showText();
    draw();
  }

  function showSentences() {
    const ideal = flows[2].result;
    element("flows").replaceChildren(...flows.slice(0, 2).map((flow, index) => {
      const box = document.createElement("div");
      box.className = `flow ${flow.name}`;
      const head = document.createElement("h3");
      const chosen = index === 0 ? state.a : state.b;
      head.textContent = (STARTUPS.find(([name]) => name === chosen) || [0, chosen])[1];
      const why = document.createElement("p");
      why.textContent = Sentences.exit(flow.result);
      const price = document.createElement("p");
      price.textContent = Sentences.cost(flow.result, ideal);
      const canvas = document.createElement("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `Packets of ${head.textContent} between sender and receiver`);
      box.append(head, canvas, why, price);
      return box;
    }));
    const legend = element("legend");
    legend.replaceChildren();
    for (const [colour, text] of [["first", "first"], ["second", "second"], ["ideal", "ideal exit"]]) {
      const word = document.createElement("span");
      word.textContent = ` ● ${text}`;
      word.style.color = colours[colour];
      legend.append(word);
    }
  }

  function showText() {
    const scenario = scenarioText(state.a);
    element("toml").textContent = scenario;
    element("save").href = `data:application/toml;charset=utf-8,${encodeURIComponent(scenario)}`;
    const path = state.kind === "own" ? "explorable.toml" : state.kind;
    element("command").textContent = "slowstart run explorable.toml\n"
      + `slowstart compare ${path} -a ${state.a} -a ${state.b} -a ${IDEAL} \\\n`
      + `  --size ${state.size}kB --seed ${state.seed} -n 1`;
  }

  // Rows of a curve up to `end`, at most about two per pixel.
  function thin(times, values) {
    const count = Drawing.last(times, end) + 1;
    const step = Math.max(1, Math.floor(count / 3000));
    const kept = { time: [], value: [] };
    for (let index = 0; index < count; index += step) {
      kept.time.push(times[index]);
      kept.value.push(values[index]);
    }
    return kept;
  }

  function largest(lists) {
    return lists.reduce((most, list) => list.reduce((m, v) => Math.max(m, v || 0), most), 0);
  }

  let curves = null;
  function prepareCurves() {
    const seen = element("seen").value;
    const windows = flows.map((flow) => ({
      ...thin(flow.trace.time, flow.trace.cwnd), colour: flow.name, dashed: flow.name === "ideal",
    }));
    const marks = flows.filter((flow) => flow.result.slow_start_exit).map((flow) => ({
      time: flow.result.start_s + flow.result.slow_start_exit.time_s,
      value: flow.result.slow_start_exit.cwnd_packets,
      colour: flow.name,
    }));
    const queues = flows.map((flow) => ({
      ...thin(flow.queue.time.map((at) => at / 1e6), flow.queue.packets),
      colour: flow.name,
      dashed: flow.name === "ideal",
      sloped: true,
    }));
    const bdp = flows[0].bdp;
    const most = 1.1 * Math.max(largest(windows.map((line) => line.value)), 1);
    curves = {
      windows: {
        lines: windows.toReversed(), marks, end, most,
        levels: bdp && bdp < most ? [{ value: bdp, text: `BDP: ${bdp} packets` }] : [],
      },
      queues: {
        lines: queues.toReversed(), end,
        most: 1.1 * Math.max(largest(queues.map((line) => line.value)), 4),
      },
      sees: seen === "rtt" ? rttChart() : deliveryChart(),
    };
    element("seen-note").textContent = seen === "rtt"
      ? "RTT of each ACK, ms; dotted: HyStart's threshold for the smallest RTT of all"
      : "delivered in a window, % of twice the window one RTT earlier, until slow start ends; "
        + "dotted: SEARCH leaves below";
  }

  function rttChart() {
    const shown = flows.slice(0, 2);
    const lines = shown.map((flow) => ({
      ...thin(flow.trace.time, flow.trace.rtt), colour: flow.name, dots: true,
    }));
    const least = shown.map((flow) => flow.trace.rtt.reduce(
      (low, each) => (each === null ? low : Math.min(low, each)), Infinity));
    const base = Math.min(...least);
    const level = base + Math.min(16, Math.max(4, base / 8));
    const most = 1.1 * Math.max(largest(lines.map((line) => line.value)), level);
    return {
      lines: lines.toReversed(), end, most, least: Math.floor(0.9 * base),
      levels: [{ value: level, text: `${level.toFixed(1)} ms` }],
    };
  }

  // Delivery as SEARCH 2.0 compares it, without its bins, until slow start ends.
  function deliveryChart() {
    const lines = flows.slice(0, 2).map((flow) => {
      const { time, delivered, rtt } = flow.trace;
      const first = (rtt.find((each) => each !== null) || 100) / 1000;
      const exit = flow.result.slow_start_exit;
      const until = exit ? flow.result.start_s + exit.time_s : time.at(-1);
      const at = (moment) => {
        const row = Drawing.last(time, moment);
        return row < 0 ? 0 : delivered[row];
      };
      const shown = { time: [], value: [], colour: flow.name };
      for (let step = 0; step <= 600; step += 1) {
        const moment = (end * step) / 600;
        const ago = (rtt[Drawing.last(time, moment)] || 1000 * first) / 1000;
        const before = at(moment - ago) - at(moment - ago - 3.5 * first);
        const current = at(moment) - at(moment - 3.5 * first);
        const known = before > 0 && moment - ago > time[0] + 3.5 * first && moment <= until;
        shown.time.push(moment);
        shown.value.push(known ? (100 * current) / (2 * before) : null);
      }
      return shown;
    });
    return {
      lines: lines.toReversed(), end, most: 130,
      levels: [{ value: 65, text: "65 %" }],
    };
  }

  function draw() {
    if (flows.length === 0) return;
    prepareCurves();
    frame();
  }

  function frame() {
    const canvases = element("flows").querySelectorAll("canvas");
    canvases.forEach((canvas, index) => {
      Drawing.packets(canvas, flows[index], now * 1e6, flows[index].name, colours);
    });
    Drawing.chart(element("windows"), 220, curves.windows, now, colours);
    Drawing.chart(element("queues"), 140, curves.queues, now, colours);
    Drawing.chart(element("sees"), 160, curves.sees, now, colours);
    element("time").value = String(Math.round((1000 * now) / end));
    element("clock").textContent = `${now.toFixed(3)} s`;
  }

  let before = 0;
  function tick(at) {
    if (!playing) return;
    // At most 0.1 s a frame: a page in the background comes back where it was.
    now += Math.min(0.1, (at - before) / 1000) * Number(element("speed").value);
    before = at;
    if (now >= end) {
      now = end;
      play(false);
    }
    frame();
    if (playing) requestAnimationFrame(tick);
  }

  function play(wanted) {
    playing = wanted;
    element("toggle").textContent = playing ? "Pause" : "Play";
    if (!playing) return;
    if (now >= end) now = 0;
    before = performance.now();
    requestAnimationFrame(tick);
  }

  // The fragment has what differs from the chapter's settings.
  function settingsOf(chapter) {
    return { ...USUAL, ...CHAPTERS[chapter - 1].state, chapter };
  }

  function fragment() {
    const usual = settingsOf(state.chapter);
    const words = new URLSearchParams({ chapter: state.chapter });
    for (const key of Object.keys(USUAL)) {
      if (key !== "chapter" && state[key] !== usual[key]) words.set(key, state[key]);
    }
    return `#${words}`;
  }

  // The settings that a fragment names; a value that no control offers is ignored.
  function read(text) {
    const words = new URLSearchParams(text.replace(/^#/, ""));
    const chapter = Number(words.get("chapter"));
    const found = settingsOf(CHAPTERS[chapter - 1] ? chapter : 1);
    for (const [key, slider] of Object.entries(SLIDERS)) {
      const value = words.has(key) ? Number(words.get(key)) : NaN;
      if (slider.steps.includes(value)) found[key] = value;
    }
    for (const [key, choices] of [["kind", KINDS], ["a", STARTUPS], ["b", STARTUPS]]) {
      if (choices.some(([name]) => name === words.get(key))) found[key] = words.get(key);
    }
    return found;
  }

  function showControls() {
    for (const [key, slider] of Object.entries(SLIDERS)) {
      const input = element(key);
      const place = slider.steps.indexOf(state[key]);
      input.value = String(place);
      const text = slider.show(state[key]);
      input.setAttribute("aria-valuetext", text);
      input.parentElement.querySelector("output").textContent = text;
    }
    for (const key of ["kind", "a", "b"]) element(key).value = state[key];
    for (const field of document.querySelectorAll(".custom")) field.hidden = state.kind !== "own";
  }

  function showChapter() {
    const chapter = CHAPTERS[state.chapter - 1];
    element("title").textContent = chapter.title;
    element("text").textContent = chapter.text;
    element("try").textContent = chapter.try;
    const question = element("question");
    question.open = false;
    question.querySelector("summary").textContent = chapter.question;
    question.querySelector("p").textContent = chapter.answer;
    element("seen").value = chapter.sees;
    element("chapters").querySelectorAll("a").forEach((link, index) => {
      if (index + 1 === state.chapter) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
  }

  function go(wanted) {
    const other = wanted.chapter !== state.chapter || flows.length === 0;
    state = wanted;
    if (other) {
      play(false);
      now = 0;
      showChapter();
    }
    showControls();
    run();
    // A chapter starts with the whole start-up in view.
    if (other) {
      now = end;
      frame();
    }
  }

  let waiting = 0;
  function changed(key, value) {
    state = { ...state, [key]: value };
    showControls();
    history.replaceState(null, "", fragment());
    clearTimeout(waiting);
    waiting = setTimeout(run, 60);
  }

  function options(id, choices) {
    element(id).replaceChildren(...choices.map(([value, text]) => new Option(text, value)));
  }

  function build() {
    element("chapters").replaceChildren(...CHAPTERS.map((chapter, index) => {
      const link = document.createElement("a");
      link.href = `#chapter=${index + 1}`;
      link.textContent = `${index + 1} ${chapter.short}`;
      return link;
    }));
    options("kind", KINDS);
    options("a", STARTUPS);
    options("b", STARTUPS);
    options("speed", SPEEDS);
    options("seen", SEEN);
    element("speed").value = "0.1";
    for (const [key, slider] of Object.entries(SLIDERS)) {
      const input = element(key);
      Object.assign(input, { min: 0, max: slider.steps.length - 1, step: 1 });
      input.addEventListener("input", () => changed(key, slider.steps[Number(input.value)]));
    }
    for (const key of ["kind", "a", "b"]) {
      element(key).addEventListener("change", (event) => changed(key, event.target.value));
    }
    element("toggle").addEventListener("click", () => play(!playing));
    element("time").addEventListener("input", (event) => {
      play(false);
      now = (end * Number(event.target.value)) / 1000;
      frame();
    });
    element("seen").addEventListener("change", draw);
    element("copy").addEventListener("click", async () => {
      const link = `${location.href.split("#")[0]}${fragment()}`;
      try {
        await navigator.clipboard.writeText(link);
        element("copied").textContent = "Copied.";
      } catch {
        element("copied").textContent = link;
      }
    });
    window.addEventListener("hashchange", () => go(read(location.hash)));
    window.addEventListener("resize", () => flows.length && frame());
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      colours = Drawing.palette();
      if (flows.length) {
        showSentences();
        frame();
      }
    });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.target.closest("input, select, button, summary, a")) {
        if (event.key === " " || event.target.closest("select")) return;
      }
      const step = { n: 1, p: -1 }[event.key.toLowerCase()];
      if (event.key === " ") {
        event.preventDefault();
        play(!playing);
      } else if (step && CHAPTERS[state.chapter - 1 + step]) {
        location.hash = `#chapter=${state.chapter + step}`;
      }
    });
  }

  async function start() {
    build();
    state = read(location.hash);
    showChapter();
    showControls();
    try {
      await Simulator.load("slowstart.wasm");
    } catch (error) {
      element("problem").textContent = `The simulator did not load (${error.message}). `
        + "Open this page through a web server: make explorable says how.";
      element("problem").hidden = false;
      return;
    }
    go(read(location.hash));
    document.body.dataset.ready = "yes";
  }

  start();
})();
