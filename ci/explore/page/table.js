"use strict";
const form = document.getElementById("filters");
const names = ["system", "rule", "property", "verdict", "words"];
const rows = [...document.querySelectorAll("tbody tr")].map((row) => ({
  row,
  system: row.dataset.system,
  rule: row.dataset.rule,
  verdict: row.dataset.verdict,
  properties: row.dataset.properties.split(" "),
  text: row.textContent.toLowerCase(),
}));
const status = document.getElementById("count");

function passes(entry, wanted) {
  return (
    (!wanted.system || entry.system === wanted.system) &&
    (!wanted.rule || entry.rule === wanted.rule) &&
    (!wanted.property || entry.properties.includes(wanted.property)) &&
    (!wanted.verdict || entry.verdict === wanted.verdict || entry.verdict.startsWith(wanted.verdict + ":")) &&
    wanted.words.toLowerCase().split(/\s+/).every((word) => entry.text.includes(word))
  );
}

function show() {
  const wanted = Object.fromEntries(names.map((name) => [name, form.elements[name].value]));
  let shown = 0;
  for (const entry of rows) {
    entry.row.hidden = !passes(entry, wanted);
    shown += entry.row.hidden ? 0 : 1;
  }
  status.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} mutants`;
  const kept = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value));
  const address = kept.toString() ? "#" + kept : location.pathname + location.search;
  history.replaceState(null, "", address);
}

function read() {
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const name of names) form.elements[name].value = asked.get(name) ?? "";
  for (const name of names) if (form.elements[name].selectedIndex === -1) form.elements[name].value = "";
  show();
}

form.addEventListener("input", show);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(show));
addEventListener("hashchange", read);
addEventListener("keydown", (event) => {
  const typing = event.target.matches("input, select");
  if (event.key === "/" && !typing) {
    event.preventDefault();
    form.elements.words.focus();
  } else if (event.key === "Escape") {
    form.reset();
  }
});
read();
