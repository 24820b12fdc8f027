// In the page of the explorable: plays each scenario for some seconds, and posts the times of its
// frames. A row is the scenario, the number of frames, and quantiles in ms: script per frame (median,
// 95 %, largest) and from one frame to the next (median, 95 %).
"use strict";

(() => {
  const SCENARIOS = [1, 2, 3, 4, 5, 6, 7, 8].map((chapter) => `#chapter=${chapter}`);
  SCENARIOS.push(
    "#chapter=1&kind=geo&size=16000",
    "#chapter=1&rate=100&rtt=600&buffer=8&size=16000",
  );
  const SECONDS = 4;

  let frames = [];
  const request = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (callback) => request((at) => {
    const begin = performance.now();
    callback(at);
    frames.push({ at, script: performance.now() - begin });
  });

  const wait = (seconds) => new Promise((done) => { setTimeout(done, 1000 * seconds); });
  const element = (id) => document.getElementById(id);

  function quantile(values, part) {
    const sorted = [...values].sort((one, other) => one - other);
    return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  }

  async function measure(scenario) {
    location.hash = scenario;
    await wait(1.5);
    element("time").value = "0";
    element("time").dispatchEvent(new Event("input"));
    frames = [];
    element("toggle").click();
    await wait(SECONDS);
    if (element("toggle").textContent === "Pause") element("toggle").click();
    const script = frames.map((frame) => frame.script);
    const between = frames.slice(1).map((frame, index) => frame.at - frames[index].at);
    const found = [quantile(script, 0.5), quantile(script, 0.95), Math.max(...script),
      quantile(between, 0.5), quantile(between, 0.95)];
    return [scenario, frames.length, ...found.map((each) => each.toFixed(1))];
  }

  window.addEventListener("load", async () => {
    while (document.body.dataset.ready !== "yes") await wait(0.05);
    const rows = [];
    for (const scenario of SCENARIOS) rows.push(await measure(scenario));
    await fetch("rows", { method: "POST", body: JSON.stringify(rows) });
  });
})();
