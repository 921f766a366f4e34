/**
 * Filter for everything that the program prints. Names, messages and headers come from users, and a terminal acts on the
 * control characters in them: it moves the cursor, hides text, or sets its title.
 */
import { StringDecoder } from 'node:string_decoder';

/**
 * C0 but tab, line feed and the carriage return before it; DEL, C1, and the characters that turn the direction of text.
 * Whole sequences that only make text bold or dim, as the program's own output does, stay.
 */
const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
  /\u001b\[(?:1|2|22)m|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|\r(?!\n)/g;

/** Writes control characters as `\u001b`. In JSON and in quoted YAML that is the same string. */
export const escapeControls = (text: string): string =>
  text.replace(CONTROLS, (found) =>
    found.length > 1 ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

type Write = NodeJS.WriteStream['write'];

/** Part of a stream that the filter replaces. */
export interface Output {
  write: Write;
}

/** Unfiltered `write` of each filtered output. */
const unfiltered = new WeakMap<object, Write>();

/** Escapes control characters in whatever the process writes to the outputs from now on. */
export function filterOutputs(outputs: readonly Output[] = [process.stdout, process.stderr]): void {
  for (const output of outputs) {
    if (unfiltered.has(output)) continue;
    const write = output.write.bind(output) as (text: string, ...rest: unknown[]) => boolean;
    unfiltered.set(output, write as Write);
    // a character may be split between two chunks
    const decoder = new StringDecoder('utf8');
    output.write = ((chunk: string | Uint8Array, ...rest: unknown[]) => {
      const text = typeof chunk === 'string' ? chunk : decoder.write(Buffer.from(chunk));
      return write(escapeControls(text), ...rest);
    }) as Write;
  }
}

/** Writes a control sequence of the program's own. */
export function writeControl(output: { write(text: string): unknown }, sequence: string): void {
  const write = unfiltered.get(output);
  if (write === undefined) output.write(sequence);
  else write(sequence);
}
