/** Reproducible random numbers. The same seed results in the same prices, ids and faults. */
import { pseudoRandom } from '#engine/model';

/** Returns a number in [0, 1) that depends only on the parts. It uses FNV-1a and the finalizer of MurmurHash3. */
export function chance(...parts: readonly (string | number)[]): number {
  let hash = 0x811c9dc5;
  for (const character of parts.join('\u0000')) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

export interface RandomStream {
  /** Returns a number in [0, 1). */
  next(): number;
  /** Returns `prefix-` with 17 hexadecimal digits, like ids of EC2. */
  id(prefix: string): string;
  uuid(): string;
}

const HEX = '0123456789abcdef';

/** Creates a stream of numbers from a seed. */
export function randomStream(seed: number): RandomStream {
  const next = pseudoRandom(seed);
  const hex = (digits: number): string => {
    let text = '';
    for (let digit = 0; digit < digits; digit++) text += HEX[Math.floor(next() * 16)];
    return text;
  };
  return {
    next,
    id: (prefix) => `${prefix}-0${hex(16)}`,
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
  };
}
