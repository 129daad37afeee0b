// The graph of the neighbourhood: layers by distance, states joined by the fields that are chosen.

import { count, html } from "./element.js";
import { go } from "./places.js";
import { ask } from "./server.js";
import { store, update, updatePart } from "./store.js";

const COLUMN = 110, ROW = 24, RADIUS = 6, MARGIN = 40, LABELLED = 150, LISTED = 100;

const placeKey = () => JSON.stringify([store.place.start, store.place.steps, store.place.at]);

// Draws what is around the state in view, once for each: when the view is opened, and when the path goes on.
export function redraw() {
  const { busy, of } = store.graph;
  if (!busy && of !== placeKey()) draw();
}

async function draw() {
  const { start, steps, at } = store.place;
  const { limit, fields } = store.graph;
  updatePart("graph", { busy: true, of: placeKey() });
  try {
    const drawn = await ask("graph", { start, steps: steps.slice(0, at), limit, fields });
    updatePart("graph", { drawn, selected: null, busy: false });
    update({ error: "" });
  } catch (error) {
    updatePart("graph", { drawn: null, busy: false });
    update({ error: error.message });
  }
}

function chooseField(name, chosen) {
  const rest = store.graph.fields.filter((one) => one !== name);
  updatePart("graph", { fields: chosen ? store.system.fields.filter((one) => one === name || rest.includes(one)) : rest });
}

function controls() {
  const { graph, system } = store;
  const wanted = graph.filter.trim().toLowerCase();
  const shown = system.fields.filter((name) => name.toLowerCase().includes(wanted) || graph.fields.includes(name));
  return html`<form onSubmit=${(event) => { event.preventDefault(); draw(); }}>
    <p class="controls"><label>nearest states <input type="number" id="graph-limit" min="1" max=${system.most_nodes} value=${graph.limit} required
      onChange=${(event) => updatePart("graph", { limit: Number(event.target.value) })} /></label>
      <button class="primary" disabled=${graph.busy}>draw</button></p>
    <details><summary>join states that agree in: ${graph.fields.join(", ") || "everything"}</summary>
      <label class="filter">filter <input type="search" value=${graph.filter}
        onInput=${(event) => updatePart("graph", { filter: event.target.value })} /></label>
      <div class="fields" tabindex="0" role="region" aria-label="fields">${shown.map((name) => html`<label key=${name}><input type="checkbox" checked=${graph.fields.includes(name)}
        onChange=${(event) => chooseField(name, event.target.checked)} /> ${name}</label>`)}</div></details>
  </form>`;
}

function geometry(nodes) {
  const top = Math.min(...nodes.map((node) => node.y)), bottom = Math.max(...nodes.map((node) => node.y));
  const right = Math.max(...nodes.map((node) => node.x));
  const labelled = nodes.length <= LABELLED;
  const texts = labelled ? nodes.map(label) : [];
  const widest = Math.max(0, ...texts.map((text) => text.length)) * 7.2;
  const column = labelled ? Math.max(COLUMN, widest + 40) : COLUMN / 2;
  return {
    labelled, width: right * column + 2 * MARGIN + widest, height: (bottom - top) * ROW + 2 * MARGIN,
    x: (node) => node.x * column + MARGIN, y: (node) => (node.y - top) * ROW + MARGIN,
  };
}

function label(node) {
  const values = Object.values(node.values).join(" ");
  return values + (node.members > 1 ? ` ×${node.members}` : "");
}

function line(from, to, grid) {
  const x1 = grid.x(from), y1 = grid.y(from), x2 = grid.x(to), y2 = grid.y(to);
  if (to.x > from.x) return `M${x1} ${y1}L${x2} ${y2}`;
  const bend = 14 + Math.abs(x1 - x2) / 8;
  return `M${x1} ${y1}Q${(x1 + x2) / 2 - bend} ${(y1 + y2) / 2 + bend} ${x2} ${y2}`;
}

function paths(drawn, grid) {
  const { selected } = store.graph;
  const lines = { "": [], out: [], in: [] };
  drawn.edges.forEach(([source, target]) => {
    const kind = source === selected ? "out" : target === selected ? "in" : "";
    lines[kind].push(line(drawn.nodes[source], drawn.nodes[target], grid));
  });
  return Object.entries(lines).map(([kind, all]) => html`<path key=${kind} class=${`edge ${kind}`} d=${all.join("")} />`);
}

function kinds(node, number) {
  const names = ["node"];
  if (number === 0) names.push("first");
  if (node.broken.length) names.push("broken"); else if (node.breaking.length) names.push("breaking");
  if (node.open) names.push("open");
  if (number === store.graph.selected) names.push("selected");
  return names.join(" ");
}

function title(node) {
  const parts = [Object.entries(node.values).map(([name, value]) => `${name} ${value}`).join(", ")];
  if (node.members > 1) parts.push(count(node.members, "state"));
  parts.push(`${count(node.distance, "step")} away`);
  if (node.broken.length) parts.push(`fails: ${node.broken.join(", ")}`);
  if (node.breaking.length) parts.push(`a step from here fails: ${node.breaking.join(", ")}`);
  if (node.open) parts.push("more states follow");
  return parts.filter(Boolean).join("; ");
}

function picture(drawn) {
  const grid = geometry(drawn.nodes), { zoom } = store.graph;
  const pick = (event) => {
    const node = event.target.closest(".node");
    if (node) select(Number(node.dataset.node));
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label="graph">
    <svg role="img" aria-label=${`${count(drawn.nodes.length, "node")}, ${count(drawn.edges.length, "edge")}; the list below says the same`}
      width=${grid.width * zoom} height=${grid.height * zoom} viewBox=${`0 0 ${grid.width} ${grid.height}`} onClick=${pick}>
      ${paths(drawn, grid)}
      ${drawn.nodes.map((node, number) => html`<g key=${number} class=${kinds(node, number)} data-node=${number}
          transform=${`translate(${grid.x(node)} ${grid.y(node)})`}>
        <title>${title(node)}</title><circle r=${grid.labelled ? RADIUS : RADIUS - 2} />
        ${grid.labelled && html`<text x="9" y="-5">${label(node)}</text>`}</g>`)}
    </svg></div>`;
}

const stepsTo = (node) => [...store.place.steps.slice(0, store.place.at), ...node.way];

async function select(number) {
  const { drawn, of } = store.graph, { at, start } = store.place;
  updatePart("graph", { selected: number, detail: null });
  try {
    const path = await ask("path", { start, steps: stepsTo(drawn.nodes[number]) });
    if (store.graph.selected !== number || store.graph.of !== of) return;
    const here = Object.fromEntries(store.path.state.map((field) => [field.name, field.value]));
    const changes = path.state.filter((field) => here[field.name] !== field.value);
    updatePart("graph", { detail: {
      way: path.columns.slice(at + 1).map((column) => column.action),
      changes: changes.map((field) => [field.name, here[field.name], field.value]),
    } });
  } catch (error) {
    update({ error: error.message });
  }
}

function visit(node) { go({ steps: stepsTo(node), view: "steps" }); }

function way(detail) {
  if (!detail) return "";
  return html`<p>${detail.way.length ? `by ${detail.way.join(", ")}` : "the state in view"}</p>
    <table><tbody>${detail.changes.map(([name, before, after]) => html`<tr class="changed" key=${name}>
      <th scope="row">${name}</th><td>${before}</td><td>→</td><td>${after}</td></tr>`)}</tbody></table>`;
}

function selection(drawn) {
  const { selected } = store.graph;
  if (selected === null) return html`<p>Choose a node, in the picture or in the list, to see the way there and what is different.</p>`;
  const node = drawn.nodes[selected];
  const out = drawn.edges.filter(([source]) => source === selected);
  return html`<div class="selection" aria-live="polite"><p><strong>node ${selected}</strong> ${title(node)}</p>
    <p><button onClick=${() => visit(node)}>go there</button></p>
    ${way(store.graph.detail)}
    ${out.length > 0 && html`<ul>${out.slice(0, LISTED).map(([, target, names]) => html`<li key=${target}>${names} to
      ${" "}<button onClick=${() => select(target)}>node ${target}</button></li>`)}</ul>`}</div>`;
}

function list(drawn) {
  return html`<details><summary>the nodes as a list</summary><table><tbody>
    ${drawn.nodes.slice(0, LISTED).map((node, number) => html`<tr key=${number}><th scope="row">
      <button onClick=${() => select(number)}>node ${number}</button></th><td>${title(node)}</td></tr>`)}
  </tbody></table>${drawn.nodes.length > LISTED && html`<p>and ${drawn.nodes.length - LISTED} more</p>`}</details>`;
}

const LEGEND = [
  ["first", "the state in view"], ["", "every property holds"], ["broken", "one fails, of joined states in one of them"],
  ["breaking", "a step from there fails one"], ["open", "more states follow"],
];

function legend() {
  return html`<ul class="legend">${LEGEND.map(([kind, text]) => html`<li><svg width="18" height="18" aria-hidden="true">
    <g class=${`node ${kind}`} transform="translate(9 9)"><circle r=${RADIUS} /></g></svg> ${text}</li>`)}</ul>`;
}

export function graph() {
  const { drawn, of, zoom, busy, limit } = store.graph;
  const current = drawn && !busy && of === placeKey();
  return html`<section class="graph"><h2>The states that can follow</h2>${controls()}
    ${current && html`<p>${count(drawn.states, "state")} in ${count(drawn.nodes.length, "node")}: ${drawn.complete
      ? "every state that can follow" : "the nearest; more states follow where the edge of a node is dashed"}.
      ${" "}<button onClick=${() => updatePart("graph", { zoom: zoom * 1.25 })} aria-label="larger">+</button>
      ${" "}<button onClick=${() => updatePart("graph", { zoom: zoom / 1.25 })} aria-label="smaller">−</button></p>
      ${legend()}
      ${picture(drawn)}${selection(drawn)}${list(drawn)}`}
    ${busy && html`<p class="job">drawing the nearest ${count(limit, "state")}</p>`}</section>`;
}
