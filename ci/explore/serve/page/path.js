// The path: its steps in the colours of the properties, its drawing, and where other rules go otherwise.

import { examplesHere } from "./counterexamples.js";
import { html } from "./element.js";
import { forward, go, moveBy, moveTo, undo } from "./places.js";
import { store, update } from "./store.js";

function mark(column, path) {
  if (column.broken.length) return `fails: ${column.broken.join(", ")}`;
  return path.other?.divergence === column.number ? `otherwise under ${path.other.rules}` : "";
}

// A step of the path; a run of steps that are folded has one button, which shows them all.
function stepButton(column, path) {
  const folded = store.unfolded ? undefined : path.folded[column.number];
  if (folded === "") return "";
  if (folded) return html`<li key=${column.number}><button class="quiet" onClick=${() => update({ unfolded: true })}>… ${folded}</button></li>`;
  const kinds = ["quiet"];
  if (column.broken.length) kinds.push("broken");
  if (path.other?.divergence === column.number) kinds.push("divergence");
  return html`<li key=${column.number}><button class=${kinds.join(" ")} title=${mark(column, path)}
      aria-current=${column.number === path.at ? "step" : undefined} onClick=${() => moveTo(column.number)}>
    ${column.number} ${column.action}${column.broken.length > 0 && html` <span class="fails">✗ ${column.broken.length}</span>`}
  </button></li>`;
}

function startChoice() {
  const { starts } = store.system;
  if (starts.length < 2) return "";
  return html`<label>initial state <select value=${store.place.start}
      onChange=${(event) => go({ start: Number(event.target.value), steps: [], at: 0 })}>
    ${starts.map((text, number) => html`<option value=${number}>${number}: ${text}</option>`)}
  </select></label> `;
}

function besideChoice() {
  const { presets, rules } = store.system;
  if (!rules) return "";
  return html`<label>beside <input list="presets" value=${store.place.beside} placeholder="no other rules" size="18"
      onChange=${(event) => go({ beside: event.target.value.trim() })} /></label>
    <datalist id="presets">${presets.map((name) => html`<option value=${name} />`)}</datalist>`;
}

function picked(event) {
  const step = event.target.closest(".step");
  if (step) moveTo(Number(step.dataset.step));
}

// The names of the lanes stay in view where the steps are scrolled.
function keepNames(event) {
  event.currentTarget.querySelector(".names")?.setAttribute("transform", `translate(${event.currentTarget.scrollLeft})`);
}

// The state in view, as one line: what the other views are about.
export function hereLine() {
  const { path } = store, here = path.columns[path.at];
  return html`<div class="here" aria-live="polite">
    <p><strong>${here.number} ${here.action}</strong> ${path.event}</p>
    ${here.broken.length > 0 && html`<p class="fails">fails: ${here.broken.join(", ")}</p>`}
    ${path.deadlock && html`<p class="fails">no action is enabled, and the state is not quiescent</p>`}
    <p class="same">${path.other?.text ?? ""}</p></div>`;
}

export function pathView() {
  const { path, place } = store;
  const more = path.at < place.steps.length || path.again !== null;
  return html`<section class="way" aria-label="path">
    <p class="controls">${startChoice()}${besideChoice()}
      <span class="moves"><button class="quiet" onClick=${undo} disabled=${path.at === 0}>undo</button>
      <button class="quiet" onClick=${() => go({ steps: [], at: 0 })} disabled=${place.steps.length === 0}>start over</button>
      <button onClick=${() => moveBy(-1)} disabled=${path.at === 0}>← back</button>
      <button class=${more ? "primary" : ""} onClick=${forward} disabled=${!more}>forward →</button></span></p>
    ${examplesHere()}
    <ol class="path" start="0">${path.columns.map((column) => stepButton(column, path))}</ol>
    ${hereLine()}</section>`;
}

// The drawing of the path; shut while there is nothing to draw but one state.
export function drawing() {
  const { path } = store;
  return html`<details class="drawing" open=${path.columns.length > 1}><summary>drawing</summary>
    <div class="scroll" tabindex="0" role="region" aria-label="drawing of the path" onClick=${picked} onScroll=${keepNames}
      dangerouslySetInnerHTML=${{ __html: path.svg }}></div></details>`;
}
