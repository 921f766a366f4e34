/** Reads text files and checks their type, size and encoding. */
import { closeSync, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { InputError, messageOf } from './errors.ts';

/** Maximum size. A dump of 50,000 pods is smaller. */
const MOST_BYTES = 512 * 2 ** 20 - 64;
const CHUNK = 2 ** 20;

/** @throws InputError with the file if it is neither a file nor a pipe, is too large, or is not UTF-8 */
export function readText(file: string): string {
  return decodeText(
    read(file, () => openSync(file, 'r')),
    file,
  );
}

/** @throws InputError that names the file, if it cannot be read or is not valid JSON */
export function readJson(file: string): unknown {
  const text = readText(file);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InputError(file, `not valid JSON: ${messageOf(error)}`, { cause: error });
  }
}

/** @throws InputError if the input is too large or is not UTF-8 */
export const readStandardInput = (): string =>
  decodeText(
    read('standard input', () => 0),
    'standard input',
  );

function read(source: string, open: () => number): Buffer {
  try {
    const descriptor = open();
    try {
      const wrong = descriptor === 0 ? undefined : wrongKind(fstatSync(descriptor));
      if (wrong !== undefined) throw new InputError(source, `${wrong}; use a YAML or JSON file`);
      return readAll(descriptor, source);
    } finally {
      if (descriptor !== 0) closeSync(descriptor);
    }
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(source, `cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

/** Returns an error unless the input is a file or a pipe. A shell passes `<(...)` as a pipe. */
function wrongKind(stats: Stats): string | undefined {
  if (stats.isFile() || stats.isFIFO()) return undefined;
  return stats.isDirectory() ? 'is a folder' : 'is a device or a socket';
}

function readAll(descriptor: number, source: string): Buffer {
  const chunks: Buffer[] = [];
  for (let total = 0; ; ) {
    const chunk = Buffer.allocUnsafe(CHUNK);
    const count = readSync(descriptor, chunk);
    if (count === 0) return Buffer.concat(chunks);
    total += count;
    if (total > MOST_BYTES) throw new InputError(source, 'is larger than 512 MiB; split it');
    chunks.push(count === CHUNK ? chunk : Buffer.from(chunk.subarray(0, count)));
  }
}

function decodeText(bytes: Buffer, source: string): string {
  const [first, second] = bytes;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (isUtf16) throw new InputError(source, 'is UTF-16; save it as UTF-8');
  if (bytes.includes(0)) throw new InputError(source, 'contains NUL bytes and is not a UTF-8 text file');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new InputError(source, 'is not UTF-8; save it as UTF-8', { cause: error });
  }
}
