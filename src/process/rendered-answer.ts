/** Renders long responses in steps, so that other work runs between them, and shares a response between requests. */
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { constants, createGzip } from 'node:zlib';

/** Maximum time, in milliseconds, for which a step may block other work. */
const STEP_MS = 4;
/** Approximate length of a piece, in characters. Shorter texts are joined. */
const PIECE_LENGTH = 64 * 1024;
/** Maximum depth of values that are written in steps. Deeper values are short and are written in one step. */
const DEPTH = 2;
/** Lowest compression level. Label names repeat so often that a higher level would save little. */
export const GZIP = { level: constants.Z_BEST_SPEED, chunkSize: PIECE_LENGTH };

/**
 * Content of a response in pieces. If megabytes were joined, they would be in memory twice during that time, and no other
 * work could run.
 */
export type Pieces = readonly Buffer[];

/**
 * Rendered response. If it is longer than one piece, a thread of libuv's pool compresses it during rendering, and only the
 * compressed form is kept. If 54 MB of text were kept, V8 would mark its whole heap for each scrape, in steps of tens of
 * milliseconds.
 */
export interface Rendered {
  readonly pieces: Pieces;
  readonly isGzip: boolean;
  /** Length of the uncompressed text, in bytes. */
  readonly length: number;
}

/** Returns the monotonic time in milliseconds. */
type Now = () => number;
const realNow: Now = () => performance.now();

/**
 * Renders plain data as JSON. If an iterable is not an array, this function reads it one item at a time and writes it as a
 * list.
 */
export async function jsonInSteps(value: unknown): Promise<Rendered> {
  return inSteps(jsonParts(value, 0));
}

/** Renders all parts, with pauses between them. */
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

/**
 * Ratio of the time for which a response is kept to the time that it took to render. With this ratio, rendering takes about
 * a tenth of the thread's time.
 */
const KEPT_TIMES = 10;

/**
 * Returns a function that renders a response on demand. Calls during the rendering or soon afterwards share it.
 * @param rendering measures the rendering, which takes real time even if `now` is virtual
 */
export function sharedAnswer(
  make: () => Promise<Rendered>,
  now: Now = realNow,
  rendering: Now = now,
): () => Promise<Rendered> {
  let present: { readonly made: Promise<Rendered>; untilMs: number } | undefined;
  let forgetting: NodeJS.Timeout | undefined;
  return () => {
    if (present !== undefined && now() < present.untilMs) return present.made;
    // the timer would keep the old response in memory until it fires
    clearTimeout(forgetting);
    const startedMs = rendering();
    const started = { made: make(), untilMs: Number.POSITIVE_INFINITY };
    present = started;
    const forget = (): void => {
      if (present === started) present = undefined;
    };
    started.made.then(() => {
      const keepMs = KEPT_TIMES * (rendering() - startedMs);
      started.untilMs = now() + keepMs;
      // the response may be megabytes long, and no other call may follow
      if (present === started) forgetting = setTimeout(forget, keepMs).unref();
    }, forget);
    return started.made;
  };
}
