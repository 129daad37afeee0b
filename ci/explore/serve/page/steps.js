// The step in view: what can happen next and why the rest cannot, the state, the properties.

import { count, html } from "./element.js";
import { drawing, pathView } from "./path.js";
import { take } from "./places.js";
import { store, update, updatePart } from "./store.js";

const filterOf = (name) => store.filters[name].trim().toLowerCase();

function filterField(name, label) {
  return html`<label class="filter"><span class="unseen">${label}</span><input id=${`filter-${name}`} type="search" placeholder="filter" value=${store.filters[name]}
    onInput=${(event) => updatePart("filters", { [name]: event.target.value })} /></label>`;
}

function disabled(action, wanted) {
  const rows = action.disabled
    .map((group) => ({ ...group, instances: group.instances.filter((text) => text.toLowerCase().includes(wanted)) }))
    .filter((group) => group.instances.length);
  const total = rows.reduce((sum, group) => sum + group.instances.length, 0);
  if (!total) return "";
  return html`<details class="disabled"><summary>${total.toLocaleString("en")} disabled</summary>
    <table><tbody>${rows.map((group) => html`<tr>
      <th scope="row">${group.instances.slice(0, 8).map((text) => html`<div>${text}</div>`)}
        ${group.instances.length > 8 && html`<div>and ${group.instances.length - 8} more</div>`}</th>
      <td>${group.failing.map((name) => html`<div class="fails">false: ${name}</div>`)}</td></tr>`)}</tbody></table></details>`;
}

function actionRow(action, wanted) {
  const enabled = action.enabled.filter((one) => one.text.toLowerCase().includes(wanted));
  const rest = disabled(action, wanted);
  if (!enabled.length && !rest) return "";
  return html`<li key=${action.name}><h3 class=${enabled.length ? "unseen" : "idle"}>${action.name}</h3>
    ${enabled.map((one) => html`<button class="take" key=${one.text} onClick=${() => take(one.step)}>${one.text}</button>`)}
    ${rest}</li>`;
}

function actions() {
  const wanted = filterOf("actions");
  const enabled = store.path.actions.reduce((sum, action) => sum + action.enabled.length, 0);
  const can = store.path.actions.filter((action) => action.enabled.length > 0);
  const cannot = store.path.actions.filter((action) => action.enabled.length === 0);
  return html`<section class="actions"><div class="head"><h2>What can happen: ${count(enabled, "step")}</h2>
    ${filterField("actions", "filter the actions")}</div>
    <ul>${can.map((action) => actionRow(action, wanted))}</ul>
    ${cannot.length > 0 && html`<details class="cannot"><summary>${count(cannot.length, "action")} cannot happen here</summary>
      <ul>${cannot.map((action) => actionRow(action, wanted))}</ul></details>`}</section>`;
}

function state() {
  const wanted = filterOf("state");
  const rows = store.path.state.filter((field) => field.name.toLowerCase().includes(wanted)
    && (!store.onlyChanged || field.before !== null || field.other !== null));
  const beside = store.path.other?.rules;
  return html`<section class="state"><div class="head"><h2>State</h2>
    <label><input type="checkbox" checked=${store.onlyChanged}
      onChange=${(event) => update({ onlyChanged: event.target.checked })} /> only what differs</label>
    ${filterField("state", "filter the fields")}</div>
    <table><thead><tr><th scope="col">field</th><th scope="col">value</th><th scope="col">before</th>${beside && html`<th scope="col">${beside}</th>`}</tr></thead>
    <tbody>${rows.map((field) => html`<tr key=${field.name} class=${field.before === null ? "" : "changed"}>
      <th scope="row">${field.name}</th><td>${field.value}</td><td>${field.before ?? ""}</td>
      ${beside && html`<td class="otherwise">${field.other ?? ""}</td>`}</tr>`)}</tbody></table>
    ${!rows.length && html`<p>nothing differs</p>`}</section>`;
}

const FINDINGS = [
  ["fails", "property fails", "properties fail"], ["open", "property has to hold later", "properties have to hold later"],
  ["shown", "goal is shown here", "goals are shown here"], ["holds", "property holds", "properties hold"],
  ["not shown", "goal is not shown here", "goals are not shown here"],
  ["no case", "property has no case here", "properties have no case here"],
  ["whole runs", "property is judged on whole runs", "properties are judged on whole runs"],
];

function properties() {
  const told = Object.fromEntries(store.system.properties.map((claim) => [claim.id, claim]));
  const parts = FINDINGS.map(([finding, one, several]) => {
    const all = store.path.properties.filter((status) => status.finding === finding);
    if (!all.length) return "";
    return html`<details key=${finding} open=${finding === "fails"} class=${finding.replace(" ", "-")}>
      <summary>${all.length} ${all.length === 1 ? one : several}</summary>
      <dl>${all.map((status) => html`<dt>${status.id}</dt><dd>${told[status.id].sentence}
        ${finding === "fails" && status.failing.filter((name) => name !== status.id).map((name) => html`<div class="fails">false: ${name}</div>`)}
      </dd>`)}</dl></details>`;
  });
  return html`<section class="properties"><h2>What breaks</h2>${parts}${drawing()}</section>`;
}

export function steps() { return html`${pathView()}<div class="columns">${actions()}${state()}${properties()}</div>`; }
