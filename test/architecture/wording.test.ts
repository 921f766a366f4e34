/**
 * Comments, documents, messages and test titles are in plain English. Words that indicate roundabout sentences are counted. The
 * limits below are the counts of today. Lower a limit after a count has fallen, and never raise it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const ROOT = join(import.meta.dirname, '../..');
const KINDS = ['comments', 'documents', 'messages', 'titles'] as const;
type Kind = (typeof KINDS)[number];
type Counts = Readonly<Record<Kind, number>>;

/** Words that plain sentences rarely need, with the maximum number of lines that contain them. */
const WORDS: readonly (readonly [string, RegExp, Counts])[] = [
  [
    'who or nobody',
    /\b(?:who|whoever|whom|nobody|somebody|anybody|everybody)\b/i,
    { comments: 0, documents: 6, messages: 0, titles: 0 },
  ],
  ['what', /\bwhat\b(?!-if)/i, { comments: 0, documents: 9, messages: 1, titles: 0 }],
  ['says or tells', /\b(?:says?|said|tells?|told)\b/i, { comments: 0, documents: 0, messages: 0, titles: 0 }],
  ['asks or answers', /\b(?:asks|asked|answers|answered)\b/i, { comments: 0, documents: 0, messages: 0, titles: 0 }],
  ['buys', /\b(?:buys?|bought|buying)\b/i, { comments: 0, documents: 0, messages: 0, titles: 0 }],
  ['dear', /\bdear(?:er|est)?\b/i, { comments: 0, documents: 0, messages: 1, titles: 0 }],
  [
    'at once or in vain',
    /\b(?:at once|in vain|by then|for good|gives? back|given back)\b/i,
    { comments: 0, documents: 0, messages: 0, titles: 0 },
  ],
  [
    'as it is',
    /(?<!as (?:long|soon) )\bas (?:it|they) (?:is|was|are|were)\b/i,
    { comments: 0, documents: 1, messages: 0, titles: 0 },
  ],
  ['comes to', /\b(?:comes?|came) (?:to|of)\b/i, { comments: 1, documents: 1, messages: 0, titles: 0 }],
  ['look at', /\blook(?:s|ed|ing)? at\b/i, { comments: 0, documents: 0, messages: 0, titles: 0 }],
  ['takes for', /\b(?:takes?|took|taken|holds?|held) for\b/i, { comments: 3, documents: 0, messages: 0, titles: 1 }],
];

/** Words that are often justified, with the maximum number of occurrences per 10,000 words. */
const FREQUENT =
  /\b(?:those|the ones?|others|one that|nothing|none|no more|whose|(?:is|are|was|were|be) no|(?:of|in|by|from|for|to|on) which)\b/gi;
const MOST_FREQUENT: Counts = { comments: 42, documents: 37, messages: 32, titles: 46 };

/** Words with which doc comments must not begin: they begin with a verb or with a noun. */
const OPENERS = /^\s*\/\*\*\s*(?:\n\s*\*\s)?(?:What|Whether|Who|Whose|Of|Those|That|How|Where|When|Which|As)\b/gm;

const PARTICIPLES =
  /^(?:[a-z]+ed|given|taken|bought|held|kept|found|made|written|sold|drawn|seen|told|known|built|paid|sent|left|lost|split|spent|chosen|broken|shown|thrown|bound)(?:Anew|Out|In|By|As|To|On|From|Of|Among|At|Back|Alike|With|Before|First)?$/;
const FUNCTIONS =
  /^(?:export )?(?:async )?function\*? (\w+)|^(?:export )?const (\w+) = (?:async )?\([^)]*\)(?:: [^=]+?)? =>/gm;
/** Functions whose name is a participle. Participles should name values, and verbs functions. */
const MOST_PARTICIPLES = 92;

const MOST_COMMENT = 130;
const MOST_DOCUMENT = 132;

const filesIn = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
const sources = ['bench', 'bin', 'scripts', 'src', 'test']
  .flatMap(filesIn)
  .filter((path) => /(?<!descriptions)\.(?:ts|js)$/.test(path));
const documents = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md'),
  ...['docs', 'src'].flatMap(filesIn).filter((path) => path.endsWith('.md') && !path.startsWith('docs/reference/')),
];
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Line {
  readonly at: string;
  readonly text: string;
}
type Texts = Readonly<Record<Kind, readonly Line[]>>;

const COMMENT = /^\s*\/?\*|(?:^|\s)\/\/\s/;
const TITLE = /(?:\b(?:it|test|describe)(?:\.each\([^)]*\))?|^\s*\]\))\(\s*(['"`])(.*?)\1/;
const STRING = /(['"`])((?:(?!\1)[^\\]|\\.){12,})\1/g;

/** Returns the lines of text in a source file, by kind. */
function textsOf(path: string, source: string): Texts {
  const found: Record<Kind, Line[]> = { comments: [], documents: [], messages: [], titles: [] };
  for (const [index, line] of source.split('\n').entries()) {
    const at = `${path}:${index + 1}`;
    const title = path.startsWith('test/') ? TITLE.exec(line)?.[2] : undefined;
    if (title !== undefined) found.titles.push({ at, text: title });
    else if (COMMENT.test(line)) found.comments.push({ at, text: line.replace(/^.*?(?:\/\/|\/?\*+)\s/, '') });
    else if (path.startsWith('src/'))
      for (const [, , text = ''] of line.matchAll(STRING))
        if (/[a-z]{2,} [a-z]{2,}/i.test(text)) found.messages.push({ at, text });
  }
  return found;
}

/** Returns the lines of a document without code blocks. */
const linesOf = (path: string): readonly Line[] =>
  read(path)
    .replace(/^\s*```[\s\S]*?^\s*```/gm, (block) => block.replace(/[^\n]/g, ''))
    .split('\n')
    .map((text, index) => ({ at: `${path}:${index + 1}`, text }));

const bySource = sources.map((path) => textsOf(path, read(path)));
const texts: Texts = {
  comments: bySource.flatMap(({ comments }) => comments),
  documents: documents.flatMap(linesOf),
  messages: bySource.flatMap(({ messages }) => messages),
  titles: bySource.flatMap(({ titles }) => titles),
};
/** Text without code, interpolations and links. */
const plain = (text: string): string =>
  text.replace(/`[^`]*`|\$\{[^}]*\}|\$\w+|@param \w+|\]\([^)]*\)|https?:\S+/g, ' ');
const withWord = (lines: readonly Line[], word: RegExp): readonly string[] =>
  lines.flatMap(({ at, text }) => (word.test(plain(text)) ? [`${at}: ${text.trim()}`] : []));
const longerThan = (lines: readonly Line[], most: number): readonly string[] =>
  lines.filter(({ text }) => text.length > most && !/https?:|▶|^\s*\|/.test(text)).map(({ at }) => at);

describe('plain English', () => {
  it.each(WORDS)('rarely needs %s', (_, word, most) => {
    for (const kind of KINDS) {
      const found = withWord(texts[kind], word);
      expect({ kind, found: found.length > most[kind] ? found : [] }).toEqual({ kind, found: [] });
    }
  });

  it.each(KINDS)('has few pronouns and negations in %s', (kind) => {
    const all = texts[kind].map(({ text }) => plain(text)).join('\n');
    const words = all.match(/[A-Za-z][A-Za-z'-]+/g)?.length ?? 0;
    expect(words).toBeGreaterThan(1_000);
    expect(((all.match(FREQUENT)?.length ?? 0) * 10_000) / words).toBeLessThanOrEqual(MOST_FREQUENT[kind]);
  });

  it('begins doc comments with a verb or a noun', () => {
    const found = sources.flatMap((path) => (read(path).match(OPENERS) ?? []).map((text) => `${path}: ${text.trim()}`));
    expect(found).toEqual([]);
  });

  it('names functions by verbs', () => {
    const names = sources
      .filter((path) => path.startsWith('src/'))
      .flatMap((path) => [...read(path).matchAll(FUNCTIONS)].map(([, declared, arrow]) => declared ?? arrow ?? ''));
    expect(names.length).toBeGreaterThan(1_000);
    expect(names.filter((name) => PARTICIPLES.test(name)).length).toBeLessThanOrEqual(MOST_PARTICIPLES);
  });

  it('is in lines of limited length', () => {
    const comments = sources.flatMap((path) =>
      read(path)
        .split('\n')
        .map((text, index) => ({ at: `${path}:${index + 1}`, text })),
    );
    expect(
      longerThan(
        comments.filter(({ text }) => /^\s*(?:\/?\*|\/\/\s)/.test(text)),
        MOST_COMMENT,
      ),
    ).toEqual([]);
    expect(longerThan(texts.documents, MOST_DOCUMENT)).toEqual([]);
  });

  it('is detected in a sample', () => {
    const sample = textsOf('src/sample.ts', "/** What it says. */\n// tells nothing\nfail('it is asked in vain');");
    expect(sample.comments.map(({ text }) => text.replace(' */', ''))).toEqual(['What it says.', 'tells nothing']);
    expect(withWord(sample.messages, /\bin vain\b/)).toEqual(['src/sample.ts:3: it is asked in vain']);
    expect('/** Whether it is so. */'.match(OPENERS)).not.toBeNull();
    expect('/** Returns true. */'.match(OPENERS)).toBeNull();
  });
});
