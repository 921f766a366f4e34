/** Creates elements from text and attributes only. Data of the cluster is never parsed as HTML. */

/** @typedef {Node | string | number | undefined} Child */
/** @typedef {Readonly<Record<string, string | number | boolean | undefined>>} Attributes */

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Attributes} [attributes] `true` is an attribute without a value, `false` and `undefined` are left out
 * @param {...Child} children
 */
export const el = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (key === 'class') element.className = String(value);
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  for (const child of children)
    if (child !== undefined && child !== '') element.append(typeof child === 'number' ? String(child) : child);
  return element;
};

const SVG = 'http://www.w3.org/2000/svg';

/** @param {string} name @param {Readonly<Record<string, string>>} attributes @param {...Node} children */
export const svg = (name, attributes, ...children) => {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

/**
 * Colours an element with a tone, which is the name of a variable of the style sheet.
 * @template {HTMLElement | SVGElement} E
 * @param {E} element @param {string} tone
 */
export function tint(element, tone) {
  element.style.setProperty('--tone', `var(--${tone})`);
  return element;
}

/**
 * Returns an element of the page, whose kind the caller knows from `index.html`.
 * @template {HTMLElement} [E=HTMLElement]
 * @param {string} id
 * @returns {E}
 */
export const byId = (id) => {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`index.html has no element with the id ${id}`);
  return /** @type {E} */ (element);
};

/** @param {string} kind @param {string} name */
export const link = (kind, name) => el('a', { href: `#/${kind}/${encodeURIComponent(name)}` }, name);
