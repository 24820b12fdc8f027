// Canvases: the packets of a flow, and curves over time.
"use strict";

const Drawing = (() => {
  const EDGE = { left: 46, right: 12, top: 8, bottom: 26 };

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  }

  function palette() {
    const names = ["ground", "text", "faint", "line", "panel", "first", "second", "ideal", "lost"];
    return Object.fromEntries(names.map((name) => [name, colour(name)]));
  }

  // The context of a canvas, cleared, in CSS pixels.
  function clear(canvas, height) {
    const scale = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    return { context, width, height };
  }

  // The index of the last entry of `times` that is not after `time`, or -1.
  function last(times, time) {
    let low = 0;
    let high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  // The spacing of about `count` ticks over `range`: 1, 2 or 5 times a power of ten.
  function spacing(range, count) {
    const rough = range / count;
    const power = 10 ** Math.floor(Math.log10(rough));
    return power * [1, 2, 5, 10].find((step) => step * power >= rough);
  }

  // The packets of one flow at `time` (microseconds): a queue, a link, and the ACKs below.
  function packets(canvas, flow, time, name, colours) {
    const { context, width } = clear(canvas, 112);
    const box = { left: 54, top: 14, height: 26, width: Math.max(70, width * 0.3) };
    const link = { left: box.left + box.width + 6, right: width - 62 };
    const lane = box.top + box.height / 2;
    const back = 78;
    const ink = colours[name];

    context.fillStyle = colours.panel;
    context.fillRect(link.left, lane - 9, link.right - link.left, 18);
    context.fillRect(box.left, back - 7, link.right - box.left, 14);
    context.strokeStyle = colours.faint;
    context.lineWidth = 1;
    context.strokeRect(box.left + 0.5, box.top + 0.5, box.width, box.height);
    context.fillStyle = colours.text;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillText("sender", 2, (lane + back) / 2);
    context.textAlign = "right";
    context.fillText("receiver", width - 2, (lane + back) / 2);

    // The queue, from the link backwards. The box is the buffer, or the longest queue.
    const row = last(flow.queue.time, time);
    const waiting = row < 0 ? 0 : drained(flow, row, time);
    const pitch = box.width / flow.room;
    context.fillStyle = ink;
    if (pitch >= 3) {
      for (let place = 0; place < waiting; place += 1) {
        context.fillRect(box.left + box.width - (place + 1) * pitch + 1, box.top + 4, pitch - 1,
          box.height - 8);
      }
    } else {
      const long = Math.min(box.width, waiting * pitch);
      context.fillRect(box.left + box.width - long, box.top + 4, long, box.height - 8);
    }
    context.fillStyle = colours.faint;
    context.textAlign = "left";
    context.fillText(`queue: ${Math.round(waiting)} of ${flow.limit ?? "any"} packets`, box.left,
      box.top + box.height + 11);

    // Segments on the link, and segments that the queue dropped a moment ago.
    const sent = flow.sent_us;
    const span = link.right - link.left;
    let flying = 0;
    context.fillStyle = ink;
    const end = last(sent, time);
    const begin = last(sent, time - flow.longest);
    for (let index = end; index > begin; index -= 1) {
      const arrived = flow.arrived_us[index];
      if (arrived === null) {
        const since = (time - sent[index]) / flow.linger;
        if (since < 1) {
          context.fillStyle = colours.lost;
          context.fillRect(box.left - 8 + (index % 5), box.top + box.height * since + 6, 4, 6);
          context.fillStyle = ink;
        }
        continue;
      }
      const gone = time - (arrived - flow.delay);
      if (arrived > time) {
        flying += 1;
        if (gone > 0) context.fillRect(link.left + (span * gone) / flow.delay - 1, lane - 7, 2, 14);
      }
    }
    // ACKs.
    const acks = flow.ack_sent_us;
    context.fillStyle = colours.text;
    const last_ack = last(acks, time);
    const first_ack = last(acks, time - flow.longest_ack);
    for (let index = last_ack; index > first_ack; index -= 1) {
      const arrived = flow.ack_arrived_us[index];
      if (arrived === null || arrived <= time) continue;
      const part = (time - acks[index]) / (arrived - acks[index]);
      context.fillRect(link.right - (link.right - box.left) * part, back - 5, 1.5, 10);
    }
    context.fillStyle = colours.faint;
    const state = last(flow.trace.time, time / 1e6);
    const cwnd = state < 0 ? flow.initial : flow.trace.cwnd[state];
    context.fillText(`window: ${Math.round(cwnd)} packets, in the network: ${flying}`, box.left,
      back + 18);
  }

  // The queue at `time`: the last packet found `queue` there, and since then it drains.
  function drained(flow, row, time) {
    const found = flow.queue.packets[row];
    const since = (time - flow.queue.time[row]) / 1e6;
    const rate = flow.packet_rate;
    return rate ? Math.max(0, found - Math.floor(since * rate)) : found;
  }

  // The curves of each canvas, as last drawn: from frame to frame only the line at `now` moves.
  const still = new WeakMap();

  // Curves over time, and a line at `now`.
  function chart(canvas, height, chart, now, colours) {
    const { context, width } = clear(canvas, height);
    let image = still.get(canvas);
    if (!image || image.chart !== chart || image.colours !== colours
      || image.canvas.width !== canvas.width || image.canvas.height !== canvas.height) {
      image = { chart, colours, canvas: canvas.cloneNode() };
      const own = image.canvas.getContext("2d");
      own.setTransform(context.getTransform());
      own.font = context.font;
      curves(own, width, height, chart, colours);
      still.set(canvas, image);
    }
    context.drawImage(image.canvas, 0, 0, width, height);
    const x = EDGE.left + ((width - EDGE.left - EDGE.right) * now) / (chart.end || 1);
    context.strokeStyle = colours.text;
    context.lineWidth = 1;
    line(context, x, EDGE.top, x, height - EDGE.bottom);
  }

  // `chart.lines`: {time, value, colour, dashed, dots, sloped}; `marks`: {time, value, colour};
  // `levels`: {value, text}.
  function curves(context, width, height, chart, colours) {
    const { left, right, top, bottom } = EDGE;
    const most = chart.most || 1;
    const least = chart.least || 0;
    const end = chart.end || 1;
    const x = (time) => left + ((width - left - right) * time) / end;
    const y = (value) => height - bottom
      - ((height - top - bottom) * (Math.min(value, most) - least)) / (most - least);

    context.lineWidth = 1;
    context.strokeStyle = colours.line;
    context.fillStyle = colours.faint;
    context.textBaseline = "middle";
    context.textAlign = "right";
    const up = spacing(most - least, 4);
    for (let value = Math.ceil(least / up) * up; value <= most; value += up) {
      line(context, left, y(value), width - right, y(value));
      context.fillText(String(Number(value.toPrecision(6))), left - 6, y(value));
    }
    context.textBaseline = "top";
    context.textAlign = "center";
    const along = spacing(end, width < 500 ? 4 : 8);
    for (let time = 0; time <= end; time += along) {
      line(context, x(time), height - bottom, x(time), height - bottom + 4);
      const text = String(Number(time.toPrecision(6)));
      if (x(time) < width - right - 60) context.fillText(text, x(time), height - bottom + 7);
    }
    context.textAlign = "right";
    context.fillText("time, s", width - right, height - bottom + 7);

    for (const level of chart.levels || []) {
      context.strokeStyle = colours.faint;
      context.setLineDash([2, 3]);
      line(context, left, y(level.value), width - right, y(level.value));
      context.setLineDash([]);
    }
    context.save();
    context.beginPath();
    context.rect(left, 0, width - left - right, height - bottom);
    context.clip();
    for (const curve of chart.lines) {
      context.strokeStyle = colours[curve.colour];
      context.fillStyle = colours[curve.colour];
      context.lineWidth = 1.6;
      context.setLineDash(curve.dashed ? [5, 4] : []);
      if (curve.dots) {
        for (let index = 0; index < curve.time.length; index += 1) {
          if (curve.value[index] === null) continue;
          context.fillRect(x(curve.time[index]) - 1, y(curve.value[index]) - 1, 2, 2);
        }
        continue;
      }
      context.beginPath();
      let before = null;
      for (let index = 0; index < curve.time.length; index += 1) {
        const value = curve.value[index];
        if (value === null) {
          before = null;
          continue;
        }
        const at = x(curve.time[index]);
        if (before === null) context.moveTo(at, y(value));
        else {
          if (!curve.sloped) context.lineTo(at, y(before));
          context.lineTo(at, y(value));
        }
        before = value;
      }
      context.stroke();
    }
    context.setLineDash([]);
    for (const mark of chart.marks || []) {
      context.fillStyle = colours[mark.colour];
      context.strokeStyle = colours.ground;
      context.beginPath();
      context.arc(x(mark.time), y(mark.value), 5, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
    }
    context.restore();
    // Readable over the curves.
    context.textAlign = "right";
    context.textBaseline = "bottom";
    context.strokeStyle = colours.ground;
    context.fillStyle = colours.faint;
    context.lineWidth = 4;
    for (const level of chart.levels || []) {
      context.strokeText(level.text, width - right, y(level.value) - 2);
      context.fillText(level.text, width - right, y(level.value) - 2);
    }
  }

  function line(context, fromX, fromY, toX, toY) {
    context.beginPath();
    context.moveTo(Math.round(fromX) + 0.5, Math.round(fromY) + 0.5);
    context.lineTo(Math.round(toX) + 0.5, Math.round(toY) + 0.5);
    context.stroke();
  }

  return { palette, packets, chart, last };
})();
