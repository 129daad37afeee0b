// Going to places: the address changes, and the page follows it; so the browser's back button undoes.

import { addressOf, placeOf } from "./address.js";
import { ask } from "./server.js";
import { store, update } from "./store.js";

let questions = 0;

function first() {
  const { counterexamples, key, beside } = store.system;
  const opened = counterexamples.length === 1 ? counterexamples[0] : {};
  const steps = opened.steps ?? [];
  const view = counterexamples.length > 1 ? "counterexamples" : "steps";
  return { of: key, start: opened.start ?? 0, steps, at: steps.length, beside: beside ?? "", view };
}

export function go(change) {
  const place = { ...store.place, ...change };
  if ("steps" in change && !("at" in change)) place.at = place.steps.length;
  const address = addressOf(place);
  if (address === location.hash) return show();
  location.hash = address;
  return undefined;
}

export function take(step) { return go({ steps: [...store.place.steps.slice(0, store.place.at), step] }); }

export function moveTo(at) {
  if (at >= 0 && at <= store.place.steps.length) go({ at });
}

export function undo() {
  if (store.place.at > 0) go({ steps: store.place.steps.slice(0, store.place.at - 1) });
}

// Shows the place that the address names; one that does not fit leaves the page as it is, and says why in a line.
export async function show() {
  const number = ++questions;
  try {
    const place = placeOf(location.hash, first());
    const { of, start, steps, at } = place;
    const path = await ask("path", { of, start, steps, at, beside: place.beside || null });
    if (number === questions) update({ place, path, view: place.view, error: "" });
  } catch (error) {
    if (number === questions) update({ error: error.message, place: store.place ?? first() });
  }
}
