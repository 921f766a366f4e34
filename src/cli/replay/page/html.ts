/** HTML as text, in which everything is escaped that was not written here. */

/** Markup: what a template made, or what is known to be safe. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Content = string | number | Html | undefined | readonly Content[];

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** No document may hold them, and names that were made to harm do. */
const CONTROLS = /(?![\t\n\r])[\p{Cc}\ufffe\uffff]/gu;

/** For text and for values of attributes in quotes. */
const escaped = (text: string): string =>
  text.replace(CONTROLS, '\ufffd').replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');

function rendered(content: Content): string {
  if (content === undefined) return '';
  if (content instanceof Html) return content.text;
  if (typeof content === 'string') return escaped(content);
  return typeof content === 'number' ? String(content) : content.map(rendered).join('');
}

/** A template whose values are escaped, unless they are made by it. */
export const html = (strings: TemplateStringsArray, ...values: readonly Content[]): Html =>
  new Html(strings.map((text, index) => text + rendered(values[index])).join(''));

/** JSON within a `script` element, which nothing in it can end. */
export const json = (value: unknown): Html =>
  new Html(
    JSON.stringify(value).replace(
      /[<>&\u2028\u2029]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  );
