/** Sends long responses in pieces, compressed if the client accepts gzip. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { GZIP, type Pieces, type Rendered } from './rendered-answer.ts';

/** Minimum length, in bytes, of a compressed response. A response that fits into one packet is not worth compressing. */
const SHORTEST = 1_400;

interface LongAnswer extends Rendered {
  readonly type: string;
}

/** Sends a response with status 200. Resolves when the client has read the response or has closed the connection. */
export async function send(request: IncomingMessage, response: ServerResponse, answer: LongAnswer): Promise<void> {
  const isWanted = answer.length >= SHORTEST && takesGzip(request.headers['accept-encoding']);
  const pieces = isWanted && !answer.isGzip ? await compress(answer.pieces) : answer.pieces;
  response.writeHead(200, {
    'content-type': answer.type,
    'content-length': isWanted ? sizeOf(pieces) : answer.length,
    ...(isWanted ? { 'content-encoding': 'gzip' } : {}),
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
  });
  const coding = answer.isGzip && !isWanted ? createGunzip() : new PassThrough();
  try {
    await pipeline(Readable.from(pieces), coding, response);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

const sizeOf = (pieces: Pieces): number => pieces.reduce((sum, { length }) => sum + length, 0);

/** Compresses the pieces on a thread of libuv's pool. */
const compress = (pieces: Pieces): Promise<Pieces> => Readable.from(pieces).pipe(createGzip(GZIP)).toArray();

/**
 * Returns true if a list of encodings such as `gzip;q=1.0, identity;q=0.5` accepts gzip. Quality 0 means that the client
 * does not accept an encoding.
 */
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
