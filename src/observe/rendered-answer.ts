/** Long answers: made in steps between which others have their turn, once for all who ask within a while. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Longest time, in milliseconds, that a step may keep the others waiting. */
const STEP_MS = 5;
/** Texts are gathered to pieces of about this length. */
const PIECE_LENGTH = 64 * 1024;
/** What lies deeper is short, and written at once. */
const DEPTH = 2;

/** Megabytes that lie together are held twice while they are put together, and nothing else happens meanwhile. */
export type Pieces = readonly Buffer[];

/** JSON of plain data. An iterable that is not an array is written as a list, and asked for one item after the other. */
export async function jsonInSteps(value: unknown): Promise<Pieces> {
  return inSteps(jsonParts(value, 0));
}

/** All texts, with pauses between them. */
export async function inSteps(parts: Iterable<string> | AsyncIterable<string>): Promise<Pieces> {
  const pieces: Buffer[] = [];
  let piece = '';
  let startedMs = performance.now();
  for await (const part of parts) {
    piece += part;
    if (piece.length > PIECE_LENGTH) {
      pieces.push(Buffer.from(piece));
      piece = '';
    }
    if (performance.now() - startedMs < STEP_MS) continue;
    await nextTurn();
    startedMs = performance.now();
  }
  if (piece !== '') pieces.push(Buffer.from(piece));
  return pieces;
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
export function sharedAnswer(
  make: () => Promise<Pieces>,
  now: () => number = () => performance.now(),
): () => Promise<Pieces> {
  let present: { readonly made: Promise<Pieces>; untilMs: number } | undefined;
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
