/**
 * The pod that a thread is working on, in shared memory. Another thread can read it even if the working thread does not respond
 * because it is in an endless loop or dead.
 */
import type { Pod } from '#api/objects';
import { podKey } from '#engine/model';

/** Maximum length of a key: a namespace of 63 characters, a slash and a name of 253 characters. */
const MOST_BYTES = 320;
const LENGTH = 0;
const HEADER_BYTES = 4;

export type SharedBoard = SharedArrayBuffer;

export const newBoard = (): SharedBoard => new SharedArrayBuffer(HEADER_BYTES + MOST_BYTES);

/**
 * Creates the writer for the working thread. A pod is written at each attempt to place it, so writing must be fast. Names are
 * ASCII.
 */
export function boardWriter(board: SharedBoard): { working(pod: Pod): void; idle(): void } {
  const header = new Int32Array(board, 0, 1);
  const text = new Uint8Array(board, HEADER_BYTES);
  return {
    working(pod) {
      const key = podKey(pod);
      const length = Math.min(key.length, MOST_BYTES);
      for (let at = 0; at < length; at++) text[at] = key.charCodeAt(at);
      Atomics.store(header, LENGTH, length);
    },
    idle: () => void Atomics.store(header, LENGTH, 0),
  };
}

/** Returns the namespaced name of the pod in progress, or undefined if the thread is idle. */
export function podOnBoard(board: SharedBoard): string | undefined {
  const length = Atomics.load(new Int32Array(board, 0, 1), LENGTH);
  if (length === 0) return undefined;
  return String.fromCharCode(...new Uint8Array(board, HEADER_BYTES).slice(0, length));
}
