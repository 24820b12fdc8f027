// Sentences about a run: why slow start ended, and what it cost.
"use strict";

const Sentences = (() => {
  const seconds = (value) => `${value.toFixed(value < 1 ? 3 : 2)} s`;
  const ms = (value) => `${value.toFixed(value < 100 ? 1 : 0)} ms`;
  const kilobytes = (value) => `${(value / 1000).toFixed(value < 1e5 ? 1 : 0)} kB`;
  const packets = (count) => `${count} ${count === 1 ? "packet" : "packets"}`;

  // What the algorithm compared, for each reason of a result.
  const REASONS = {
    "ack-train": (v) => `The ACKs of the round formed a train of ${ms(v.train_ms)}, longer than the
      threshold of ${ms(v.threshold_ms)}.`,
    "delay": (v) => `The smallest RTT of the round was ${ms(v.rtt_ms)}. The threshold was
      ${ms(v.threshold_ms)}: the smallest RTT before, ${ms(v.base_rtt_ms)}, and an increase of
      ${ms(v.threshold_ms - v.base_rtt_ms)}.`,
    "css-rounds": (v) => `The RTT stayed at ${ms(v.baseline_rtt_ms)} or more for ${v.rounds} rounds of
      conservative slow start.`,
    "search": (v) => `ACKs delivered ${kilobytes(v.current_bytes)} in the last window, and
      ${kilobytes(v.previous_bytes)} in the window one RTT before. Delivery was
      ${(100 * v.norm).toFixed(1)} % behind what slow start expects; the threshold is
      ${(100 * v.threshold).toFixed(0)} %.`,
    "bandwidth": (v) => `The window exceeded the estimated BDP:
      ${(v.estimate_bps / 1e6).toFixed(1)} Mbit/s times ${ms(v.min_rtt_ms)}.`,
    "full-pipe": (v) => `The estimate of ${(v.bandwidth_bps / 1e6).toFixed(1)} Mbit/s did not grow for
      ${v.rounds} rounds.`,
    "loss": () => "A segment was lost: the buffer overflowed, or the path lost it.",
    "ecn": () => "A router marked a segment.",
    "timeout": () => "A retransmission timer expired.",
    "ssthresh": () => "The window reached a threshold that was set before.",
  };

  const CLASSES = {
    early: "The bottleneck was not yet busy all the time: this exit is early.",
    chokepoint: "The bottleneck was busy, and the sender knew of no loss: this exit is in time.",
    late: "The exit came with a loss: it is late.",
  };

  // One sentence, or a few, about the exit of a flow.
  function exit(flow) {
    const found = flow.slow_start_exit;
    if (!found) return "The transfer ended in slow start.";
    const why = REASONS[found.reason];
    const reason = why ? why(found.values || {}) : `${found.evidence}.`;
    const queue = found.path && found.path.queue_packets;
    const state = typeof queue === "number" ? ` ${packets(queue)} waited at the bottleneck.` : "";
    const verdict = CLASSES[flow.exit_class] ? ` ${CLASSES[flow.exit_class]}` : "";
    const text = `Slow start ended at ${seconds(found.time_s)} with a window of
      ${packets(found.cwnd_packets)}. ${reason}${state}${verdict}`;
    return text.replace(/\s+/g, " ");
  }

  // What the exit cost, beside the ideal one.
  function cost(flow, ideal) {
    const lost = flow.segments_retransmitted;
    const again = lost === 0 ? "nothing was retransmitted" : `${packets(lost)} were retransmitted`;
    if (flow.fct_s === null) return `The transfer did not complete; ${again}.`;
    const took = `The transfer took ${seconds(flow.fct_s)}, and ${again}.`;
    if (!ideal || ideal.fct_s === null) return took;
    const more = flow.fct_s - ideal.fct_s;
    const found = ideal.slow_start_exit;
    const where = found
      ? `An ideal exit, at ${seconds(found.time_s)} with ${packets(found.cwnd_packets)},`
      : "Slow start with an ideal exit";
    const than = Math.abs(more) < 0.0005
      ? "would have taken as long"
      : `would have taken ${seconds(ideal.fct_s)}: this exit
         ${more > 0 ? "costs" : "saves"} ${seconds(Math.abs(more))}`;
    return `${took} ${where} ${than}.`.replace(/\s+/g, " ");
  }

  return { exit, cost };
})();
