/** Wraps lines to fit a terminal. */

/** Returns the columns of the terminal. Lines have unlimited length if there is no terminal, as in a pipe. */
export const terminalWidth = (output: { readonly columns?: number } = process.stdout): number =>
  output.columns ?? Number.POSITIVE_INFINITY;

/** Wraps a text at blanks into lines of at most `width` characters. Splits longer words after punctuation. */
export function wrapped(text: string, width: number): readonly string[] {
  if (text.length <= width) return [text];
  const lines: string[] = [];
  let line = '';
  for (const piece of text.split(' ').flatMap((word) => pieces(word, width))) {
    const joined = piece.glued || line === '' ? line + piece.text : `${line} ${piece.text}`;
    if (line !== '' && joined.length > width) {
      lines.push(line);
      line = piece.text;
    } else line = joined;
  }
  return [...lines, line];
}

/** Wraps a text and indents all lines except the first. */
export function indented(text: string, indent: string, width: number): string {
  const [first = '', ...rest] = wrapped(text, Math.max(MOST_NARROW, width - indent.length));
  return [first, ...rest.map((line) => indent + line)].join('\n');
}

/** Minimum width that is legible. */
const MOST_NARROW = 20;

interface Piece {
  readonly text: string;
  /** True if this piece continues the word of the previous piece. */
  readonly glued: boolean;
}

/**
 * Splits a long word, such as the name of an EC2 node, after dots and dashes. Splits inside a part only if the part
 * is too long.
 */
function pieces(word: string, width: number): readonly Piece[] {
  if (word.length <= width) return [{ text: word, glued: false }];
  const parts = word.split(/(?<=[-./,:=])(?![-./,:=])/).flatMap((part) => cut(part, width));
  return parts.map((text, at) => ({ text, glued: at > 0 }));
}

function cut(text: string, width: number): readonly string[] {
  if (text.length <= width) return [text];
  return [text.slice(0, width), ...cut(text.slice(width), width)];
}
