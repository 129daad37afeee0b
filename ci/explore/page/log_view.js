// What is drawn of the log: rows, of which only those in view are elements, and bars over the whole of it.
const TALLEST = 8e6, BINS = 1000;  // Browsers cannot make elements of any height: a pixel of the bar may be more than one.

function make(name, attributes, ...children) {
  const element = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  element.append(...children);
  return element;
}

function counted(count, what) { return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`; }

// A list of any length in a box: `render` makes the row of a number.
class Rows {
  constructor(box, height, render) {
    this.box = box;
    this.height = height;
    this.render = render;
    this.count = 0;
    this.spacer = make("div", { class: "spacer" });
    this.view = make("div", { class: "view" });
    this.spacer.append(this.view);
    box.append(this.spacer);
    box.addEventListener("scroll", () => this.draw());
  }

  set(count) {
    this.count = count;
    this.spacer.style.height = `${Math.min(TALLEST, count * this.height)}px`;
    this.draw();
  }

  get room() { return this.box.clientHeight / this.height; }

  get most() { return Math.max(0, this.count - this.room); }

  get first() {
    if (this.count * this.height <= TALLEST) return this.box.scrollTop / this.height;
    return this.box.scrollTop / (this.spacer.offsetHeight - this.box.clientHeight) * this.most;
  }

  // Brings a row into view, in the middle where it is not in view.
  show(row) {
    if (row >= this.first && row + 1 <= this.first + this.room) { this.draw(); return; }
    const first = Math.max(0, Math.min(this.most, row + 0.5 - this.room / 2)), whole = this.count * this.height;
    this.box.scrollTop = whole <= TALLEST ? first * this.height
      : first / this.most * (this.spacer.offsetHeight - this.box.clientHeight);
    this.draw();
  }

  draw() {
    const exact = Math.min(this.first, this.most), start = Math.max(0, Math.floor(exact));
    const end = Math.min(this.count, Math.ceil(exact + this.room + 1)), rows = [];
    for (let number = start; number < end; number += 1) {
      const row = this.render(number);
      row.style.transform = `translateY(${(number - exact) * this.height}px)`;
      rows.push(row);
    }
    this.view.replaceChildren(...rows);
  }
}

function percent(batch) { return batch / Math.max(1, log.size) * BINS; }

// Bars as one path; those that meet in a pixel are one bar.
function bars(spans) {
  const parts = [];
  for (const [start, end] of spans) {
    const left = percent(start), right = Math.max(left + 2, percent(end)), last = parts[parts.length - 1];
    if (last && left <= last[1]) last[1] = Math.max(last[1], right); else parts.push([left, right]);
  }
  return parts.map(([left, right]) => `M${left.toFixed(1)},4h${(right - left).toFixed(1)}v12h${(left - right).toFixed(1)}z`).join("");
}

// How many there are after each batch, the most of those that meet in a pixel.
function chart(counts) {
  const most = counts.reduce((a, b) => Math.max(a, b), 0), tops = new Int32Array(BINS);
  counts.forEach((count, batch) => {
    const last = Math.min(BINS, Math.max(percent(batch) + 1, percent(batch + 1)));
    for (let bin = Math.floor(percent(batch)); bin < last; bin += 1) tops[bin] = Math.max(tops[bin], count);
  });
  const height = (count) => (count ? 18 - 15 * count / most : 18).toFixed(1);
  return `M0,18${[...tops].map((count, bin) => `L${bin},${height(count)}H${bin + 1}`).join("")}L${BINS},18z`;
}

// What a broker did, as spans by what it is; while it lives a thin line.
function brokerBars(broker) {
  const spells = log.doing.get(broker), spans = DOING.map(() => []);
  spells.forEach(([start, state], n) => spans[state].push([start, n + 1 < spells.length ? spells[n + 1][0] : log.size]));
  const line = spans[0].map(([start, end]) => `M${percent(start)},9h${percent(end) - percent(start)}v2H${percent(start)}z`);
  const acts = new Set(log.acts.get(broker).map((batch) => Math.floor(percent(batch + 0.5))));
  const ticks = [...acts].map((x) => `M${x},7h1.5v6h-1.5z`).join("");
  const drawn = [["live", line.join("")], ["acts", ticks]];
  [1, 2, 3, 4].forEach((state) => drawn.push([DOING[state].replace(" ", "-"), bars(spans[state])]));
  return drawn.filter(([, path]) => path);
}

// The lanes from top to bottom; each draws its bars once.
function lanesOf() {
  const charts = [["offline", OFFLINE], ["acks refused", SHORT]].map(([name, which]) => ({
    name, title: `partitions: ${DANGERS[which]}`,
    drawn: () => [[which ? "starting" : "fenced", chart(log.counts[which])]], value: (batch) => `${log.counts[which][batch]}`,
  }));
  const causes = log.causes.map(({ name, title, deliberate, spells }) => {
    const spans = spells.map(([from, until]) => [batchAt(from), until === null ? log.size : Math.max(batchAt(until), batchAt(from) + 1)]);
    return { name, title, drawn: () => [[deliberate ? "shut-down" : "fails", bars(spans)]],
      value: (batch) => (spans.some(([start, end]) => start <= batch && batch < end) ? "now" : "") };
  });
  const unexplained = log.problems.length ? [{ name: "not explained", title: "batches that the rules do not write",
    drawn: () => [["unexplained", bars(log.problems.map(([batch]) => [batch, batch + 1]))]],
    value: (batch) => (log.reasons.has(batch) ? "now" : "") }] : [];
  const well = (broker) => Number(log.doingAt(broker, log.size - 1) === 0);
  const brokers = [...log.doing.keys()].sort((a, b) => well(a) - well(b) || a - b).map((broker) => ({
    name: `broker ${broker}`, title: `broker ${broker}`, drawn: () => brokerBars(broker),
    value: (batch) => {
      const doing = log.doingAt(broker, batch);
      return doing === 0 ? `leads ${(seen.leads.get(broker) || 0).toLocaleString("en")}` : DOING[doing];
    },
  }));
  return [...charts, ...causes, ...unexplained, ...brokers];
}

function laneAt(number) {
  const lane = lanes[number], value = lane.value(held);
  lane.paths ||= lane.drawn();
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${BINS} 20`);
  svg.setAttribute("preserveAspectRatio", "none");
  lane.paths.forEach(([kind, path]) => {
    const part = document.createElementNS("http://www.w3.org/2000/svg", "path");
    part.setAttribute("class", kind);
    part.setAttribute("d", path);
    svg.append(part);
  });
  const bad = value && value !== "0" && !value.startsWith("leads");
  return make("div", { class: "lane", title: lane.title }, make("span", { class: "name" }, lane.name), svg,
    make("span", { class: bad ? "value bad" : "value" }, value));
}

function clock(batch) {
  const time = log.times[batch];
  return time === null ? "" : new Date(time).toISOString().slice(0, 19).replace("T", " ");
}

function batchRow(index) {
  const batch = chosen[index], problem = log.isProblem(batch), kinds = log.kindsOf(batch).join(", ");
  const faults = [...new Set((log.faults.get(batch) || []).map((fault) => fault.property))];
  const why = [...(log.reasons.has(batch) ? ["not explained"] : []), ...faults.map((name) => `fails: ${name}`)].join(", ");
  const row = make("div", { class: `row${problem ? " problem" : ""}`, role: "option", id: `batch-${index}`,
    "data-index": index, "aria-selected": String(index === current), "aria-posinset": index + 1, "aria-setsize": chosen.length },
  make("span", { class: "offset" }, String(log.offsets[batch])), make("span", { class: "time" }, clock(batch).slice(11)),
  make("span", { class: "what" }, kinds, ...(why ? [" ", make("b", {}, why)] : [])));
  row.title = kinds;
  return row;
}

function list(brokers) { return brokers.length ? brokers.join(", ") : "none"; }

function partitionRow(number) {
  const partition = seen.rows[number], change = log.at[partition], danger = log.danger(change);
  const [leader, isr, elr, replicas, least] = log.shown[log.states[change]], fresh = change >= log.changeEnds[log.place];
  const since = log.since(change), offset = log.offsets[firstAfter(log.changeEnds, since) - 1] + log.within[since];
  const cells = [log.partitions[partition], DANGERS[danger], leader < 0 ? "none" : leader, list(isr), least, list(elr),
    list(replicas), log.epochs[change], offset];
  return make("div", { class: `row danger-${danger}${fresh ? " fresh" : ""}`, role: "row", "data-row": number,
    "aria-rowindex": number + 2, "aria-selected": String(number === marked) },
  ...cells.map((cell, column) => make("span", { role: column ? "gridcell" : "rowheader" }, String(cell))));
}
