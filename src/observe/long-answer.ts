/** Sends long answers in pieces, compressed for those who ask for it: once for all who are given the same pieces. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import type { Pieces } from './rendered-answer.ts';

/** Names of labels repeat so much that more effort saves little. */
const OPTIONS = { level: constants.Z_BEST_SPEED, chunkSize: 64 * 1024 };
/** Bytes that fit into a packet are not worth it. */
const SHORTEST = 1_400;

const known = new WeakMap<Pieces, Promise<Pieces>>();

export interface LongAnswer {
  readonly pieces: Pieces;
  readonly type: string;
}

/** Answers 200. Takes as long as the other end takes to read it; settles also when that goes away meanwhile. */
export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { pieces, type }: LongAnswer,
): Promise<void> {
  const isGzip = sizeOf(pieces) >= SHORTEST && takesGzip(request.headers['accept-encoding']);
  const body = isGzip ? await compressed(pieces) : pieces;
  response.writeHead(200, {
    'content-type': type,
    'content-length': sizeOf(body),
    ...(isGzip ? { 'content-encoding': 'gzip' } : {}),
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
  });
  try {
    await pipeline(Readable.from(body), response);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

const sizeOf = (pieces: Pieces): number => pieces.reduce((sum, { length }) => sum + length, 0);

/** The work is done by a thread of libuv's pool. */
function compressed(pieces: Pieces): Promise<Pieces> {
  const making = known.get(pieces) ?? Readable.from(pieces).pipe(createGzip(OPTIONS)).toArray();
  known.set(pieces, making);
  return making;
}

/** Whether a list such as `gzip;q=1.0, identity;q=0.5` has gzip; one with quality 0 is refused. */
export function takesGzip(header: string | readonly string[] | undefined): boolean {
  const codings = String(header ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.split(';').map((part) => part.trim()));
  const qualityOf = (wanted: string): number | undefined => {
    const found = codings.find(([name]) => name === wanted);
    if (found === undefined) return undefined;
    const quality = found.find((parameter) => parameter.startsWith('q='))?.slice('q='.length);
    return quality === undefined ? 1 : Number(quality);
  };
  return (qualityOf('gzip') ?? qualityOf('x-gzip') ?? qualityOf('*') ?? 0) > 0;
}
