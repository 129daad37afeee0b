// The search for a state by an expression: the shortest way there from the state in view.

import { jobLine } from "./charts.js";
import { html } from "./element.js";
import { go } from "./places.js";
import { ask, follow } from "./server.js";
import { store, update, updatePart } from "./store.js";

const TEXTS = { found: "found", none: "not reachable", unknown: "unknown" };

async function begin() {
  const { start, steps, at } = store.place;
  const { expression, states } = store.search;
  const question = { start, steps: steps.slice(0, at), expression, states };
  try {
    update({ error: "" });
    updatePart("search", { from: store.path.columns[at], asked: expression, start });
    await follow(await ask("search", question), (job) => updatePart("search", { job }));
  } catch (error) {
    updatePart("search", { job: null });
    update({ error: error.message });
  }
}

function outcome() {
  const { job, asked, from, start } = store.search;
  if (job?.state !== "done") return jobLine(job);
  const { verdict, detail, steps } = job.result;
  return html`<p class="outcome" aria-live="polite"><code>${asked}</code> from step ${from.number} ${from.action}:${" "}
    <strong class=${verdict}>${TEXTS[verdict]}</strong>, ${detail}${" "}
    ${steps && html`<button onClick=${() => go({ start, steps, view: "steps" })}>go there</button>`}</p>`;
}

export function search() {
  const { expression, states, job } = store.search;
  return html`<section class="search"><h2>Find a state</h2>
    <form onSubmit=${(event) => { event.preventDefault(); begin(); }}><p class="controls">
      <label>expression <input type="text" id="expression" size="48" required spellcheck=${false} value=${expression}
        onInput=${(event) => updatePart("search", { expression: event.target.value })} /></label>
      <label>at most <input type="number" id="search-states" min="1" max=${store.system.most_states} value=${states} required
        onChange=${(event) => updatePart("search", { states: Number(event.target.value) })} /> states</label>
      <button class="primary" disabled=${job?.state === "running"}>search</button></p></form>
    <p>An expression over the fields of the state, such as <code>size(isr) == 0</code>. The way that is found is a shortest one from the state in view.</p>
    ${outcome()}</section>`;
}
