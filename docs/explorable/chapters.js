// The chapters: what a reader sees, tries and is asked. `state` are the settings that differ from
// the usual ones (page.js).
"use strict";

const CHAPTERS = [
  {
    short: "Ten segments",
    title: "1. Why ten segments",
    text: `A new connection knows nothing about its path, yet it must send something. RFC 6928 allows
      ten segments, about 15 kB, in the first round trip. Each round trip after that doubles what is
      in the network, so the start decides how many round trips a small transfer takes. Here 60 kB,
      a small web page, start once with ten segments and once with two.`,
    try: `Drag the rate from 20 to 100 Mbit/s. The completion time hardly changes: a short transfer
      waits for round trips, not for the rate. Then halve the RTT.`,
    question: "How many round trips does starting with two segments cost?",
    answer: `Two. Ten segments, then twenty, then the last twelve arrive in the third round of data.
      Two, four, eight and sixteen segments deliver only thirty in four rounds, so the fifth brings
      the rest. At 60 ms each, that is the difference between the two completion times.`,
    state: { size: 60, b: "cubic+initial-start:initial_window=2" },
    sees: "rtt",
  },
  {
    short: "The ACK clock",
    title: "2. The ACK clock",
    text: `The sender adds one segment to its window for each segment that an ACK reports. It has no
      timer for sending: an ACK that arrives lets segments leave. ACKs return as fast as the
      bottleneck delivers, so they carry its rate back to the sender. The window doubles each round
      trip all the same, and the other half of each burst waits in the queue.`,
    try: `Play at a hundredth of the speed, and watch the queue while a train of ACKs arrives: two
      segments enter for each one that leaves. SUSS, the second start-up, sends more in some rounds
      than slow start does, and paces it.`,
    question: "Why does the queue grow before the path is full?",
    answer: `Segments leave in bursts at the speed of the sender's network card. The bottleneck is
      slower, so a burst waits although the link is idle for the rest of the round trip. Pacing
      spreads the burst over the round trip and removes that queue.`,
    state: { rtt: 100, buffer: 2, size: 2000, b: "cubic+suss" },
    sees: "rtt",
  },
  {
    short: "The buffer",
    title: "3. What the buffer hides",
    text: `Once the window exceeds the bandwidth-delay product (BDP), a larger window does not deliver
      more: the rest waits in the queue. Slow start without a test does not notice. It goes on
      doubling until the buffer overflows, one round trip later it hears of it, and by then it has
      sent as much again.`,
    try: `Drag the buffer from 0.2 to 4 BDP. A deeper buffer does not prevent the losses: the window is
      only larger when they come, and more segments are lost. Then compare with HyStart, the second
      start-up.`,
    question: "Why does the late exit cost hundreds of packets, and hardly any time?",
    answer: `The queue keeps the bottleneck busy while the sender repairs the losses, so this
      transfer ends when it would have ended anyway. Others pay: whoever shares the bottleneck waits
      behind that queue, and may lose packets, too. With a buffer below 0.5 BDP the link falls idle,
      and the flow itself pays.`,
    state: { buffer: 2, b: "cubic+hystart" },
    sees: "rtt",
  },
  {
    short: "ACK trains",
    title: "4. How HyStart measures a train",
    text: `HyStart, the default of Linux, wants to leave before the loss. It looks at the ACKs of each
      round: ACKs that follow each other within 2 ms are a train. A train that lasts for a good part
      of the smallest RTT means that the segments fill the path. Linux takes half of the
      smallest RTT for a sender that does not pace, because such a sender doubles its window within
      the train.`,
    try: `Lower the rate to 4 Mbit/s: ACKs are now more than 2 ms apart, there is no train, and the
      other test of HyStart decides. Then go back to 50 Mbit/s and read the two numbers that HyStart
      compared: the next ACK of the train decides.`,
    question: "Which other reason than a full path can break a train?",
    answer: `Anything that sends ACKs in groups: a Wi-Fi or cellular uplink that waits for its turn, a
      receiver that merges segments, a modem that thins ACKs. The pause between groups ends the
      train.`,
    state: { rate: 50, rtt: 100, size: 6000, b: "cubic+hystart" },
    sees: "rtt",
  },
  {
    short: "Delay",
    title: "5. How HyStart measures delay",
    text: `The second detector compares RTTs. Once a round has eight samples, its smallest RTT is
      compared with the smallest RTT of the connection. An increase of more than an eighth, at least
      4 ms and at most 16 ms, means a queue that never empties: slow start ends. Here each detector
      runs alone.`,
    try: `Choose "RTT" below, and look for the round whose dots all lie above the dotted threshold.
      Then raise the RTT to 300 ms: the increase is still at most 16 ms.`,
    question: "Why does the delay detector need another round than the train detector?",
    answer: `The smallest RTT of a round rises only when the queue does not empty between two rounds,
      so when more than a BDP is in flight all the time. The train detector measures the length of
      the burst, which grows from the start.`,
    state: {
      rate: 40, buffer: 2, jitter: 4, size: 4000,
      a: "cubic+hystart:train=false", b: "cubic+hystart:delay=false",
    },
    sees: "rtt",
  },
  {
    short: "HyStart++",
    title: "6. HyStart++: a second opinion",
    text: `On many paths delay varies without any queue. HyStart takes a round of larger delays for
      congestion, leaves, and then grows slowly. HyStart++ (RFC 9406) first only slows down: for five
      rounds its window grows a quarter as fast. If the RTT falls again, the alarm was false, and it
      returns to slow start.`,
    try: `Set the jitter to 0: HyStart now leaves in time, by its train, a test that HyStart++ does not
      have. Then raise the jitter in steps, and try other seeds: a seed selects the delays of the
      channel.`,
    question: "What is the price of the second opinion?",
    answer: `Time, if the alarm was right: the window still grows in the five rounds, and a shallow
      buffer overflows. With these settings HyStart++ saves time against HyStart, and loses
      segments that HyStart does not lose.`,
    state: {
      rate: 40, buffer: 3, jitter: 10, size: 4000, a: "cubic+hystart", b: "cubic+hystart++",
    },
    sees: "rtt",
  },
  {
    short: "LTE",
    title: "7. Why HyStart leaves early on LTE",
    text: `A cell serves its users in turns of a millisecond, retransmits blocks that fail after
      8 ms, and shares its capacity with others as they come and go. The RTT of a segment therefore
      varies by 10 ms or more before there is a queue of our own, and the rate varies, too. HyStart's
      threshold lies 7.5 ms above a smallest RTT of 60 ms.`,
    try: `Go through the seeds: each is another position in the cell, with other users. Count how often
      HyStart leaves early. Then choose HyStart++ in its place.`,
    question: "Why can a start-up be faster here than the ideal exit?",
    answer: `The ideal exit leaves when its window holds the BDP of that moment. If the rate rises
      later, a start-up that left later has a queue, and the cell sends it at once. This queue is
      the price: look at its length, and at the delay that others would meet.`,
    state: { kind: "lte", size: 8000, seed: 3, a: "cubic+hystart", b: "cubic+search" },
    sees: "rtt",
  },
  {
    short: "SEARCH",
    title: "8. What SEARCH sees",
    text: `SEARCH does not measure delay. It counts delivered bytes in a window of 3.5 round trips. In
      slow start each window delivers twice what the window one round trip earlier delivered. Once
      the bottleneck is busy, delivery stops doubling, whatever the delays do. SEARCH leaves when
      delivery falls 35 % short.`,
    try: `Set the buffer to 1 BDP, then to 8. SEARCH takes some round trips to be sure: a shallow
      buffer overflows before. Then add 10 ms of jitter, which misleads HyStart, and see that SEARCH
      hardly cares.`,
    question: "When does slow start see the first round in which delivery does not double?",
    answer: `The queue begins with the first busy round trip, and delivery of that round is the first
      that falls short. But the window of SEARCH holds 3.5 rounds, most of them from before, so the
      shortfall of the sum passes 35 % about two round trips later.`,
    state: { buffer: 4, size: 4000, b: "cubic+search" },
    sees: "delivery",
  },
];
