// Charts of a finished run, or of an exploration in the background: levels, actions, guard coverage, verdicts.

import { found } from "./counterexamples.js";
import { count, html } from "./element.js";
import { go } from "./places.js";
import { ask, follow } from "./server.js";
import { store, update, updatePart } from "./store.js";

async function explore() {
  try {
    const job = await follow(await ask("explore", { states: store.charts.states }), (one) => updatePart("charts", { job: one }));
    if (job.state === "done") updatePart("charts", { report: job.result });
  } catch (error) {
    update({ error: error.message });
  }
}

export function jobLine(job) {
  if (!job || job.state === "done") return "";
  return html`<p class="job" aria-live="polite">${job.state}${job.note && `: ${job.note}`}
    ${" "}${job.state === "running" && html`<button onClick=${() => ask("job", { number: job.number, cancel: true })}>cancel</button>`}</p>`;
}

function controls() {
  const { job, states } = store.charts;
  return html`<form onSubmit=${(event) => { event.preventDefault(); explore(); }}><p class="controls">
    <label>at most <input type="number" id="chart-states" min="1" max=${store.system.most_states} value=${states} required
      onChange=${(event) => updatePart("charts", { states: Number(event.target.value) })} /> states</label>
    <button class="primary" disabled=${job?.state === "running"}>explore</button></p></form>${jobLine(job)}`;
}

function bar(share) { return html`<svg viewBox="0 0 240 12" preserveAspectRatio="none" aria-hidden="true"><rect class="fill" width=${Math.max(1, 240 * share)} height="12" /></svg>`; }

function bars(title, rows) {
  return html`<section><h3>${title}</h3><table class="bars"><tbody>${rows.map(([name, value, share]) => html`
    <tr key=${name}><th scope="row">${name}</th><td class="number">${value.toLocaleString("en")}</td><td class="wide">${bar(share)}</td></tr>`)}</tbody></table></section>`;
}

function scaled(title, rows) {
  const size = (value) => (store.charts.logarithmic ? Math.log1p(value) : value);
  const most = Math.max(1, ...rows.map(([, value]) => size(value)));
  return bars(title, rows.map(([name, value]) => [name, value, size(value) / most]));
}

const levels = (report) => scaled("States by level", report.states.levels.map((states, depth) => [String(depth), states]));

const fired = (report) => scaled("Transitions by action", Object.entries(report.fired).sort((a, b) => b[1] - a[1]));

function scale() {
  const { logarithmic } = store.charts;
  return html`<p class="controls" role="group" aria-label="bars">bars ${[["linear", false], ["logarithmic", true]].map(([name, value]) => html`
    <label key=${name}><input type="radio" name="scale" checked=${logarithmic === value} onChange=${() => updatePart("charts", { logarithmic: value })} /> ${name}</label>`)}</p>`;
}

function coverage(report) {
  const seen = (pairs) => new Set(pairs.map((pair) => pair.join("\n")));
  const neverTrue = seen(report.guards.never_true), neverFalse = seen(report.guards.never_false);
  const rows = store.system.actions.flatMap((action) => action.conjuncts.map((name) => [action.name, name, `${action.name}\n${name}`]));
  const met = rows.filter(([, , key]) => !neverTrue.has(key) && !neverFalse.has(key)).length;
  const cell = (never) => (never ? html`<td class="never">never</td>` : html`<td>yes</td>`);
  return html`<section><h3>Guard coverage</h3><p>${met} of ${count(rows.length, "conjunct")} were both true and false.</p>
    <table><thead><tr><th scope="col">action</th><th scope="col">conjunct</th><th scope="col">true</th><th scope="col">false</th></tr></thead>
    <tbody>${rows.map(([action, name, key]) => html`<tr key=${key}><th scope="row">${action}</th><td>${name}</td>${cell(neverTrue.has(key))}${cell(neverFalse.has(key))}</tr>`)}</tbody></table></section>`;
}

const WORST_FIRST = ["refuted", "incomplete", "unknown", "vacuous", "holds"];

function exampleButton(id) {
  const way = found().find((one) => one.property === id && !one.fault);
  return way && html`<button onClick=${() => go({ start: way.start, steps: way.steps, view: "steps" })}>open</button>`;
}

function verdictRows(rows) {
  const told = Object.fromEntries(store.system.properties.map((claim) => [claim.id, claim.sentence]));
  return html`<table class="verdicts"><tbody>${rows.map((one) => html`<tr key=${one.id}>
    <th scope="row">${one.id}<p>${told[one.id]}</p></th><td class=${one.verdict === "refuted" ? "fails" : one.verdict}>${one.verdict}</td>
    <td>${one.detail} ${exampleButton(one.id)}</td></tr>`)}</tbody></table>`;
}

// What does not hold is in view, the worst first; the rest is folded.
function verdicts(report) {
  const rank = (one) => WORST_FIRST.indexOf(one.verdict);
  const rows = [...report.properties].sort((a, b) => rank(a) - rank(b));
  const [faulty, holding] = [rows.filter((one) => one.verdict !== "holds"), rows.filter((one) => one.verdict === "holds")];
  return html`<section><h3>Verdicts</h3>${faulty.length > 0 && verdictRows(faulty)}
    <details open=${!faulty.length}><summary>${count(holding.length, "property")} ${holding.length === 1 ? "holds" : "hold"}</summary>${verdictRows(holding)}</details></section>`;
}

export function charts() {
  const { report } = store.charts;
  return html`<section class="charts"><h2>The whole space</h2>${controls()}
    ${report && html`<p>${count(report.states.distinct, "distinct state")}, ${report.states.generated.toLocaleString("en")} generated, depth ${report.states.depth}${report.complete ? "" : `; incomplete: ${report.cut}`}</p>
      <div class="halves">${verdicts(report)}<div>${scale()}${levels(report)}${fired(report)}${coverage(report)}</div></div>`}</section>`;
}
