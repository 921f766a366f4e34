/** Structural hashing with 64-bit FNV-1 sums, compatible with the drift annotations of existing installations. */

/** Halves of the offset basis. */
const OFFSET = [0xcbf29ce4, 0x84222325] as const;
/** Second summand of the prime. This is 2^40 + 435. */
const PRIME_REST = 435;
const MASK = 0xffffffffffffffffn;

/**
 * Computes the sum in halves of 32 bits. A bigint for each byte would take forty times as long, and user data can have a
 * megabyte.
 */
function fnv(bytes: Uint8Array): bigint {
  let [high, low]: [number, number] = [...OFFSET];
  for (const byte of bytes) {
    const product = low * PRIME_REST;
    high = (high * PRIME_REST + Math.floor(product / 2 ** 32) + ((low << 8) >>> 0)) % 2 ** 32;
    low = ((product >>> 0) ^ byte) >>> 0;
  }
  return (BigInt(high) << 32n) | BigInt(low);
}

function littleEndian(...values: readonly bigint[]): Uint8Array {
  const bytes = new Uint8Array(values.length * 8);
  const view = new DataView(bytes.buffer);
  values.forEach((value, index) => {
    view.setBigUint64(index * 8, value & MASK, true);
  });
  return bytes;
}

export const hashBytes = fnv;
export const hashText = (text: string): bigint => fnv(new TextEncoder().encode(text));
export const hashInt64 = (value: bigint | number): bigint => fnv(littleEndian(BigInt(value)));
export const hashInt32 = (value: number): bigint => fnv(littleEndian(BigInt(value)).subarray(0, 4));
export const hashFlag = (value: boolean): bigint => fnv(Uint8Array.of(value ? 1 : 0));

export const pair = (left: bigint, right: bigint): bigint => fnv(littleEndian(left, right));
/** Completes the hash of a map or of a field of a structure. */
export const finish = (sum: bigint): bigint => fnv(littleEndian(sum));

/** Hashes a list regardless of its order. Two equal items cancel each other. */
export const hashList = (items: readonly bigint[]): bigint => items.reduce((sum, item) => sum ^ item, 0n);

export const hashMap = (map: Readonly<Record<string, string>>): bigint =>
  finish(hashList(Object.entries(map).map(([key, value]) => pair(hashText(key), hashText(value)))));

/** Hashes a named structure from its fields in order. Skips fields without a hash. */
export function hashStruct(name: string, fields: readonly (readonly [string, bigint | undefined])[]): bigint {
  let sum = hashText(name);
  for (const [field, hash] of fields) {
    if (hash !== undefined) sum = finish(sum ^ pair(hashText(field), hash));
  }
  return sum;
}

/** Returns the hash of a value, or undefined if the value is absent. */
export const ifSet = <T>(value: T | undefined, hash: (value: T) => bigint): bigint | undefined =>
  value === undefined ? undefined : hash(value);

/** Returns the hash of a value, or undefined if the value is absent or has Go's zero value. */
export const ifNotZero = <T extends string | number | boolean>(
  value: T | undefined,
  hash: (value: T) => bigint,
): bigint | undefined => (value ? hash(value) : undefined);
