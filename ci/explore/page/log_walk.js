// What is said of the batch at hand, and what the reader's keys, buttons and filters do.
const LISTED = 100, NAMED = 8, NARROW = 700;
const fields = { partition: byId("partition"), words: byId("words") }, only = byId("problems");
const ROW = 26;
let log, lanes = [], chosen = [], named = null, current = 0, seen = { rows: [], sizes: [], leads: new Map() };
let held = 0;  // the batch at hand, which a filter does not move
let laneRows, batchRows, partitionRows, marked = -1;  // the partition that the keys have reached

// The batch that holds an offset, or the first after it.
function batchAt(offset) { return Math.max(0, firstAfter(log.offsets, offset) - 1); }

function row(cells) {
  return make("tr", {}, ...cells.map((text, number) => {
    const cell = make(number ? "td" : "th", number ? {} : { scope: "row" }, String(text));
    if (String(text).includes(" → ")) cell.className = "changed";
    return cell;
  }));
}

function listed(items, total, what) {
  return total > items.length ? [...items, row([`and ${counted(total - items.length, what)} more`])] : items;
}

function describe() {
  const batch = chosen[current], none = batch === undefined, at = held;
  byId("place").textContent = none ? "no batch matches"
    : `batch ${(current + 1).toLocaleString("en")} of ${chosen.length.toLocaleString("en")}`;
  byId("back").disabled = none || current === 0;
  byId("forward").disabled = none || current === chosen.length - 1;
  byId("earlier").disabled = nextProblem(-1) < 0;
  byId("later").disabled = nextProblem(1) < 0;
  byId("batch").textContent = none ? "" : `Offset ${log.offsets[batch]}, ${counted(log.records[batch], "record")}`;
  byId("where").textContent = none ? "" : [clock(batch) && `${clock(batch)} UTC`, log.places[batch]].filter(Boolean).join(", ");
  byId("wrong").replaceChildren(...(none ? [] : wrong(batch)).map((line) => make("p", {}, line)));
  const several = !none && log.explanations[batch] > 1;
  byId("ambiguous").textContent = several ? `${log.explanations[batch]} explanations; this is one of them` : "";
  events(batch);
  changes(batch);
  const told = DANGERS.map((name, danger) => [seen.sizes[danger], name]).filter(([size]) => size);
  byId("state").textContent = `The cluster after offset ${log.offsets[at]}`;
  byId("counts").textContent = told.map(([size, name]) => `${size.toLocaleString("en")} ${name}`).join(", ") || "no partition";
  const slider = byId("lanes");
  slider.setAttribute("aria-valuenow", current);
  slider.setAttribute("aria-valuemax", Math.max(0, chosen.length - 1));
  slider.setAttribute("aria-valuetext", `offset ${log.offsets[at]}`);
  slider.style.setProperty("--at", (at + 0.5) / log.size);
  byId("batches").setAttribute("aria-activedescendant", none ? "" : `batch-${current}`);
}

// Why it is not explained, and the violations, those of the partitions in view first.
function wrong(batch) {
  const own = (fault) => Number(!(named && named[fault.partition]));
  const faults = [...(log.faults.get(batch) || [])].sort((a, b) => own(a) - own(b));
  const more = faults.length - NAMED;
  return [...(log.reasons.get(batch) || []), ...faults.slice(0, NAMED).map((fault) => `VIOLATED ${fault.text}`),
    ...(more > 0 ? [`and ${counted(more, "violation")} more`] : [])];
}

function events(batch) {
  const [start, end] = batch === undefined ? [0, 0] : [log.eventEnds[batch], log.eventEnds[batch + 1]], rows = [];
  for (let event = start; event < Math.min(end, start + LISTED); event += 1) rows.push(row([log.textOf(event)]));
  byId("events").replaceChildren(...listed(rows, end - start, "event"));
}

function textsOf(change) {
  if (change < 0 || log.states[change] === GONE) return null;
  const [leader, isr, elr, replicas] = log.shown[log.states[change]];
  return [leader < 0 ? "none" : String(leader), list(isr), list(elr), list(replicas), String(log.epochs[change])];
}

function changes(batch) {
  const [start, end] = batch === undefined ? [0, 0] : [log.changeEnds[batch], log.changeEnds[batch + 1]];
  const wanted = [], rows = [];
  for (let n = start; n < end; n += 1) if (!named || named[log.changed[n]]) wanted.push(n);
  for (const n of wanted.slice(0, LISTED)) {
    const old = textsOf(log.before[n]), now = textsOf(n) || ["deleted", "", "", "", ""];
    const cells = now.map((text, which) => (old && old[which] !== text ? `${old[which]} → ${text}` : text));
    rows.push(row([log.partitions[log.changed[n]], ...cells]));
  }
  byId("changed").hidden = !wanted.length;
  byId("changes").replaceChildren(...listed(rows, wanted.length, "partition"));
}

function nextProblem(way) {
  for (let index = current + way; index >= 0 && index < chosen.length; index += way) {
    if (log.isProblem(chosen[index])) return index;
  }
  return -1;
}

function address() {
  const parts = new URLSearchParams();
  if (fields.partition.value) parts.set("partition", fields.partition.value);
  if (fields.words.value) parts.set("words", fields.words.value);
  if (only.checked) parts.set("problems", "only");
  parts.set("offset", log.offsets[held]);
  return `#${parts}`;
}

function go(index, remember) {
  const before = held;
  current = Math.max(0, Math.min(chosen.length - 1, index));
  if (chosen.length) held = chosen[current];
  show();
  if (remember && held !== before) history.pushState(null, "", address());
  else history.replaceState(null, "", address());
}

function show() {
  log.moveTo(held);
  seen = log.inDanger(named);
  batchRows.show(current);
  partitionRows.set(seen.rows.length);
  byId("table").setAttribute("aria-rowcount", seen.rows.length + 1);
  laneRows.draw();
  describe();
}

// Chooses the batches again; the last one before the batch at hand is that which it is the state after.
function filter() {
  named = log.named(fields.partition.value);
  chosen = log.matching(named, fields.words.value, only.checked);
  fields.partition.setAttribute("aria-invalid", String(Boolean(named && !named.includes(1))));
  batchRows.set(chosen.length);
  partitionRows.box.scrollTop = 0;
  current = Math.max(0, firstAfter(chosen, held) - 1);
  show();
  history.replaceState(null, "", address());
}

function restore() {
  const parts = new URLSearchParams(location.hash.slice(1));
  fields.partition.value = parts.get("partition") || "";
  fields.words.value = parts.get("words") || "";
  only.checked = parts.get("problems") === "only";
  held = parts.has("offset") ? batchAt(Number(parts.get("offset")) || 0) : log.size - 1;
  filter();
  const broken = log.counts.some((counts) => counts[log.size - 1] > 0);
  if (parts.has("offset") || broken) return;
  const first = chosen.findIndex((batch) => log.isProblem(batch));
  if (first >= 0) go(first, false);
}

// The batch over which the pointer is in the lanes.
function pointed(event) {
  const box = byId("lanes").querySelector("svg").getBoundingClientRect();
  const batch = Math.floor((event.clientX - box.left) / box.width * log.size);
  return Math.max(0, firstAfter(chosen, Math.max(0, batch)) - 1);
}

function listenToLanes() {
  const box = byId("lanes");
  let down = false;
  box.addEventListener("pointerdown", (event) => {
    if (event.offsetX > box.clientWidth && event.target === box) return;  // the scroll bar
    down = true;
    go(pointed(event), true);
  });
  box.addEventListener("pointermove", (event) => { if (down && event.buttons) go(pointed(event), false); else down = false; });
  window.addEventListener("pointerup", () => { down = false; });
}

function listen() {
  byId("back").addEventListener("click", () => go(current - 1, true));
  byId("forward").addEventListener("click", () => go(current + 1, true));
  byId("earlier").addEventListener("click", () => go(nextProblem(-1), true));
  byId("later").addEventListener("click", () => go(nextProblem(1), true));
  byId("batches").addEventListener("click", (event) => {
    const chosenRow = event.target.closest(".row");
    if (chosenRow) go(Number(chosenRow.dataset.index), true);
  });
  byId("table").addEventListener("click", (event) => {
    const chosenRow = event.target.closest("[data-row]");
    if (chosenRow) pin(Number(chosenRow.dataset.row));
  });
  listenToLanes();
  const again = () => filter();
  for (const field of [fields.partition, fields.words, only]) {
    field.addEventListener("input", again);
    field.addEventListener("change", () => history.pushState(null, "", address()));
  }
  byId("offset").addEventListener("input", (event) => {
    if (event.target.value) go(Math.max(0, firstAfter(chosen, batchAt(Number(event.target.value))) - 1), false);
  });
  document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", pressed);
  window.addEventListener("resize", () => { laneRows.draw(); batchRows.show(current); partitionRows.draw(); });
  window.addEventListener("popstate", restore);
}

// One partition alone, or all again where it was alone.
function pin(number) {
  const name = log.partitions[seen.rows[number]];
  if (!name) return;
  marked = 0;
  fields.partition.value = fields.partition.value === name ? "" : name;
  filter();
  history.pushState(null, "", address());
}

// Keys in the table of partitions: whether it was one.
function pressedInTable(key) {
  const ways = { ArrowUp: -1, ArrowDown: 1 };
  if (key === "Enter") pin(marked);
  else if (key in ways) {
    marked = Math.max(0, Math.min(seen.rows.length - 1, marked + ways[key]));
    partitionRows.show(marked);
  } else return false;
  return true;
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === byId("rows") && pressedInTable(event.key)) { event.preventDefault(); return; }
  const typing = event.target.matches("input");
  if (event.key === "Escape" && (fields.partition.value || fields.words.value || only.checked)) {
    fields.partition.value = fields.words.value = "";
    only.checked = false;
    filter();
    return;
  }
  if (typing && event.target !== only) return;
  const moves = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: chosen.length - 1,
    p: nextProblem(-1), n: nextProblem(1) };
  if (event.target === byId("batches")) Object.assign(moves, { ArrowUp: current - 1, ArrowDown: current + 1 });
  if (event.key === "/") fields.partition.focus();
  else if (!(event.key in moves) || moves[event.key] < 0) return;
  else {
    go(moves[event.key], !event.repeat);
    byId("batches").scrollIntoView({ block: "nearest" });
  }
  event.preventDefault();
}

read().then((read) => {
  log = read;
  lanes = lanesOf();
  laneRows = new Rows(byId("lanes"), 22, laneAt);
  batchRows = new Rows(byId("batches"), ROW, batchRow);
  partitionRows = new Rows(byId("rows"), ROW, partitionRow);
  if (byId("more") && window.innerWidth < NARROW) byId("more").open = false;
  listen();
  restore();
  laneRows.set(lanes.length);
  document.body.dataset.ready = "yes";
});
