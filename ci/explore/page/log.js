"use strict";
// The page of a replayed log. Only the columns in view are elements; all else is numbers in arrays.
const WIDTH = 196, LINE = 15, PAD = 8, LANE = 46, CHARACTER = 6.6, MARKS = 400, LISTED = 200, NAMED = 8, WIDEST = 8e6;
const SVG = "http://www.w3.org/2000/svg", PARTITION = "\0";
const byId = (id) => document.getElementById(id);
const scroll = document.querySelector(".scroll"), fields = { partition: byId("partition"), words: byId("words") };
const only = byId("problems");
let log, first = 0, current = 0, chosen = [];

async function read() {
  const packed = Uint8Array.from(atob(JSON.parse(byId("drawing").textContent)), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return prepared(JSON.parse(await new Response(stream).text()));
}

function sums(counts) {
  const ends = new Int32Array(counts.length + 1);
  counts.forEach((count, number) => { ends[number + 1] = ends[number] + count; });
  return ends;
}

// Adds what is looked up often: where the events and changes of a batch begin, and the change before each change.
function prepared(data) {
  data.eventEnds = sums(data.eventCounts);
  data.changeEnds = sums(data.changeCounts);
  const latest = new Int32Array(data.partitions.length).fill(-1);
  data.before = Int32Array.from(data.changed, (partition, number) => {
    const before = latest[partition];
    latest[partition] = number;
    return before;
  });
  data.faults = new Map();
  for (const [batch, property, partition, parts] of data.violations) {
    const text = `${property} by ${data.partitions[partition]}${parts && parts !== property ? `: ${parts}` : ""}`;
    data.faults.set(batch, [...(data.faults.get(batch) || []), { property, partition, text }]);
  }
  data.reasons = new Map(data.problems);
  return data;
}

function textOf(event) {
  const [text] = log.words[log.events[event]], partition = log.eventPartitions[event];
  return partition < 0 ? text : text.replace(PARTITION, log.partitions[partition]);
}

function range(ends, batch) { return [ends[batch], ends[batch + 1]]; }

// The change of the partition in view by a batch, or -1.
function changeOf(batch, partition) {
  const [start, end] = range(log.changeEnds, batch);
  for (let number = end - 1; number >= start; number -= 1) if (log.changed[number] === partition) return number;
  return -1;
}

function isProblem(batch) { return log.faults.has(batch) || log.reasons.has(batch); }

function partitionInView() { return log.partitions.indexOf(fields.partition.value); }

// The batches that the reader wants to see.
function matching() {
  const name = fields.partition.value, partition = partitionInView(), words = fields.words.value.toLowerCase();
  const wanted = [];
  for (let batch = 0; batch < log.offsets.length; batch += 1) {
    if (only.checked && !isProblem(batch)) continue;
    if (name && (partition < 0 || !concerns(batch, partition))) continue;
    if (words && !says(batch, words)) continue;
    wanted.push(batch);
  }
  return wanted;
}

function concerns(batch, partition) {
  return changeOf(batch, partition) >= 0 || (log.faults.get(batch) || []).some((fault) => fault.partition === partition);
}

function says(batch, words) {
  const [start, end] = range(log.eventEnds, batch);
  for (let event = start; event < end; event += 1) if (textOf(event).toLowerCase().includes(words)) return true;
  return false;
}

// The kinds of a batch's events and how often each comes; of one that comes once its words.
function kindsOf(batch) {
  const kinds = new Map(), [start, end] = range(log.eventEnds, batch);
  for (let event = start; event < end; event += 1) {
    const kind = log.words[log.events[event]][1];
    kinds.set(kind, [...(kinds.get(kind) || []), event]);
  }
  return [...kinds].map(([kind, events]) => (events.length > 1 ? `${kind} ×${events.length}` : textOf(events[0])));
}

function arrowsOf(batch) {
  const arrows = new Map(), [start, end] = range(log.eventEnds, batch);
  for (let event = start; event < end; event += 1) {
    const [, , source, target, label] = log.words[log.events[event]], key = `${source} ${target} ${label}`;
    const arrow = arrows.get(key) || { source, target, label, count: 0 };
    arrow.count += 1;
    arrows.set(key, arrow);
  }
  return [...arrows.values()];
}

// What stands above the lanes: of a partition its state, of all partitions how much a batch holds.
function stripOf(batch) {
  const partition = partitionInView();
  if (partition < 0) {
    return [log.records[batch], log.changeCounts[batch]].map((value) => ({ value: String(value), changed: false }));
  }
  const change = changeOf(batch, partition), before = change < 0 ? -1 : log.before[change];
  const texts = change < 0 ? log.labels.map(() => "") : log.shown[log.states[change]];
  const old = before < 0 ? texts : log.shown[log.states[before]];
  return texts.map((value, row) => ({ value, changed: value !== old[row] }));
}

function labels() { return partitionInView() < 0 ? ["records", "partitions"] : log.labels; }

function problemsOf(batch) {
  const lines = (log.faults.get(batch) || []).map((fault) => `fails: ${fault.property}`);
  if (log.reasons.has(batch)) lines.unshift("not explained");
  return [...new Set(lines)];
}
