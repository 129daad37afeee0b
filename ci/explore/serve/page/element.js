// Elements: templates in plain JavaScript, without a build.

import htm from "./htm.mjs";
import { h } from "./preact.mjs";

export { render } from "./preact.mjs";
export const html = htm.bind(h);

export const count = (number, noun) => `${number.toLocaleString("en")} ${number === 1 ? noun : noun.replace(/y$/, "ie").concat("s")}`;
