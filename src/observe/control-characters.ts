/**
 * Filter for all output of the program. Names, messages and headers come from users, and a terminal interprets control characters
 * in them: they can move the cursor, hide text, or set the title.
 */
import { StringDecoder } from 'node:string_decoder';

/**
 * Matches C0 except tab, line feed and the carriage return before a line feed; DEL, C1, and characters that change the text
 * direction. Keeps complete sequences that only make text bold or dim, because the program's own output contains them.
 */
const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
  /\u001b\[(?:1|2|22)m|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|\r(?!\n)/g;

/** Replaces control characters with the form `\u001b`. JSON and quoted YAML parse this form as the same string. */
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

/** Escapes control characters in all text that the process writes to the outputs from now on. */
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

/** Writes a control sequence of the program itself, without the filter. */
export function writeControl(output: { write(text: string): unknown }, sequence: string): void {
  const write = unfiltered.get(output);
  if (write === undefined) output.write(sequence);
  else write(sequence);
}

/** Returns the output without the filter, for a library that draws the terminal. Its caller must escape all text from users. */
export function withoutFilter<T extends Output>(output: T): T {
  const write = unfiltered.get(output);
  if (write === undefined) return output;
  return new Proxy(output, {
    get(target, name) {
      if (name === 'write') return write;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
