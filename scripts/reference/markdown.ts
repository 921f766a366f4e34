/** Markdown elements of the reference pages. */

export const code = (text: string): string => `\`${text}\``;

/** Escapes text for a table cell. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** Returns the lines of a table. */
export const markdownTable = (head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] => [
  `| ${head.join(' | ')} |`,
  `|${'---|'.repeat(head.length)}`,
  ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`),
];

/** Returns the first lines of a generated page. @param source files to change instead of the page */
export const heading = (title: string, source: string): readonly string[] => [
  `# ${title}`,
  '',
  `<!-- Written by \`npm run generate\`; change ${source} instead. -->`,
  '',
];
