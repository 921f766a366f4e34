/** Shell commands of pages. */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** Returns the commands of all shell blocks of a Markdown text. A line with a final backslash or pipe continues. */
export const shellCommands = (markdown: string): readonly string[] =>
  [...markdown.matchAll(/^ *```sh\n(.*?)^ *```/gms)].flatMap(([, block = '']) =>
    block
      .replaceAll('\\\n', '')
      .replaceAll('|\n', '| ')
      .split('\n')
      .map((line) => line.replace(/ +/g, ' ').trim())
      .filter((line) => line !== ''),
  );

/** Returns the commands under a heading of a page. Default: the commands before the first heading. */
export async function commandsUnder(page: string, heading?: string): Promise<readonly string[]> {
  const text = await readFile(join(ROOT, page), 'utf8');
  if (heading === undefined) return shellCommands(text.split('\n## ')[0] ?? '');
  return shellCommands(text.slice(text.indexOf(`\n## ${heading}\n`)).split('\n## ')[1] ?? '');
}
