/**
 * Objects that map users' keys must be read with `own` of src/lib/own.ts: `constructor` and `toString` are valid names
 * of labels, and every plain object has members with these names.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parseSync } from '@swc/core';

const SRC = resolve(import.meta.dirname, '../../src');

/** Names of maps of users' keys in the sources. */
const MAPS = new Set(
  'labels annotations tags matchLabels nodeSelector requests limits capacity allocatable'.split(' '),
);
/** Constant keys of the sources. */
const CONSTANT = /^[A-Z][A-Z0-9_]*$/;
/** Positions in typed arrays with the same names. */
const POSITIONS = new Set(['at', 'dimension', 'position']);

const COMMENTS = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;
/** Parsing the files without such text would take most of the time. */
const MAY_HAVE_FAULT = new RegExp(`\\b(?:in\\b|(?:${[...MAPS].join('|')})\\)?(?:\\?\\.)?\\[)`);

interface Syntax {
  readonly type?: string;
  readonly value?: string;
  readonly operator?: string;
  readonly left?: Syntax;
  readonly object?: Syntax;
  readonly property?: Syntax;
  readonly expression?: Syntax;
  readonly base?: Syntax;
}

/** The last name of `labels`, `metadata.labels` and `metadata?.labels`. */
function nameOf(node: Syntax | undefined): string {
  if (node?.type === 'Identifier') return node.value ?? '';
  if (node?.type === 'MemberExpression') return nameOf(node.property);
  return node?.type === 'OptionalChainingExpression' ? nameOf(node.base) : '';
}

function faultOf({ type, operator, left, object, property }: Syntax): string | undefined {
  if (type === 'BinaryExpression' && operator === 'in')
    return left?.type === 'StringLiteral' || left?.type === 'MemberExpression' ? undefined : 'in';
  if (type !== 'MemberExpression' || property?.type !== 'Computed' || !MAPS.has(nameOf(object))) return undefined;
  const key = property.expression;
  const isOurs = key?.type === 'StringLiteral' || (key?.type === 'Identifier' && CONSTANT.test(key.value ?? ''));
  const isPosition = key?.type === 'BinaryExpression' || POSITIONS.has(nameOf(key));
  return isOurs || isPosition ? undefined : `${nameOf(object)}[${nameOf(key) || '…'}]`;
}

function faultsIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(faultsIn);
  if (typeof node !== 'object' || node === null) return [];
  const fault = faultOf(node as Syntax);
  return [...(fault === undefined ? [] : [fault]), ...Object.values(node).flatMap(faultsIn)];
}

const faultsOf = (text: string): string[] => faultsIn(parseSync(text, { syntax: 'typescript', target: 'es2022' }).body);

describe("a map of users' keys", () => {
  it.each([
    ['pod.metadata.labels?.[key]', ['labels[key]']],
    ['node.labels[constraint.topologyKey]', ['labels[topologyKey]']],
    ['key in labels', ['in']],
    ["labels[ZONE_LABEL] ?? labels['x']", []],
    ["'code' in error", []],
    ['own(labels, key)', []],
  ])('is looked for in %s', (text, faults) => {
    expect(faultsOf(text)).toEqual(faults);
  });

  it('is read with `own`', () => {
    const files = readdirSync(SRC, { recursive: true, withFileTypes: true }).filter(
      (entry) => entry.isFile() && entry.name.endsWith('.ts') && entry.name !== 'own.ts',
    );
    const faults = files.flatMap(({ parentPath, name }) => {
      const path = join(parentPath, name);
      const text = readFileSync(path, 'utf8');
      if (!MAY_HAVE_FAULT.test(text.replace(COMMENTS, ''))) return [];
      return faultsOf(text).map((fault) => `${relative(SRC, path)}: ${fault}`);
    });
    expect(faults).toEqual([]);
  });
});
