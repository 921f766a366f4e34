/**
 * Which pod a thread is working on, in memory that another thread can read while the first one answers nothing: it may be
 * in a loop without end, or dead.
 */
import type { Pod } from '../api/kubernetes.ts';
import { podKey } from '../engine/pods.ts';

/** A namespace of 63 characters, a slash and a name of 253. */
const MOST_BYTES = 320;
const LENGTH = 0;
const HEADER_BYTES = 4;

export type SharedBoard = SharedArrayBuffer;

export const newBoard = (): SharedBoard => new SharedArrayBuffer(HEADER_BYTES + MOST_BYTES);

/** The side that works. A pod is written as often as it is tried, so that this has to be quick: names are ASCII. */
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

/** The namespaced name of the pod that is being worked on; undefined when it is none. */
export function podOnBoard(board: SharedBoard): string | undefined {
  const length = Atomics.load(new Int32Array(board, 0, 1), LENGTH);
  if (length === 0) return undefined;
  return String.fromCharCode(...new Uint8Array(board, HEADER_BYTES).slice(0, length));
}
