/** Formats commands that users can copy into a POSIX shell. */
import { indented } from './wrap.ts';

/** Quotes a value for a POSIX shell if necessary. */
export const shellQuoted = (value: string): string =>
  /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;

/** Wraps a text. A command stays on one line, so that it can be copied. */
export const commandOrText = (text: string, indent: string, width: number): string =>
  /^(?:kubectl|karpenter|helm|aws|eksctl) /.test(text) ? text : indented(text, indent, width);
