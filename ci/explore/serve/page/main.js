// The page: header, path, and the view that is chosen; the keys.

import { charts } from "./charts.js";
import { counterexamples, found } from "./counterexamples.js";
import { html, render } from "./element.js";
import { graph, redraw } from "./graph.js";
import { hereLine } from "./path.js";
import { forward, go, moveBy, moveTo, moveToLast, show, undo } from "./places.js";
import { search } from "./search.js";
import { ask } from "./server.js";
import { listen, store, update } from "./store.js";
import { steps } from "./steps.js";

const VIEWS = { steps, counterexamples, graph, charts, search };
const OF_A_STATE = ["graph", "search"];  // they say which state they are about
const KEYS = [
  ["← →", "move along the path"], ["Home End", "its first and last state"], ["u", "undo the last step"],
  ["1 … 9", "take the first … ninth enabled action in view"], ["/", "filter the actions"],
];

function header() {
  const { system } = store;
  return html`<header>
    <h1>${system.key.split(",")[0]}</h1> <p><code>${system.title}</code>${store.waiting > 0 && html` <span class="waiting">loading</span>`}</p>
    <nav aria-label="views">${Object.keys(VIEWS).filter(isShown).map((name) => html`
      <button class="tab" key=${name} aria-current=${store.view === name ? "page" : undefined} onClick=${() => go({ view: name })}>${name}</button> `)}
      <details class="keys"><summary>keys</summary><dl>${KEYS.map(([key, text]) => html`<dt><kbd>${key}</kbd></dt><dd>${text}</dd>`)}</dl></details>
    </nav>
  </header>`;
}

const isShown = (name) => name !== "counterexamples" || store.view === name || found().length > 0;

function page() {
  if (!store.system) return html`<p>${store.error || "loading the system"}</p>`;
  return html`${header()}
    <p class="error" role="alert">${store.error}</p>
    ${store.path && html`${OF_A_STATE.includes(store.view) && hereLine()} ${VIEWS[store.view]()}`}`;
}

function markStep() {
  document.querySelectorAll(".step").forEach((step) => step.classList.toggle("current", Number(step.dataset.step) === store.path.at));
  const step = document.querySelector(".step.current"), around = step?.closest(".scroll");
  if (!around || store.path === marked) return;
  marked = store.path;  // only once for each step: the reader may scroll away
  const box = step.getBoundingClientRect(), view = around.getBoundingClientRect();
  around.scrollLeft += box.left + box.width / 2 - view.left - view.width / 2;
}

let marked = null;

function draw() {
  const main = document.getElementById("page");
  main.setAttribute("aria-busy", String(store.waiting > 0));
  render(page(), main);
  if (!store.path) return;
  markStep();
  if (store.view === "graph") redraw();
}

const MOVES = {
  ArrowLeft: () => moveBy(-1),
  ArrowRight: forward,
  Home: () => moveTo(0),
  End: moveToLast,
  u: undo,
  "/": () => document.getElementById("filter-actions")?.focus(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !store.path) return;
  if (event.target.closest("input, select, textarea, .scroll")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const move = MOVES[event.key] ?? (/^[1-9]$/.test(event.key) ? () => document.querySelectorAll("button.take")[event.key - 1]?.click() : null);
  if (move) {
    event.preventDefault();
    move();
  }
});

async function begin() {
  try {
    update({ system: await ask("system", {}) });
    document.title = `${store.system.key.split(",")[0]} · kraftcheck`;
    if (store.system.report) store.charts.report = store.system.report;
    await show();
  } catch (error) {
    update({ error: error.message });
  }
}

listen(draw);
window.addEventListener("hashchange", show);
begin();
