// The WebAssembly module (crates/explorable): the text of a scenario in, JSON out.
"use strict";

const Simulator = (() => {
  let compiled = null;
  let exported = null;

  async function load(url) {
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
    compiled = await WebAssembly.compile(await answer.arrayBuffer());
    await begin();
  }

  async function begin() {
    exported = (await WebAssembly.instantiate(compiled, {})).exports;
  }

  // The answer to the scenario `text`: a recording, or an Error with one sentence.
  function record(text) {
    const bytes = new TextEncoder().encode(text);
    const at = exported.input(bytes.length);
    new Uint8Array(exported.memory.buffer, at, bytes.length).set(bytes);
    const failed = exported.run(1);
    const output = new Uint8Array(exported.memory.buffer, exported.output(), exported.length());
    const answer = new TextDecoder().decode(output);
    if (failed) throw new Error(answer);
    return JSON.parse(answer);
  }

  return { load, begin, record };
})();
