/**
 * Test titles are sentences: `describe` names the subject in the singular, and the title after `it` starts with a verb in the
 * third person. A title that starts with a placeholder is accepted as one of the exceptions.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parseSync } from '@swc/core';

const TESTS = join(import.meta.dirname, '..');
/** Maximum part of the titles that start differently. */
const EXCEPTIONS = 0.03;

const ADVERBS = new Set('again also always first never only still'.split(' '));
const MODALS = new Set('can cannot may must should will'.split(' '));
/** Words that end like a verb in the third person. */
const NO_VERBS = new Set('as this unless whereas across always perhaps'.split(' '));

interface Syntax {
  readonly type?: string;
  readonly value?: string;
  readonly callee?: Syntax;
  readonly object?: Syntax;
  readonly tag?: Syntax;
  readonly arguments?: readonly { readonly expression: Syntax }[];
  readonly quasis?: readonly { readonly raw: string }[];
}

/** Returns the name of the function in `it()`, `it.skip()` and `it.each()()`. */
function functionName({ type, value, callee, object, tag }: Syntax): string | undefined {
  if (type === 'Identifier') return value;
  const inner = type === 'CallExpression' ? callee : type === 'MemberExpression' ? object : tag;
  return inner === undefined ? undefined : functionName(inner);
}

function titleOf({ type, callee, arguments: args = [] }: Syntax): string | undefined {
  if (type !== 'CallExpression' || args.length < 2 || functionName(callee ?? {}) !== 'it') return undefined;
  const title = args[0]?.expression;
  if (title?.type === 'TemplateLiteral') return title.quasis?.map(({ raw }) => raw).join('…');
  return title?.type === 'StringLiteral' ? title.value : undefined;
}

function titlesIn(node: unknown): readonly string[] {
  if (Array.isArray(node)) return node.flatMap(titlesIn);
  if (typeof node !== 'object' || node === null) return [];
  const title = titleOf(node);
  return [...(title === undefined ? [] : [title]), ...Object.values(node).flatMap(titlesIn)];
}

const titlesOf = (text: string, isMarkup = false): readonly string[] =>
  titlesIn(parseSync(text, { syntax: 'typescript', tsx: isMarkup, target: 'es2022' }).body);

function isSentence(title: string): boolean {
  const [first = '', second = ''] = title.toLowerCase().split(/\s+/);
  const word = ADVERBS.has(first) ? second : first;
  return MODALS.has(word) || (/^[a-z-]+(?<![su])s$/.test(word) && !NO_VERBS.has(word));
}

describe('a test title', () => {
  it.each([
    ["it('evicts pods', () => {})", true],
    ["it.each(ROWS)('never evicts %s', () => {})", true],
    ['it(`can evict pods`, () => {})', true],
    ["it('are evicted', () => {})", false],
    ["it.each(ROWS)('%s', () => {})", false],
    ["it('unless it is evicted', () => {})", false],
  ])('is recognized as a sentence or not: %s', (text, is) => {
    expect(titlesOf(text).map(isSentence)).toEqual([is]);
  });

  it('starts with a verb in the third person', () => {
    const files = globSync('**/*.test.{ts,tsx}', { cwd: TESTS });
    const titles = files.flatMap((file) =>
      titlesOf(readFileSync(join(TESTS, file), 'utf8'), file.endsWith('x')).map((title) => ({ file, title })),
    );
    expect(titles.length).toBeGreaterThan(4_000);
    const others = titles.filter(({ title }) => !isSentence(title));
    const isWithinLimit = others.length <= EXCEPTIONS * titles.length;
    expect(isWithinLimit ? [] : others.map(({ file, title }) => `${file}: it ${title}`)).toEqual([]);
  });
});
