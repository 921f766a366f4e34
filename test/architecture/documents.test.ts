/** Documents and comments refer only to existing files and decision notes. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { KUBERNETES_VERSIONS } from '../cluster/harness/binaries.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDERS = ['bench', 'bin', 'charts', 'crds', 'docs', 'examples', 'scripts', 'src', 'test'];
/** Files of users, and build results. */
const ELSEWHERE = /^(dist|node_modules|~)\//;
/** A path, or the name of a source file. Other names without a folder are examples of users' files. */
const FILE = String.raw`(?:\.{0,2}/)?(?:[\w.-]+/)+[\w.-]+\.(?:ts|js|md|yaml|json)|[\w.-]+\.ts`;
const IN_DOCUMENTS = new RegExp(`\`(${FILE})\``, 'g');
const IN_COMMENTS = new RegExp(String.raw`(?<![\w./-])(${FILE})\b(?![\w/(])`, 'g');
const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/ .*/gm;
const NOTE = /\bdocs\/decisions\/(\d{4})|\bdecisions? (\d+)\b/g;

/** Target of a link to a file or heading of the repository. */
const LINK = /\]\((?!https?:|mailto:)([^)\s]+)\)/g;

/** Maximum number of words of all pages for users, without the reference. */
const MOST_WORDS = 30_000;

const withoutCode = (text: string): string => text.replace(/^\s*```[\s\S]*?^\s*```|`[^`\n]*`/gm, '');

/** Returns the anchors of the headings, as GitHub derives them. */
function headingsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, title = ''] of text.replace(/^\s*```[\s\S]*?^\s*```/gm, '').matchAll(/^#{1,6} (.+)$/gm)) {
    const plain = title
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim()
      .toLowerCase();
    const anchor = plain.replace(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');
    const copies = [...anchors].filter((each) => each.replace(/-\d+$/, '') === anchor).length;
    anchors.add(anchors.has(anchor) ? `${anchor}-${copies}` : anchor);
  }
  return anchors;
}

const files = [
  ...readdirSync(ROOT, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : [])),
  ...FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  ),
];
/** Every end of every file's path that starts at the name of a file or folder. */
const ends = new Set(files.flatMap((file) => file.split('/').map((_, at, parts) => parts.slice(at).join('/'))));
const notes = new Set(files.flatMap((file) => /^docs\/decisions\/(\d{4})-/.exec(file)?.[1] ?? []));

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const missingFiles = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)]
    .map(([, name = '']) => name.replace(/^(\.{0,2}\/)+/, ''))
    .filter((name) => !ELSEWHERE.test(name) && !ends.has(name));

const missingNotes = (text: string): readonly string[] =>
  [...text.matchAll(NOTE)]
    .map(([, padded, number = '']) => padded ?? number.padStart(4, '0'))
    .filter((number) => !notes.has(number));

describe('a document', () => {
  const documents = files.filter((file) =>
    /^(README|CONTRIBUTING|SECURITY|docs\/.*|bench\/.*|src\/.*)\.md$/.test(file),
  );
  const pages = documents.filter((path) => /^docs\/(tasks\/)?[^/]+\.md$/.test(path));

  it.each(documents)('refers only to existing files and notes: %s', (path) => {
    const text = read(path);
    expect([...missingFiles(text, IN_DOCUMENTS), ...missingNotes(text)]).toEqual([]);
  });

  it.each(documents)('links only to existing files and headings: %s', (path) => {
    const broken = [...withoutCode(read(path)).matchAll(LINK)].flatMap(([, target = '']) => {
      const [file = '', anchor] = target.split('#');
      const full = file === '' ? path : join(dirname(path), file);
      if (!existsSync(join(ROOT, full))) return [target];
      return anchor === undefined || !full.endsWith('.md') || headingsOf(read(full)).has(anchor) ? [] : [target];
    });
    expect(broken).toEqual([]);
  });

  it.each(pages)('begins with the task of its reader: %s', (path) => {
    const [first = ''] = read(path)
      .replace(/<!--.*-->/g, '')
      .split('\n')
      .slice(1)
      .filter((line) => line !== '');
    expect(first).toMatch(/^(?:Use|Follow|Read|To) /);
  });

  it('keeps all pages within 30,000 words without the reference', () => {
    const words = pages.reduce((sum, path) => sum + (read(path).match(/\S+/g)?.length ?? 0), 0);
    const problem = `the pages have ${words} words together: shorten them, or move formats to docs/reference/formats`;
    expect(words > MOST_WORDS ? problem : undefined).toBeUndefined();
  });

  it('names the versions of Kubernetes that the cluster suite can select', () => {
    const row = /^\| Kubernetes \|.*$/m.exec(read('docs/upgrade.md'))?.[0] ?? '';
    const tested = [...row.matchAll(/\b1\.\d+\b/g)].map(([version]) => version);
    for (const version of KUBERNETES_VERSIONS) expect(tested.slice(2)).toContain(version.replace(/\.\d+$/, ''));
  });

  it('is rejected in a sample if its links are broken', () => {
    const sample = '# A `b`: c-d, e\n```\n# no\n```\n## A b c-d e\n[x](#y) [x](https://y) [x](gone.md)';
    expect([...headingsOf(sample)]).toEqual(['a-b-c-d-e', 'a-b-c-d-e-1']);
    expect([...sample.matchAll(LINK)].map(([, target]) => target)).toEqual(['#y', 'gone.md']);
  });

  it('states the number of files of each walk through the code', () => {
    const walks = read('src/README.md').matchAll(/^### .*, file by file$([\s\S]*?)(?=^##)/gm);
    const counts = [...walks].map(([, section = '']) => {
      const listed = new Set([...section.matchAll(/^\d+\. `([\w/.-]+)`/gm)].map(([, file]) => file));
      return { listed: listed.size, said: Number(/(\d+) files with/.exec(section)?.[1]) };
    });
    expect(counts).toHaveLength(3);
    for (const { listed, said } of counts) expect(listed).toBe(said);
  });

  it('refers only to files of the engine if it describes the engine', () => {
    const folder = join(ROOT, 'src/engine');
    const names = new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => basename(path)));
    const named = read('src/engine/README.md').match(/\b[\w-]+\.ts\b/g) ?? [];
    expect(named.filter((name) => !names.has(name))).toEqual([]);
  });
});

describe('a comment', () => {
  const sources = files.filter((file) => file.endsWith('.ts'));

  it('refers only to existing files and notes', () => {
    const missing = sources.flatMap((path) => {
      const text = read(path).match(COMMENT)?.join('\n') ?? '';
      return [...missingFiles(text, IN_COMMENTS), ...missingNotes(text)].map((name) => `${path}: ${name}`);
    });
    expect(missing).toEqual([]);
  });

  it('is rejected in a sample if its references are invalid', () => {
    const gone = 'gone.ts';
    const sample = `/** As in \`engine/${gone}\`, docs/decisions/${9999}. */
      const url = 'http://host/gone.js'; // see ${gone}, decision ${9998}`;
    const text = sample.match(COMMENT)?.join('\n') ?? '';
    expect(missingFiles(text, IN_COMMENTS)).toEqual([`engine/${gone}`, gone]);
    expect(missingNotes(text)).toEqual(['9999', '9998']);
  });
});
