/** Sources of generators: files and URLs. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { ReadableStream } from 'node:stream/web';

/** @param source a URL or the path of a file */
async function open(source: string): Promise<Readable> {
  if (!/^https?:/.test(source)) return createReadStream(source);
  const response = await fetch(source);
  if (!response.ok || response.body === null) throw new Error(`Cannot read ${source}: HTTP ${response.status}`);
  return Readable.fromWeb(response.body as ReadableStream);
}

export const textAt = async (source: string): Promise<string> => text(await open(source));

export async function* linesAt(source: string): AsyncGenerator<string> {
  yield* createInterface({ input: await open(source) });
}
