/** Creates elements from text and attributes only. Data of the cluster is never parsed as HTML. */

/** @param {string} name @param {Record<string, unknown>} attributes @param {...(Node | string | number | undefined)} children */
export const el = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (key === 'class') element.className = value;
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  element.append(...children.filter((child) => child !== undefined && child !== ''));
  return element;
};

const SVG = 'http://www.w3.org/2000/svg';

/** @param {string} name @param {Record<string, unknown>} attributes @param {...Node} children */
export const svg = (name, attributes, ...children) => {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
};

/** Colours an element with a tone, which is the name of a variable of the style sheet. */
export function tint(element, tone) {
  element.style.setProperty('--tone', `var(--${tone})`);
  return element;
}

export const byId = (id) => document.getElementById(id);

export const link = (kind, name) => el('a', { href: `#/${kind}/${encodeURIComponent(name)}` }, name);
