/** Splits arguments in the same way as a POSIX shell, with quotes and backslashes but without expansions. */
import { InputError } from '../objects/errors.ts';

/** Characters that a backslash escapes in double quotes. Before other characters, the backslash is literal. */
const ESCAPABLE = new Set(['"', '\\', '$', '`']);

/**
 * Returns the words of a line.
 *
 * @param where place of the line in messages
 * @throws InputError if a quote is not closed
 */
export function wordsOf(line: string, where: string): readonly string[] {
  const words: string[] = [];
  for (let at = afterBlanks(line, 0); at < line.length; ) {
    const { word, end } = wordAt(line, at, where);
    words.push(word);
    at = afterBlanks(line, end);
  }
  return words;
}

const isBlank = (character: string | undefined): boolean => character !== undefined && /\s/.test(character);

function afterBlanks(line: string, from: number): number {
  let at = from;
  while (isBlank(line[at])) at += 1;
  return at;
}

function wordAt(line: string, from: number, where: string): { readonly word: string; readonly end: number } {
  let word = '';
  let quote = '';
  let at = from;
  for (; at < line.length && (quote !== '' || !isBlank(line[at])); at += 1) {
    const character = line[at] ?? '';
    if (character === quote) quote = '';
    else if (quote === '' && (character === '"' || character === "'")) quote = character;
    else if (character === '\\' && isEscape(quote, line[at + 1])) {
      at += 1;
      word += line[at] ?? '';
    } else word += character;
  }
  if (quote !== '') throw new InputError(where, `unclosed quote ${quote}`);
  return { word, end: at };
}

function isEscape(quote: string, next: string | undefined): boolean {
  if (next === undefined || quote === "'") return false;
  return quote === '' || ESCAPABLE.has(next);
}
