/** Builds HTML text and escapes all inserted values. */

/** Markup from a template or another safe source. */
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

/** Characters that are not valid in HTML and may occur in malicious names. */
const CONTROLS = /(?![\t\n\r])[\p{Cc}\ufffe\uffff]/gu;

/** Escapes text and values of quoted attributes. */
const escapeText = (text: string): string =>
  text.replace(CONTROLS, '\ufffd').replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');

function renderContent(content: Content): string {
  if (content === undefined) return '';
  if (content instanceof Html) return content.text;
  if (typeof content === 'string') return escapeText(content);
  return typeof content === 'number' ? String(content) : content.map(renderContent).join('');
}

/** Template tag that escapes values, except values of type {@link Html}. */
export const html = (strings: TemplateStringsArray, ...values: readonly Content[]): Html =>
  new Html(strings.map((text, index) => text + renderContent(values[index])).join(''));

/** Renders JSON for a `script` element. The value cannot end the element. */
export const json = (value: unknown): Html =>
  new Html(
    JSON.stringify(value).replace(
      /[<>&\u2028\u2029]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  );
