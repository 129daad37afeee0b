// The path: its drawing, its steps in the colours of the properties, and where other rules go otherwise.

import { count, html } from "./element.js";
import { go, moveTo, undo } from "./places.js";
import { store } from "./store.js";

function otherText(path) {
  const { other, at } = path;
  if (!other) return "";
  const start = Object.entries(other.start).map(([name, value]) => `${name} ${value}`).join(", ");
  const from = start ? ` (which starts with ${start})` : "";
  if (other.divergence === null || at < other.divergence) return `the same under ${other.rules}${from}`;
  if (other.reached) return `otherwise under ${other.rules} since step ${other.divergence}`;
  return `cannot be taken under ${other.rules} after step ${other.steps}: ${other.stopped}`;
}

function mark(column, path) {
  if (column.broken.length) return `fails: ${column.broken.join(", ")}`;
  return path.other?.divergence === column.number ? `otherwise under ${path.other.rules}` : "";
}

function stepButton(column, path) {
  const kinds = ["step-button"];
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
  return html`<label>beside <input list="presets" value=${store.place.beside} placeholder="no other rules" size="28"
      onChange=${(event) => go({ beside: event.target.value.trim() })} /></label>
    <datalist id="presets">${presets.map((name) => html`<option value=${name} />`)}</datalist>`;
}

function picked(event) {
  const step = event.target.closest(".step");
  if (step) moveTo(Number(step.dataset.step));
}

function examples() {
  const { counterexamples } = store.system;
  if (!counterexamples.length) return "";
  return html`<section><h2>Counterexamples</h2><ul class="examples">${counterexamples.map((one) => html`<li key=${one.name}>
    ${one.fault ? html`<span class="fails">${one.fault}</span>`
      : html`<button onClick=${() => go({ start: one.start, steps: one.steps, view: "steps" })}>${one.property}</button>
        ${" "}${count(one.steps.length, "step")}${one.shortest && !one.cycle ? ", shortest" : ""}${one.cycle ? `, for ever: ${one.cycle.text}` : ""}`}
    ${one.cycle && html`<ul>${one.cycle.fairness.map((text) => html`<li>fair: ${text}</li>`)}</ul>`}
  </li>`)}</ul></section>`;
}

// The next step of the path; after the last one of a cycle its first.
export function forward() {
  const { at, again } = store.path;
  return moveTo(at === store.place.steps.length && again !== null ? again + 1 : at + 1);
}

export function pathView() {
  const { path, place } = store;
  const here = path.columns[path.at];
  return html`${examples()}
    <section><h2>Path</h2>
    <p class="controls">${startChoice()}${besideChoice()}</p>
    <ol class="path" start="0">${path.columns.map((column) => stepButton(column, path))}</ol>
    <p class="controls">
      <button onClick=${undo} disabled=${path.at === 0}>undo</button>${" "}
      <button onClick=${() => moveTo(path.at - 1)} disabled=${path.at === 0}>← back</button>${" "}
      <button onClick=${forward} disabled=${path.at === place.steps.length && path.again === null}>forward →</button>${" "}
      <button onClick=${() => go({ steps: [], at: 0 })} disabled=${place.steps.length === 0}>start over</button>
    </p>
    <details open><summary>drawing</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="drawing of the path" onClick=${picked}
        dangerouslySetInnerHTML=${{ __html: path.svg }}></div></details>
    <div aria-live="polite">
      <p><strong>${here.number} ${here.action}</strong> ${path.event}</p>
      ${here.broken.length > 0 && html`<p class="fails">fails: ${here.broken.join(", ")}</p>`}
      ${path.deadlock && html`<p class="fails">no action is enabled, and the state is not quiescent</p>`}
      <p class="same">${otherText(path)}</p>
    </div></section>`;
}
