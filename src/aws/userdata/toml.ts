/**
 * TOML in the format that Karpenter uses for Bottlerocket: literal strings, values of a table before its subtables, and
 * an empty line before each table that follows values. Nodes accept any format, but users compare the text.
 */
import { stringify, type TomlTable } from 'smol-toml';
import { InvalidUserData } from './input.ts';

type Value = TomlTable[string];

/** Settings are never nested deeper, and deeper tables would overflow the stack. */
const MAX_DEPTH = 100;

const BARE_KEY = /^[A-Za-z0-9_-]+$/;
/** A literal string has no escapes, so it must not contain its quote or control characters. */
const LITERAL = /^[^'\p{Cc}]*$/u;

const isTable = (value: Value): value is TomlTable =>
  typeof value === 'object' && !Array.isArray(value) && !(value instanceof Date);

const isTables = (value: Value): value is TomlTable[] =>
  Array.isArray(value) && value.length > 0 && value.every(isTable);

/**
 * Returns the text of a table and all its subtables.
 * @param order returns the order of keys for a path such as `settings.kubernetes`; other keys are sorted by name
 * @throws InvalidUserData if tables are nested too deeply
 */
export function tomlText(root: TomlTable, order: (path: string) => readonly string[] | undefined): string {
  const lines: string[] = [];
  const header = (line: string): void => {
    // Only after values, and not after the header of the parent table.
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

/** Uses the format of the library, with escapes if it is a string. */
const scalarText = (value: Value): string => stringify({ value }).trim().slice('value = '.length);
