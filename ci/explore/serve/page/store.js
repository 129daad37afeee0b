// The one store of the page: what is shown, and who draws it again when it changes.

export const store = {
  system: null,      // what the server says of the system
  place: null,       // where the page is: see address.js
  path: null,        // the path there, with all that can be seen
  waiting: 0,        // how many questions the server has not answered yet
  error: "",         // one line about the last question that was refused
  view: "steps",
  filters: { actions: "", state: "" },
  onlyChanged: false,
  graph: { limit: 100, fields: [], filter: "", drawn: null, of: "", selected: null, detail: null, zoom: 1, busy: false },
  charts: { states: 1000000, job: null, report: null, logarithmic: false },
  unfolded: false,   // whether every step of a long path has its button
  search: { expression: "", states: 1000000, job: null, asked: "", from: null, start: 0 },
};

const listeners = [];

export function listen(listener) { listeners.push(listener); }

export function update(change) {
  Object.assign(store, change);
  listeners.forEach((listener) => listener());
}

export function updatePart(name, change) { update({ [name]: { ...store[name], ...change } }); }
