// The search for a state by an expression: the shortest way there from the state in view.

import { html } from "./element.js";

export function search() {
  return html`<section class="search"><h2>Find a state</h2></section>`;
}
