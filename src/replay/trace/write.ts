/** Writes traces as JSON lines. */
import { createWriteStream, type PathLike, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { TraceEvent, TraceHeader } from './trace.ts';

/** Characters that are handed over at a time: writing line by line takes several times as long. */
const CHUNK = 64 * 1024;

async function* textOf(
  header: TraceHeader,
  events: AsyncIterable<TraceEvent> | Iterable<TraceEvent>,
): AsyncGenerator<string> {
  let text = `${JSON.stringify(header)}\n`;
  for await (const event of events) {
    text += `${JSON.stringify(event)}\n`;
    if (text.length < CHUNK) continue;
    yield text;
    text = '';
  }
  yield text;
}

/**
 * Writes a trace; compressed with gzip when the path ends in `.gz`. A file appears when it is complete, in place of the
 * one before.
 *
 * @param path a file, or `-` for standard output
 */
export async function writeTrace(
  header: TraceHeader,
  events: AsyncIterable<TraceEvent> | Iterable<TraceEvent>,
  path: string,
): Promise<void> {
  const text = textOf(header, events);
  if (path === '-') {
    await pipeline(Readable.from(text), process.stdout, { end: false });
    return;
  }
  if (!isReplaceable(path)) {
    await pipeline(Readable.from(text), createWriteStream(path));
    return;
  }
  const partial = `${path}.partial`;
  try {
    const file: Writable = createWriteStream(partial);
    if (path.endsWith('.gz')) await pipeline(Readable.from(text), createGzip(), file);
    else await pipeline(Readable.from(text), file);
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

/** Pipes and devices are written to where they are. */
function isReplaceable(path: PathLike): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
}
