/** Structural hashing over 64-bit FNV-1 sums, as drift annotations of running installations carry them. */

const OFFSET = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;
const MASK = 0xffffffffffffffffn;

function fnv(bytes: Uint8Array): bigint {
  let sum = OFFSET;
  for (const byte of bytes) sum = ((sum * PRIME) & MASK) ^ BigInt(byte);
  return sum;
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
/** The last step of maps, and of each field of a structure. */
export const finish = (sum: bigint): bigint => fnv(littleEndian(sum));

/** Order does not count, and two equal items cancel each other. */
export const hashList = (items: readonly bigint[]): bigint => items.reduce((sum, item) => sum ^ item, 0n);

export const hashMap = (map: Readonly<Record<string, string>>): bigint =>
  finish(hashList(Object.entries(map).map(([key, value]) => pair(hashText(key), hashText(value)))));

/** Hashes a named structure from its fields in order; fields without a hash are left out. */
export function hashStruct(name: string, fields: readonly (readonly [string, bigint | undefined])[]): bigint {
  let sum = hashText(name);
  for (const [field, hash] of fields) {
    if (hash !== undefined) sum = finish(sum ^ pair(hashText(field), hash));
  }
  return sum;
}

/** Applies a hash function to a value that may be absent. */
export const ifSet = <T>(value: T | undefined, hash: (value: T) => bigint): bigint | undefined =>
  value === undefined ? undefined : hash(value);

/** The same for fields whose zero value counts as absent. */
export const ifNotZero = <T extends string | number | boolean>(
  value: T | undefined,
  hash: (value: T) => bigint,
): bigint | undefined => (value ? hash(value) : undefined);
