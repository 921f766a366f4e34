/**
 * TOML in the form that Karpenter gives Bottlerocket's settings: literal strings, a table's values before the tables in it,
 * a blank line before each table that follows values. Nodes read any form; people compare text.
 */
import { stringify, type TomlTable } from 'smol-toml';
import { InvalidUserData } from './input.ts';

type Value = TomlTable[string];

/** Deeper tables are nobody's settings, and would end the stack. */
const MAX_DEPTH = 100;

const BARE_KEY = /^[A-Za-z0-9_-]+$/;
/** Nothing in a literal string is escaped: it holds neither its own quote nor control characters. */
const LITERAL = /^[^'\p{Cc}]*$/u;

const isTable = (value: Value): value is TomlTable =>
  typeof value === 'object' && !Array.isArray(value) && !(value instanceof Date);

const isTables = (value: Value): value is TomlTable[] =>
  Array.isArray(value) && value.length > 0 && value.every(isTable);

/**
 * The text of a table and of all tables in it.
 * @param order  of the keys of the table under a path such as `settings.kubernetes`; others are in order of their names
 * @throws InvalidUserData when tables are nested too deep
 */
export function tomlText(root: TomlTable, order: (path: string) => readonly string[] | undefined): string {
  const lines: string[] = [];
  const header = (line: string): void => {
    // After values, that is, and not after the header of the table that this one is in.
    if (lines.length > 0 && !lines.at(-1)?.startsWith('[')) lines.push('');
    lines.push(line);
  };
  const write = (table: TomlTable, path: readonly string[]): void => {
    if (path.length > MAX_DEPTH) throw new InvalidUserData(`its tables are nested more than ${MAX_DEPTH} deep`);
    const entries = inOrder(table, order(path.join('.')));
    const inside = entries.filter(([, value]) => isTable(value) || isTables(value));
    for (const entry of entries)
      if (!inside.includes(entry)) lines.push(`${keyText(entry[0])} = ${valueText(entry[1])}`);
    for (const [key, value] of inside) {
      const below = [...path, key];
      const name = below.map(keyText).join('.');
      for (const each of isTable(value) ? [value] : (value as TomlTable[])) {
        header(isTable(value) ? `[${name}]` : `[[${name}]]`);
        write(each, below);
      }
    }
  };
  write(root, []);
  return `${lines.join('\n')}\n`;
}

function inOrder(table: TomlTable, order: readonly string[] = []): [string, Value][] {
  const rank = (key: string): number => (order.includes(key) ? order.indexOf(key) : order.length);
  return Object.entries(table).sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

const keyText = (key: string): string => (BARE_KEY.test(key) ? key : stringText(key));

const stringText = (text: string): string => (LITERAL.test(text) ? `'${text}'` : scalarText(text));

function valueText(value: Value): string {
  if (typeof value === 'string') return stringText(value);
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  if (!isTable(value)) return scalarText(value);
  const members = Object.entries(value).map(([key, each]) => `${keyText(key)} = ${valueText(each)}`);
  return `{ ${members.join(', ')} }`;
}

/** The library's form of it, with escapes where it is a string. */
const scalarText = (value: Value): string => stringify({ value }).trim().slice('value = '.length);
