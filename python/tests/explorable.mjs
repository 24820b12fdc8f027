// Runs scenarios in the WebAssembly module of the explorable, in Node.js and in a browser.

// `texts` is JSON, a list; so is the answer, of pairs: whether a scenario failed, and the text.
export async function answers(module, texts) {
  const { instance } = await WebAssembly.instantiate(module, {});
  const { input, run, output, length, memory } = instance.exports;
  const found = JSON.parse(texts).map((text) => {
    const bytes = new TextEncoder().encode(text);
    const at = input(bytes.length);
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
    const failed = run(0);
    return [failed, new TextDecoder().decode(new Uint8Array(memory.buffer, output(), length()))];
  });
  return JSON.stringify(found);
}

if (globalThis.process) {
  const { readFileSync } = await import("node:fs");
  process.stdout.write(await answers(readFileSync(process.argv[2]), readFileSync(0, "utf8")));
}
