/** Long answers: made in steps between which others have their turn, once for all who ask within a while. */
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { constants, createGzip } from 'node:zlib';

/** Longest time, in milliseconds, that a step may keep the others waiting. */
const STEP_MS = 4;
/** Texts are gathered to pieces of about this length. */
const PIECE_LENGTH = 64 * 1024;
/** What lies deeper is short, and written at once. */
const DEPTH = 2;
/** Names of labels repeat so much that more effort saves little. */
export const GZIP = { level: constants.Z_BEST_SPEED, chunkSize: PIECE_LENGTH };

/** Megabytes that lie together are held twice while they are put together, and nothing else happens meanwhile. */
export type Pieces = readonly Buffer[];

/**
 * An answer that is longer than a piece is compressed as it is made, by a thread of libuv's pool, and held in no other form:
 * 54 MB of text would have V8 mark its whole heap for each scrape, in steps of tens of milliseconds.
 */
export interface Rendered {
  readonly pieces: Pieces;
  readonly isGzip: boolean;
  /** Bytes of the text, compressed or not. */
  readonly length: number;
}

/** Milliseconds that only ever grow. */
type Now = () => number;
const realNow: Now = () => performance.now();

/** JSON of plain data. An iterable that is not an array is written as a list, and asked for one item after the other. */
export async function jsonInSteps(value: unknown): Promise<Rendered> {
  return inSteps(jsonParts(value, 0));
}

/** All texts, with pauses between them. */
export async function inSteps(parts: Iterable<string> | AsyncIterable<string>, now = realNow): Promise<Rendered> {
  const pieces = piecesOf(parts, now);
  const first = await pieces.next();
  if (first.done) return { pieces: [], isGzip: false, length: 0 };
  const second = await pieces.next();
  if (second.done) return { pieces: [first.value], isGzip: false, length: first.value.length };
  const all = async function* (): AsyncGenerator<Buffer> {
    yield first.value;
    yield second.value;
    yield* pieces;
  };
  const gzip = createGzip(GZIP);
  const compressed = await pipeline(all, gzip, (chunks) => Array.fromAsync<Buffer>(chunks));
  return { pieces: compressed, isGzip: true, length: gzip.bytesWritten };
}

async function* piecesOf(parts: Iterable<string> | AsyncIterable<string>, now: Now): AsyncGenerator<Buffer> {
  let piece = '';
  let startedMs = now();
  for await (const part of parts) {
    piece += part;
    if (piece.length > PIECE_LENGTH) {
      yield Buffer.from(piece);
      piece = '';
    }
    if (now() - startedMs < STEP_MS) continue;
    await nextTurn();
    startedMs = now();
  }
  if (piece !== '') yield Buffer.from(piece);
}

function* jsonParts(value: unknown, depth: number): Generator<string> {
  if (typeof value !== 'object' || value === null || depth > DEPTH) {
    yield JSON.stringify(value) ?? 'null';
  } else if (Symbol.iterator in value) {
    let separator = '';
    yield '[';
    for (const item of value as Iterable<unknown>) {
      yield separator;
      yield* jsonParts(item, depth + 1);
      separator = ',';
    }
    yield ']';
  } else if ('toJSON' in value) {
    yield JSON.stringify(value) ?? 'null';
  } else {
    let separator = '';
    yield '{';
    for (const [key, item] of Object.entries(value)) {
      if (item === undefined) continue;
      yield `${separator}${JSON.stringify(key)}:`;
      yield* jsonParts(item, depth + 1);
      separator = ',';
    }
    yield '}';
  }
}

/** For how many times as long as it took to make it, an answer is given to others: a share of a tenth of the thread. */
const KEPT_TIMES = 10;

/** Makes an answer when somebody asks, and gives it to all who ask meanwhile or soon afterwards. */
export function sharedAnswer(make: () => Promise<Rendered>, now: Now = realNow): () => Promise<Rendered> {
  let present: { readonly made: Promise<Rendered>; untilMs: number } | undefined;
  let forgetting: NodeJS.Timeout | undefined;
  return () => {
    if (present !== undefined && now() < present.untilMs) return present.made;
    // its timer would hold the old answer for as long as it has to run
    clearTimeout(forgetting);
    const startedMs = now();
    const started = { made: make(), untilMs: Number.POSITIVE_INFINITY };
    present = started;
    const forget = (): void => {
      if (present === started) present = undefined;
    };
    started.made.then(() => {
      const keepMs = KEPT_TIMES * (now() - startedMs);
      started.untilMs = now() + keepMs;
      // it may be megabytes, and nobody else may ever ask
      if (present === started) forgetting = setTimeout(forget, keepMs).unref();
    }, forget);
    return started.made;
  };
}
