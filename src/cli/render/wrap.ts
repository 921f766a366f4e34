/** Lines that fit a terminal. */

/** Columns of the terminal that is written to; without one, as in a pipe, lines may be of any length. */
export const terminalWidth = (output: { readonly columns?: number } = process.stdout): number =>
  output.columns ?? Number.POSITIVE_INFINITY;

/** Breaks a text at blanks into lines of at most `width` characters; a longer word is broken after its punctuation. */
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

/** The text on lines of at most `width` characters, those after the first behind an indent. */
export function indented(text: string, indent: string, width: number): string {
  const [first = '', ...rest] = wrapped(text, Math.max(MOST_NARROW, width - indent.length));
  return [first, ...rest.map((line) => indent + line)].join('\n');
}

/** Below it, nothing is legible. */
const MOST_NARROW = 20;

interface Piece {
  readonly text: string;
  /** Goes on a word that an earlier piece begins. */
  readonly glued: boolean;
}

/** A name such as that of an EC2 node is broken after dots and dashes, and in the middle only when it has none. */
function pieces(word: string, width: number): readonly Piece[] {
  if (word.length <= width) return [{ text: word, glued: false }];
  const parts = word.split(/(?<=[-./,:=])(?![-./,:=])/).flatMap((part) => cut(part, width));
  return parts.map((text, at) => ({ text, glued: at > 0 }));
}

function cut(text: string, width: number): readonly string[] {
  if (text.length <= width) return [text];
  return [text.slice(0, width), ...cut(text.slice(width), width)];
}
