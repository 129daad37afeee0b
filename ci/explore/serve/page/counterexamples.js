// The counterexamples: those of one cause together, what costs most first, and of one cause the shortest first.

import { count, html } from "./element.js";
import { go } from "./places.js";
import { store } from "./store.js";

// Those of the exploration that the page has made, or else those that were opened with it.
export const found = () => store.charts.report?.counterexamples ?? store.system.counterexamples;

function length(one) {
  const steps = count(one.steps.length, "step");
  return one.cycle ? `${steps}, for ever: ${one.cycle.text}` : `${steps}${one.shortest ? ", shortest" : ""}`;
}

// A counterexample below its name, which may be a button.
function told(name, one) {
  if (one.fault) return html`<li key=${one.name}><span class="fails">${one.fault}</span></li>`;
  return html`<li key=${one.name}>${name} <span>${length(one)}</span><p>${one.sentence}</p>
    ${one.cycle && html`<ul>${one.cycle.fairness.map((text) => html`<li>fair: ${text}</li>`)}</ul>`}</li>`;
}

function row(one, first) {
  const open = () => go({ start: one.start, steps: one.steps, view: "steps" });
  return told(html`<button class=${first ? "primary" : "take"} onClick=${open}>${one.property}</button>`, one);
}

// What the path shows, where it is a counterexample; and what cannot be opened.
export function examplesHere() {
  const { start, steps } = store.place, path = JSON.stringify([start, steps]);
  const here = found().filter((one) => one.fault ? found().length === 1 : JSON.stringify([one.start, one.steps]) === path);
  return here.length > 0 && html`<ul class="examples">${here.map((one) => told(html`<strong>${one.property}</strong>`, one))}</ul>`;
}

function head({ title, costs, name }) {
  if (!title) return html`<h3>no cause is recorded</h3>`;
  return html`<h3>${title}</h3><p class="same">${costs && `costs: ${costs}; `}<code>${costs ? `kraftcheck findings ${name}` : name}</code></p>`;
}

export function counterexamples() {
  const all = found(), names = [...new Set(all.map((one) => one.cause.name))];
  const named = names.some(Boolean);
  return html`<section><h2>${count(all.length, "counterexample")}${named ? `, by ${count(names.filter(Boolean).length, "cause")}` : ""}</h2>
    ${!all.length && html`<p>None yet: <a href="#" onClick=${(event) => { event.preventDefault(); go({ view: "charts" }); }}>explore the whole space</a>.</p>`}
    <div class="causes">${names.map((name) => {
      const some = all.filter((one) => one.cause.name === name);
      return html`<section key=${name}>${named && head(some[0].cause)}<ul class="examples">${some.map((one) => row(one, one === all[0]))}</ul></section>`;
    })}</div></section>`;
}
