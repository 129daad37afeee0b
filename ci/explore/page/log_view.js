// What is drawn of the log, and how one moves in it.
function part(parent, name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function fitted(text, pixels, character = CHARACTER) {
  const most = Math.floor(pixels / character);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

// A text in lines of a column's width; a word that is too long is cut.
function wrapped(text) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1], longer = last ? `${last} ${word}` : word;
    if (last && longer.length * CHARACTER > WIDTH - PAD) lines.push(word); else lines[lines.length - 1] = longer;
  }
  return lines.map((line) => fitted(line, WIDTH - PAD));
}

function words(parent, x, y, text, kind, anchor = "middle") {
  part(parent, "text", { class: kind, x, y, "text-anchor": anchor }, text);
}

// Heights are the same in every column, so that nothing moves while one scrolls.
function grid() {
  const strip = PAD + LINE * 5, top = strip + LINE * labels().length + PAD;
  const names = [...log.lanes, ...labels()].map((name) => name.length);
  return { strip, top, bottom: top + LANE * log.lanes.length, left: PAD * 2 + CHARACTER * 1.15 * Math.max(...names) };
}

function columnAt(svg, index, x, place) {
  const batch = chosen[index], problems = problemsOf(batch), middle = x + WIDTH / 2;
  const kinds = kindsOf(batch);
  const lines = kinds.length > 3 ? [...kinds.slice(0, 2), `and ${kinds.length - 2} more`] : kinds.flatMap(wrapped);
  const group = part(svg, "g", { class: index === current ? "column current" : "column", "data-index": index });
  part(group, "title", {}, `offset ${log.offsets[batch]}: ${kinds.join(", ")}`);
  part(group, "rect", { class: problems.length ? "fails" : "pick", ...(problems.length ? {} : { fill: "none" }),
    "pointer-events": "all", x: x + 1, y: 1, width: WIDTH - 2, height: place.bottom });
  words(group, middle, PAD + LINE - 4, String(log.offsets[batch]), "name");
  lines.slice(0, 3).forEach((line, row) => {
    words(group, middle, PAD + LINE * (row + 2) - 4, fitted(line, WIDTH - PAD), "");
  });
  stripOf(batch).forEach(({ value, changed }, row) => {
    words(group, middle, place.strip + LINE * (row + 1), fitted(value, WIDTH), changed ? "changed" : "");
  });
  arrowsOf(batch).forEach((arrow) => arrowAt(group, arrow, middle, place));
  problems.slice(0, 3).forEach((line, row) => {
    words(group, middle, place.bottom + LINE * (row + 1), fitted(line, WIDTH - PAD), "why");
  });
  if (!problems.length && log.explanations[batch] > 1) {
    words(group, middle, place.bottom + LINE, `${log.explanations[batch]} explanations`, "");
  }
}

function arrowAt(group, { source, target, label, count }, x, place) {
  const height = (lane) => place.top + LANE * lane + LANE / 2, start = height(source), end = height(target);
  part(group, "circle", { class: "dot", cx: x, cy: start, r: source === target ? 4 : 3 });
  if (source === target) return;
  const tip = end > start ? end - 6 : end + 6;
  part(group, "line", { class: "arrow", x1: x, x2: x, y1: start, y2: tip });
  part(group, "polygon", { class: "head", points: `${x - 4},${tip} ${x + 4},${tip} ${x},${end}` });
  const text = count > 1 ? `${label} ×${count}` : label;
  words(group, x, start + (end < start ? -8 : 14), fitted(text, WIDTH, 6.1), "sent");
}

function draw() {
  const place = grid(), wide = Math.max(scroll.clientWidth, place.left + WIDTH), high = place.bottom + LINE * 3 + PAD;
  const shown = Math.ceil((wide - place.left) / WIDTH) + 1, start = Math.floor(first);
  const last = Math.min(chosen.length, start + shown) - 1;
  const svg = document.createElementNS(SVG, "svg");
  const offsets = chosen.length ? `offsets ${log.offsets[chosen[start]]} to ${log.offsets[chosen[last]]}` : "nothing";
  Object.entries({ role: "img", width: wide, height: high, "aria-label": `batches in view: ${offsets}` })
    .forEach(([key, value]) => svg.setAttribute(key, value));
  log.lanes.forEach((_, lane) => {
    const y = place.top + LANE * lane + LANE / 2;
    part(svg, "line", { class: "lane", x1: place.left, x2: wide, y1: y, y2: y });
  });
  for (let index = start; index <= last; index += 1) {
    columnAt(svg, index, place.left + (index - first) * WIDTH, place);
  }
  const names = part(svg, "g", { class: "names" });
  part(names, "rect", { class: "paper", y: 1, width: place.left - 2, height: high - 2 });
  labels().forEach((name, row) => words(names, PAD, place.strip + LINE * (row + 1), name, "label", "start"));
  log.lanes.forEach((name, lane) => words(names, PAD, place.top + LANE * lane + LANE / 2 + 4, name, "name", "start"));
  byId("window").replaceChildren(svg);
}

// Browsers cannot make elements of any width: of very many batches, a pixel of the scroll bar is more than one.
function scale() { return Math.min(1, WIDEST / (chosen.length * WIDTH)); }

function most() { return Math.max(0, chosen.length - (scroll.clientWidth - grid().left) / WIDTH); }

function resize() {
  byId("spacer").style.width = `${Math.min(WIDEST, grid().left + chosen.length * WIDTH)}px`;
}

function scrolled() {
  const room = byId("spacer").offsetWidth - scroll.clientWidth;
  const exact = scale() === 1 ? scroll.scrollLeft / WIDTH : (room > 0 ? scroll.scrollLeft / room : 0) * most();
  if (scale() < 1 && Math.abs(exact - first) < 2 / scale() / WIDTH + 1e-6) return; // the place that was just shown
  first = Math.max(0, Math.min(most(), exact));
  draw();
}

function show(start) {
  first = Math.max(0, Math.min(most(), start));
  const room = byId("spacer").offsetWidth - scroll.clientWidth;
  scroll.scrollLeft = scale() === 1 ? first * WIDTH : (most() > 0 ? first / most() : 0) * room;
  draw();
}

// A line as wide as the log, with a mark wherever something is wrong, and one where the reader is.
function mark() {
  const place = byId("marks"), svg = document.createElementNS(SVG, "svg"), bins = new Set();
  svg.setAttribute("viewBox", `0 0 ${MARKS} 1`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("width", "100%");
  svg.setAttribute("height", "12");
  const bin = (index) => Math.min(MARKS - 1, Math.floor(index / chosen.length * MARKS));
  chosen.forEach((batch, index) => { if (isProblem(batch)) bins.add(bin(index)); });
  bins.forEach((x) => part(svg, "rect", { x, y: 0, width: 1, height: 1 }));
  part(svg, "rect", { class: "here", x: 0, y: 0, width: 1.5, height: chosen.length ? 1 : 0 });
  place.replaceChildren(svg);
}

function markHere() {
  const here = document.querySelector("#marks .here");
  here.setAttribute("x", chosen.length ? Math.min(MARKS - 1.5, current / chosen.length * MARKS) : 0);
}
