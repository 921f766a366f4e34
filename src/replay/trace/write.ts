/** Writes traces as JSON lines. */
import { createWriteStream, type PathLike, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { TraceEvent, TraceHeader } from './trace.ts';

/** Number of characters per write. Writing each line separately takes several times as long. */
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
 * Writes a trace, compressed with gzip if the path ends in `.gz`. The file replaces an earlier file only when it is
 * complete.
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

/** Returns false for pipes and devices, which are written directly. */
function isReplaceable(path: PathLike): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
}
