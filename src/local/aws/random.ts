/** Repeatable randomness: the same seed gives the same prices, ids and faults. */

/** A number in [0, 1) that depends on the parts alone. FNV-1a, then the finaliser of MurmurHash3. */
export function chance(...parts: readonly (string | number)[]): number {
  let hash = 0x811c9dc5;
  for (const character of parts.join('\u0000')) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** `prefix-` and 17 hexadecimal digits, as EC2 names things. */
  id(prefix: string): string;
  uuid(): string;
}

const HEX = '0123456789abcdef';

/** A stream of numbers from a seed (mulberry32). */
export function randomStream(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
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
