// Addresses: which system, initial state, steps (the number of the action, and of each argument's value), step in view.

const NUMBERS = /^\d+(\.\d+)*(_\d+(\.\d+)*)*$/;
export const VIEWS = ["steps", "counterexamples", "graph", "charts", "search"];

export function addressOf(place) {
  const parts = new URLSearchParams({ of: place.of, start: place.start });
  if (place.steps.length) parts.set("steps", place.steps.map((step) => step.join(".")).join("_"));
  if (place.at !== place.steps.length) parts.set("at", place.at);
  if (place.beside) parts.set("beside", place.beside);
  if (place.view !== "steps") parts.set("view", place.view);
  return `#${parts}`;
}

function whole(text, name) {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`the address has no number for ${name}: ${text.slice(0, 40)}`);
  return Number(text);
}

// The place that an address names; without one, the place that is given.
export function placeOf(hash, fallback) {
  if (hash.length < 2) return fallback;
  const parts = new URLSearchParams(hash.slice(1));
  const text = parts.get("steps") ?? "";
  if (text && !NUMBERS.test(text)) throw new Error(`the address has no steps that can be read: ${text.slice(0, 40)}`);
  const steps = text ? text.split("_").map((step) => step.split(".").map(Number)) : [];
  const view = parts.get("view") ?? "steps";
  if (!VIEWS.includes(view)) throw new Error(`the address has no view ${view.slice(0, 40)}; there are ${VIEWS.join(", ")}`);
  return {
    of: parts.get("of") ?? fallback.of,
    start: whole(parts.get("start") ?? "0", "start"),
    steps,
    at: whole(parts.get("at") ?? String(steps.length), "at"),
    beside: parts.get("beside") ?? "",
    view,
  };
}
