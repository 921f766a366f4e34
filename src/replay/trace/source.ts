/** Sources of lines: a file, plain or compressed with gzip, a pipe, or standard input. */

import { createReadStream, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { InputError, messageOf } from '#lib';
import { type Line, linesOf } from './lines.ts';

export interface LineSource {
  /** Name of this source in messages. */
  readonly name: string;
  /** Reads the lines from the start with each call. */
  lines(): AsyncIterable<Line>;
}

/** Limit for a source that can be read only once, and therefore stays in memory. */
const MOST_KEPT_BYTES = 512 * 2 ** 20;
const STDIN = 0;

/**
 * @param path a file, or `-` for standard input
 * @throws InputError if the file cannot be opened or is a folder
 */
export async function openLines(path: string): Promise<LineSource> {
  if (path === '-') return inMemory('standard input', createReadStream('', { fd: STDIN, autoClose: false }));
  const stats = await statsOf(path);
  if (stats.isDirectory()) throw new InputError(path, 'is a folder; use a file with JSON lines');
  if (!stats.isFile()) return inMemory(path, createReadStream(path));
  const isCompressed = isGzip(await beginning(path));
  return { name: path, lines: () => linesOf(plain(createReadStream(path), isCompressed), path) };
}

async function statsOf(path: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new InputError(path, isMissing ? 'no such file' : `cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

async function beginning(path: string): Promise<Buffer> {
  try {
    await using file = await open(path);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    throw new InputError(path, `cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

const isGzip = (bytes: Buffer | undefined): boolean => bytes?.[0] === 0x1f && bytes[1] === 0x8b;

/** Reads a pipe into memory, because it cannot be read again. */
async function inMemory(name: string, stream: AsyncIterable<Buffer>): Promise<LineSource> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      bytes += chunk.length;
      if (bytes > MOST_KEPT_BYTES)
        throw new InputError(
          name,
          `is larger than ${MOST_KEPT_BYTES / 2 ** 20} MiB; write it to a file and use the file`,
        );
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(name, `cannot be read: ${messageOf(error)}`, { cause: error });
  }
  const isCompressed = isGzip(Buffer.concat(chunks.slice(0, 2)).subarray(0, 2));
  return { name, lines: () => linesOf(isCompressed ? plain(Readable.from(chunks), true) : chunks, name) };
}

/**
 * Decompresses a stream. The pipeline closes the file if the reader stops early, and passes its errors to the reader.
 */
const plain = (stream: Readable, isCompressed: boolean): AsyncIterable<Buffer> =>
  isCompressed ? pipeline(stream, createGunzip(), () => undefined) : stream;
