/** What the reference pages are written with. */

export const code = (text: string): string => `\`${text}\``;

/** Text within a table. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** The lines of a table. */
export const markdownTable = (head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] => [
  `| ${head.join(' | ')} |`,
  `|${'---|'.repeat(head.length)}`,
  ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`),
];

/** What every generated page begins with. `source` is what to change instead of the page. */
export const heading = (title: string, source: string): readonly string[] => [
  `# ${title}`,
  '',
  `<!-- Written by \`npm run generate\`; change ${source} instead. -->`,
  '',
];
