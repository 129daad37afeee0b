"use strict";
const drawing = JSON.parse(document.getElementById("drawing").textContent);
const pictures = [...document.querySelectorAll(".scroll")]; // the lanes, and beside them those of the other rules
const steps = pictures.map((picture) => [...picture.querySelectorAll(".step")]);
const last = drawing.columns.length - 1;
const round = drawing.cycle && drawing.cycle.start < last ? drawing.cycle.start + 1 : null; // the step after the last
let current = 0;

function row(cells, changed) {
  const line = document.createElement("tr");
  if (changed) line.className = "changed";
  cells.forEach((text, number) => {
    const cell = document.createElement(number ? "td" : "th");
    if (!number) cell.scope = "row";
    cell.textContent = text;
    line.append(cell);
  });
  return line;
}

function fill(id, rows) { document.getElementById(id).replaceChildren(...rows); }

function placeText() {
  const cycle = drawing.cycle;
  const place = `step ${current} of ${last}`;
  if (!cycle || current < cycle.start) return place;
  if (current < last) return `${place}, in the cycle`;
  return round === null ? `${place}, and for ever` : `${place}, then step ${round} again`;
}

// The step that follows; after the last one of a cycle its first.
function next() { return current === last && round !== null ? round : current + 1; }

// Scrolls a picture to a step, and nothing else: the page stays where it is.
function centre(step) {
  const around = step.closest(".scroll"), box = step.getBoundingClientRect(), view = around.getBoundingClientRect();
  around.scrollLeft += box.left + box.width / 2 - view.left - view.width / 2;
}

// Shows a step. What the reader chose gets an entry of the browser's history, so that its back button leads back;
// a key that is held down passes through many steps, and replaces the entry.
function go(number, move, remember) {
  const before = current;
  current = Math.max(0, Math.min(last, number));
  const column = drawing.columns[current];
  const other = drawing.other ? drawing.other.columns[current] : undefined;
  steps.forEach((shown) => {
    shown.forEach((step, index) => {
      step.classList.toggle("current", index === current);
      if (index === current) step.setAttribute("aria-current", "step"); else step.removeAttribute("aria-current");
    });
    if (move && shown[current]) centre(shown[current]);
  });
  document.getElementById("action").textContent = `${column.number}  ${column.action}`;
  document.getElementById("event").textContent = column.event;
  document.getElementById("failing").textContent = column.failing.map((part) => `fails: ${part}`).join("; ");
  document.getElementById("other").textContent = drawing.other ? drawing.other.texts[current] : "";
  const changes = column.changes.map((change) => row([change.name, change.before, "→", change.after], true));
  fill("changes", changes.length ? changes : [row(["nothing"], false)]);
  document.getElementById("place").textContent = placeText();
  const names = new Set(column.changes.map((change) => change.name));
  fill("state", Object.entries(column.state).map(([name, value]) => {
    const differs = other !== undefined && other.state[name] !== value;
    return row([name, value, differs ? `${drawing.other.rules}: ${other.state[name]}` : ""], names.has(name));
  }));
  document.getElementById("back").disabled = current === 0;
  document.getElementById("forward").disabled = current === last && round === null;
  if (remember && current !== before) history.pushState(null, "", `#${current}`);
  else history.replaceState(null, "", `#${current}`);
}

function addressed() { return location.hash ? Number(location.hash.slice(1)) || 0 : last; }

steps.forEach((shown) => shown.forEach((step, index) => step.addEventListener("click", () => go(index, false, true))));
document.getElementById("back").addEventListener("click", () => go(current - 1, true, true));
document.getElementById("forward").addEventListener("click", () => go(next(), true, true));
document.addEventListener("keydown", (event) => {
  const moves = { ArrowLeft: current - 1, ArrowRight: next(), Home: 0, End: last };
  if (event.key in moves && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    go(moves[event.key], true, !event.repeat);
  }
});
pictures.forEach((picture) => picture.addEventListener("scroll", () => {
  picture.querySelector(".names").setAttribute("transform", `translate(${picture.scrollLeft})`);
}));
window.addEventListener("popstate", () => go(addressed(), true, false)); // also when the address is edited
go(addressed(), true, false);
