import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { hashBytes } from '../../../src/lib/fnv.ts';

/** Computes the hash by the definition of 64-bit FNV-1. */
function definition(bytes: Uint8Array): bigint {
  let sum = 0xcbf29ce484222325n;
  for (const byte of bytes) sum = ((sum * 0x100000001b3n) & 0xffffffffffffffffn) ^ BigInt(byte);
  return sum;
}

describe('hashBytes', () => {
  it('returns the 64-bit FNV-1 hash', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => hashBytes(bytes) === definition(bytes)));
  });

  it('does not create a bigint for each byte', () => {
    const { BigInt: original } = globalThis;
    let made = 0;
    globalThis.BigInt = Object.assign((value: never) => {
      made += 1;
      return original(value);
    }, original) as typeof BigInt;
    try {
      hashBytes(new Uint8Array(10_000));
    } finally {
      globalThis.BigInt = original;
    }
    expect(made).toBeLessThan(10);
  });
});
