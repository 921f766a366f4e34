/**
 * No text of a user may keep the event loop busy: every regular expression of the sources is held against a checker for
 * super-linear back-tracking, and played against texts that repeat what each of its parts wants.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { type AST, RegExpParser } from '@eslint-community/regexpp';
import { describe, expect, it } from '@jest/globals';
import { parseSync } from '@swc/core';
import { analyse } from 'scslre';

const SRC = resolve(import.meta.dirname, '../../src');

interface Found {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

/** Files that make expressions of texts, with the reason why these cannot be anybody's. */
const COMPILED: Readonly<Record<string, string>> = {
  'aws/answers/unread.ts': 'of names of elements that stand in the file; its test has what takes longest',
  'local/kubernetes/kubelets/userdata/mime.ts': 'of names of headers that stand in the file',
  'local/kubernetes/kubelets/userdata/shell.ts': 'of names of parameters that stand in the file',
};

const literals: Found[] = [];
const compiling = new Set<string>();

function walk(node: unknown, file: string): void {
  if (Array.isArray(node)) for (const item of node) walk(item, file);
  if (typeof node !== 'object' || node === null || Array.isArray(node)) return;
  const { type, pattern, flags, callee } = node as Record<string, unknown>;
  if (type === 'RegExpLiteral') literals.push({ file, source: String(pattern), flags: String(flags) });
  if (type === 'NewExpression' || type === 'CallExpression')
    if ((callee as { readonly value?: unknown } | undefined)?.value === 'RegExp') compiling.add(file);
  for (const child of Object.values(node)) walk(child, file);
}

for (const entry of readdirSync(SRC, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !entry.name.endsWith('.ts')) continue;
  const path = join(entry.parentPath, entry.name);
  const text = readFileSync(path, 'utf8');
  if (!text.includes('RegExp') && !text.includes('/')) continue;
  walk(parseSync(text, { syntax: 'typescript', target: 'es2022' }), relative(SRC, path));
}

/** A short text that the node matches, or nearly so. */
function sample(node: AST.Node): string {
  switch (node.type) {
    case 'Pattern':
    case 'Group':
    case 'CapturingGroup':
      return node.alternatives[0] === undefined ? '' : sample(node.alternatives[0]);
    case 'Alternative':
      return node.elements.map(sample).join('');
    case 'Quantifier':
      return sample(node.element).repeat(Math.max(1, Math.min(node.min, 8)));
    case 'Character':
      return String.fromCodePoint(node.value);
    case 'CharacterClass':
      return member(node);
    case 'CharacterSet':
      return { any: 'a', digit: '0', space: ' ', word: 'a', property: 'a' }[node.kind];
    default:
      return '';
  }
}

/** A character of a class; of a negated one, the first of a few that it admits. */
function member(node: AST.CharacterClass): string {
  if (node.negate) return ['a', '0', ' ', '/', '"', '!'].find((each) => new RegExp(node.raw).test(each)) ?? '';
  const [first] = node.elements;
  if (first === undefined) return '';
  return first.type === 'CharacterClassRange' ? String.fromCodePoint(first.min.value) : sample(first as AST.Node);
}

/** What the expression is fed with: the beginning of each of its alternatives up to each element, and each element alone. */
function pumps({ source, flags }: Found): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (alternatives: readonly AST.Alternative[]): void => {
    for (const { elements } of alternatives) {
      let prefix = '';
      for (const element of elements) {
        prefix += sample(element);
        found.add(prefix).add(sample(element));
        const inner = element.type === 'Quantifier' ? element.element : element;
        if ('alternatives' in inner) visit(inner.alternatives as readonly AST.Alternative[]);
      }
    }
  };
  visit(new RegExpParser().parsePattern(source, 0, source.length, flags.includes('u')).alternatives);
  found.delete('');
  return found;
}

const LENGTH = 100_000;
/** Linear ones take a few milliseconds, quadratic ones a second or more. */
const LIMIT_MS = 200;

/** The text that takes the expression too long, if there is one. Of the processor's time, whatever else is going on. */
function slowText(expression: Found): string | undefined {
  const { source, flags } = expression;
  const regExp = new RegExp(source, flags);
  for (const pump of pumps(expression))
    for (const end of ['', '\n!', '\u0000']) {
      const text = pump.repeat(LENGTH / pump.length) + end;
      const before = process.threadCpuUsage();
      regExp.lastIndex = 0;
      text.replace(regExp, '');
      const { user, system } = process.threadCpuUsage(before);
      if ((user + system) / 1000 > LIMIT_MS) return `${JSON.stringify(pump)} × ${LENGTH / pump.length}`;
    }
  return undefined;
}

const backtracks = ({ source, flags }: Found): boolean => analyse({ source, flags }).reports.length > 0;

describe('the checks', () => {
  it.each([
    '^(a+)+$',
    '^(?:\\d+\\.?\\d*s)+$',
    '0+$',
    '^(.*):(.*)/(.*)$',
    'Credential=[^/]+\\/\\d{8}\\/',
    ',(?![^(]*\\))',
    '^\\s*=\\s*(.*)$',
  ])('find what is wrong with %s', (source) => {
    const expression = { file: '', source, flags: '' };
    expect(backtracks(expression) || slowText(expression) !== undefined).toBe(true);
  });
});

describe('regular expressions', () => {
  it('are found', () => {
    expect(literals.length).toBeGreaterThan(150);
  });

  it('take a time that is linear in the text', () => {
    const unique = [...new Map(literals.map((each) => [`/${each.source}/${each.flags}`, each])).entries()];
    const wrong = unique.filter(([, each]) => backtracks(each) || slowText(each) !== undefined);
    expect(wrong.map(([text, { file }]) => `${file}: ${text}`)).toEqual([]);
  });

  it('are made of texts only where these are ours', () => {
    expect([...compiling].sort()).toEqual(Object.keys(COMPILED).sort());
  });
});
