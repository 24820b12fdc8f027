// Runs scenarios in the WebAssembly module of the explorable. Standard input is a JSON list of texts,
// and standard output a JSON list of answers: [whether it failed, the text].
import { readFileSync } from "node:fs";

const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), {});
const { input, run, output, length, memory } = instance.exports;
const answers = JSON.parse(readFileSync(0, "utf8")).map((text) => {
  const bytes = new TextEncoder().encode(text);
  const at = input(bytes.length);
  new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  const failed = run(0);
  return [failed, new TextDecoder().decode(new Uint8Array(memory.buffer, output(), length()))];
});
process.stdout.write(JSON.stringify(answers));
