/**
 * Text from users must not block the event loop. Every regular expression of the sources is checked for super-linear
 * backtracking, and tested with texts that repeat each of its parts.
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

/** Files that compile expressions from texts, with the reason why users cannot supply these texts. */
const COMPILED: Readonly<Record<string, string>> = {
  'aws/answers/checked.ts': 'of names of elements that stand in the file; its test has what takes longest',
  'cli/convert/old-names.ts': 'of old names of Karpenter that stand in a table',
  'local/kubernetes/kubelets/userdata/index.ts': 'of names of headers that stand in the file',
  'local/kubernetes/kubelets/userdata/flags.ts': 'of names of parameters that stand in the file',
};

/** A slash that does not belong to a comment, a path or a word. Parsing all files would take most of the time. */
const MAY_HAVE_LITERAL = /(?:^|[^\w.'"`@/*])\/(?![/*])/m;

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
  if (!text.includes('RegExp') && !MAY_HAVE_LITERAL.test(text)) continue;
  walk(parseSync(text, { syntax: 'typescript', target: 'es2022' }), relative(SRC, path));
}

/** Returns a short text that matches the node, or almost matches it. */
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

/** Returns a character of a class. For a negated class, returns the first of a few characters that match. */
function member(node: AST.CharacterClass): string {
  if (node.negate) return ['a', '0', ' ', '/', '"', '!'].find((each) => new RegExp(node.raw).test(each)) ?? '';
  const [first] = node.elements;
  if (first === undefined) return '';
  return first.type === 'CharacterClassRange' ? String.fromCodePoint(first.min.value) : sample(first as AST.Node);
}

/**
 * Returns the inputs for the expression: each alternative truncated after each of its elements, and each element alone.
 */
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
/** Linear expressions take a few milliseconds, quadratic ones a second or more. */
const LIMIT_MS = 200;

/**
 * Returns a text for which the expression takes too long, if there is one. Measures CPU time, so that other processes
 * have no influence.
 */
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

describe('the check', () => {
  it.each([
    '^(a+)+$',
    '^(?:\\d+\\.?\\d*s)+$',
    '0+$',
    '^(.*):(.*)/(.*)$',
    'Credential=[^/]+\\/\\d{8}\\/',
    ',(?![^(]*\\))',
    '^\\s*=\\s*(.*)$',
  ])('detects the error in %s', (source) => {
    const expression = { file: '', source, flags: '' };
    expect(backtracks(expression) || slowText(expression) !== undefined).toBe(true);
  });
});

describe('a regular expression', () => {
  it('exists in the sources', () => {
    expect(literals.length).toBeGreaterThan(150);
  });

  it('takes linear time', () => {
    const unique = [...new Map(literals.map((each) => [`/${each.source}/${each.flags}`, each])).entries()];
    const wrong = unique.filter(([, each]) => backtracks(each) || slowText(each) !== undefined);
    expect(wrong.map(([text, { file }]) => `${file}: ${text}`)).toEqual([]);
  });

  it('is compiled from a text only if users cannot supply this text', () => {
    expect([...compiling].sort()).toEqual(Object.keys(COMPILED).sort());
  });
});
