// Going to places: the address changes, and the page follows it; so the browser's back button undoes.

import { addressOf, placeOf } from "./address.js";
import { ask } from "./server.js";
import { store, update } from "./store.js";

let questions = 0;
let wanted = null;  // the place that was asked for last: a second move, before the answer to the first, goes on from it

function first() {
  const { counterexamples, key, beside } = store.system;
  const opened = counterexamples.length === 1 ? counterexamples[0] : {};
  const steps = opened.steps ?? [];
  const view = counterexamples.length > 1 ? "counterexamples" : "steps";
  return { of: key, start: opened.start ?? 0, steps, at: steps.length, beside: beside ?? "", view };
}

export function go(change) {
  const place = { ...wanted, ...change };
  if ("steps" in change && !("at" in change)) place.at = place.steps.length;
  wanted = place;
  const address = addressOf(place);
  if (address === location.hash) return show();
  location.hash = address;
  return undefined;
}

// A step is one of the state in view.
export function take(step) { return go({ steps: [...store.place.steps.slice(0, store.place.at), step] }); }

export function moveTo(at) {
  if (at >= 0 && at <= wanted.steps.length) go({ at });
}

export function moveBy(steps) { return moveTo(wanted.at + steps); }

export function moveToLast() { return moveTo(wanted.steps.length); }

// The next step of the path; after the last one of a cycle its first.
export function forward() {
  const { again } = store.path;
  return wanted.at === wanted.steps.length && again !== null ? moveTo(again + 1) : moveBy(1);
}

export function undo() {
  if (wanted.at > 0) go({ steps: wanted.steps.slice(0, wanted.at - 1) });
}

// Shows the place that the address names; one that does not fit leaves the page as it is, and says why in a line.
export async function show() {
  const number = ++questions;
  try {
    const place = placeOf(location.hash, first());
    const { of, start, steps, at } = place;
    wanted = place;
    const path = await ask("path", { of, start, steps, at, beside: place.beside || null });
    if (number === questions) update({ place, path, view: place.view, error: "" });
  } catch (error) {
    if (number !== questions) return;
    wanted = store.place ?? first();
    update({ error: error.message, place: wanted });
  }
}
