/** Creates elements from text and attributes only. Data of the cluster is never parsed as HTML. */

/** @param {string} name @param {Record<string, unknown>} attributes @param {...(Node | string | undefined)} children */
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

export const byId = (id) => document.getElementById(id);

export const link = (kind, name) => el('a', { href: `#/${kind}/${encodeURIComponent(name)}` }, name);
