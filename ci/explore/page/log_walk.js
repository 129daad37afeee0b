// What is said of the batch at hand, and what the reader's keys, buttons and filters do.
const NARROW = 600;  // Below so many pixels what is wrong is a line that opens, so that the batches are in view.

function row(cells) {
  const line = document.createElement("tr");
  cells.forEach((text, number) => {
    const cell = document.createElement(number ? "td" : "th");
    if (!number) cell.scope = "row";
    cell.textContent = text;
    if (String(text).includes(" → ")) cell.className = "changed";
    line.append(cell);
  });
  return line;
}

function listed(items, total, what) {
  return total > items.length ? [...items, row([`and ${total - items.length} ${what} more`])] : items;
}

function paragraphs(id, lines) {
  byId(id).replaceChildren(...lines.map((line) => {
    const text = document.createElement("p");
    text.textContent = line;
    return text;
  }));
}

function describe() {
  const batch = chosen[current], none = batch === undefined;
  byId("place").textContent = none ? "no batch matches" : `batch ${current + 1} of ${chosen.length}`;
  byId("back").disabled = none || current === 0;
  byId("forward").disabled = none || current === chosen.length - 1;
  byId("earlier").disabled = nextProblem(-1) < 0;
  byId("later").disabled = nextProblem(1) < 0;
  byId("batch").textContent = none ? "" : `offset ${log.offsets[batch]}, ${counted(log.records[batch], "record")}`;
  byId("where").textContent = none ? "" : log.places[batch];
  paragraphs("wrong", none ? [] : wrong(batch));
  const several = !none && log.explanations[batch] > 1;
  byId("ambiguous").textContent = several ? `${log.explanations[batch]} explanations; this is one of them` : "";
  events(batch);
  changes(batch);
}

// Why it is not explained, and the violations, those of the partition in view first.
function wrong(batch) {
  const partition = partitionInView(), own = (fault) => Number(fault.partition !== partition);
  const faults = [...(log.faults.get(batch) || [])].sort((a, b) => own(a) - own(b));
  const more = faults.length - NAMED;
  return [...(log.reasons.get(batch) || []), ...faults.slice(0, NAMED).map((fault) => `VIOLATED ${fault.text}`),
    ...(more > 0 ? [`and ${counted(more, "violation")} more`] : [])];
}

function counted(count, what) { return `${count} ${what}${count === 1 ? "" : "s"}`; }

function events(batch) {
  const [start, end] = batch === undefined ? [0, 0] : range(log.eventEnds, batch), rows = [];
  for (let event = start; event < Math.min(end, start + LISTED); event += 1) rows.push(row([textOf(event)]));
  byId("events").replaceChildren(...listed(rows, end - start, "events"));
}

function changes(batch) {
  const [start, end] = batch === undefined ? [0, 0] : range(log.changeEnds, batch);
  const partition = partitionInView(), own = partition < 0 ? -1 : changeOf(batch, partition), rows = [];
  for (let number = start; number < end && rows.length < LISTED; number += 1) {
    if (own >= 0 && number !== own) continue;
    const before = log.before[number], old = before < 0 ? null : log.shown[log.states[before]];
    const cells = log.shown[log.states[number]].map((value, which) => (
      old && old[which] !== value ? `${old[which]} → ${value}` : value));
    rows.push(row([log.partitions[log.changed[number]], ...cells, log.epochs[number]]));
  }
  const total = own >= 0 ? 1 : end - start;
  byId("changed").hidden = !total;
  byId("changes").replaceChildren(...listed(rows, total, "partitions"));
}

function nextProblem(way) {
  for (let index = current + way; index >= 0 && index < chosen.length; index += way) {
    if (isProblem(chosen[index])) return index;
  }
  return -1;
}

function address() {
  const parts = new URLSearchParams();
  if (fields.partition.value) parts.set("partition", fields.partition.value);
  if (fields.words.value) parts.set("words", fields.words.value);
  if (only.checked) parts.set("problems", "only");
  if (chosen.length) parts.set("offset", log.offsets[chosen[current]]);
  return `#${parts}`;
}

function go(index, remember) {
  const before = current;
  current = Math.max(0, Math.min(chosen.length - 1, index));
  const room = Math.max(1, (scroll.clientWidth - grid().left) / WIDTH);
  if (current < first || current > first + room - 1) show(Math.ceil(current - (room - 1) / 2)); else draw();
  describe();
  markHere();
  if (remember && current !== before) history.pushState(null, "", address());
  else history.replaceState(null, "", address());
}

// Chooses the batches again, and stays at the offset at hand, or at the first one after it.
function filter(offset) {
  chosen = matching();
  fields.partition.setAttribute("aria-invalid", String(fields.partition.value !== "" && partitionInView() < 0));
  const index = chosen.findIndex((batch) => log.offsets[batch] + log.records[batch] > offset);
  current = index < 0 ? Math.max(0, chosen.length - 1) : index;
  resize();
  mark();
  show(current);
  go(current, false);
}

function suggest() {
  const typed = fields.partition.value.toLowerCase();
  const names = log.partitions.filter((name) => name.toLowerCase().includes(typed)).slice(0, LISTED).sort();
  byId("partitions").replaceChildren(...names.map((name) => new Option(name, name)));
}

function restore() {
  const parts = new URLSearchParams(location.hash.slice(1));
  fields.partition.value = parts.get("partition") || "";
  fields.words.value = parts.get("words") || "";
  only.checked = parts.get("problems") === "only";
  filter(parts.has("offset") ? Number(parts.get("offset")) || 0 : -1);
  if (!parts.has("offset") && nextProblem(1) >= 0 && !isProblem(chosen[0])) go(nextProblem(1), false);
}

function offsetAtHand() { return chosen.length ? log.offsets[chosen[current]] : -1; }

function listen() {
  byId("back").addEventListener("click", () => go(current - 1, true));
  byId("forward").addEventListener("click", () => go(current + 1, true));
  byId("earlier").addEventListener("click", () => go(nextProblem(-1), true));
  byId("later").addEventListener("click", () => go(nextProblem(1), true));
  byId("window").addEventListener("click", (event) => {
    const column = event.target.closest(".column");
    if (column) go(Number(column.dataset.index), true);
  });
  byId("marks").addEventListener("click", (event) => {
    const box = byId("marks").getBoundingClientRect();
    go(Math.floor((event.clientX - box.left) / box.width * chosen.length), true);
  });
  for (const field of [fields.partition, fields.words, only]) {
    field.addEventListener("change", () => { history.pushState(null, "", address()); filter(offsetAtHand()); });
  }
  fields.partition.addEventListener("input", suggest);
  byId("offset").addEventListener("change", (event) => {
    const wanted = Number(event.target.value), past = (batch) => log.offsets[batch] + log.records[batch] > wanted;
    const index = chosen.findIndex(past);
    go(index < 0 ? chosen.length - 1 : index, true);
  });
  document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: chosen.length - 1 };
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, #condition pre")) return;
    event.preventDefault();
    go(moves[event.key], !event.repeat);
  });
  scroll.addEventListener("scroll", scrolled);
  window.addEventListener("resize", () => { resize(); show(first); });
  window.addEventListener("popstate", restore);
}

read().then((read) => {
  log = read;
  const condition = byId("condition");
  if (condition && window.innerWidth < NARROW) condition.open = false;
  suggest();
  listen();
  restore();
  document.body.dataset.ready = "yes";
});
