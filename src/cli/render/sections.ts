/** Renders sections with lines and tables for a terminal, as Markdown, and as HTML for a mail. */
import { tableOfEssentials } from './table.ts';
import { indented, terminalWidth } from './wrap.ts';

export interface Section {
  readonly title: string;
  readonly lines: readonly string[];
  readonly headings?: readonly string[];
  readonly rows?: readonly (readonly string[])[];
  /** Headings of columns that a narrow terminal leaves out, first one first. */
  readonly optional?: readonly string[];
}

export interface Document {
  readonly title: string;
  readonly intro: string;
  readonly sections: readonly Section[];
}

export function sectionsText(intro: string, sections: readonly Section[]): string {
  const texts = sections.map(({ title, lines, headings = [], rows = [], optional = [] }) =>
    [
      title.toUpperCase(),
      ...lines.map((line) => indented(`  ${line}`, '    ', terminalWidth())),
      rows.length === 0 ? '' : tableOfEssentials(headings, rows, { optional }),
    ]
      .filter((text) => text !== '')
      .join('\n'),
  );
  return `${[indented(intro, '', terminalWidth()), ...texts].join('\n\n')}\n`;
}

export function markdown({ title: heading, intro, sections }: Document): string {
  const texts = sections.map(({ title, lines, headings = [], rows = [] }) =>
    [`## ${title}`, lines.map((line) => `* ${line}`).join('\n'), markdownTable(headings, rows)]
      .filter((text) => text !== '')
      .join('\n\n'),
  );
  return `${[`# ${heading}`, intro, ...texts].join('\n\n')}\n`;
}

function markdownTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line)].join('\n');
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (found) => ESCAPES[found] ?? found);

/** Programs for mails ignore style sheets, so the styles are attributes. */
const CELL = 'style="border-top:1px solid #d5dade;padding:4px 10px 4px 0;text-align:left"';

export function html({ title: heading, intro, sections }: Document): string {
  const row = (tag: 'th' | 'td', cells: readonly string[]): string =>
    `<tr>${cells.map((cell) => `<${tag} ${CELL}>${escapeHtml(cell)}</${tag}>`).join('')}</tr>`;
  const texts = sections.map(({ title, lines, headings = [], rows = [] }) =>
    [
      `<h2>${escapeHtml(title)}</h2>`,
      lines.length === 0 ? '' : `<ul>\n${lines.map((line) => `<li>${escapeHtml(line)}</li>`).join('\n')}\n</ul>`,
      rows.length === 0
        ? ''
        : `<table style="border-collapse:collapse">\n<thead>${row('th', headings)}</thead>\n<tbody>\n${rows.map((cells) => row('td', cells)).join('\n')}\n</tbody>\n</table>`,
    ]
      .filter((text) => text !== '')
      .join('\n'),
  );
  const head = `<meta charset="utf-8">\n<title>${escapeHtml(heading)}</title>`;
  return `<!doctype html>\n<html lang="en">\n<head>\n${head}\n</head>\n<body style="font-family:sans-serif">\n${[`<h1>${escapeHtml(heading)}</h1>`, `<p>${escapeHtml(intro)}</p>`, ...texts].join('\n')}\n</body>\n</html>\n`;
}
