/** Commands of the README. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const README = join(import.meta.dirname, '../../README.md');

/** Returns the commands of the first shell block under a heading. A line with a final backslash continues. */
export async function commandsUnder(heading: string): Promise<readonly string[]> {
  const readme = await readFile(README, 'utf8');
  const section = readme.slice(readme.indexOf(`\n## ${heading}\n`)).split('\n## ')[1] ?? '';
  const block = /```sh\n(.*?)```/s.exec(section)?.[1] ?? '';
  return block
    .replaceAll('\\\n', '')
    .split('\n')
    .map((line) => line.replace(/ +/g, ' ').trim())
    .filter((line) => line !== '');
}
