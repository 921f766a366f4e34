/** Structural hashing over 64-bit FNV-1 sums, as drift annotations of running installations carry them. */

/** Halves of the offset basis. */
const OFFSET = [0xcbf29ce4, 0x84222325] as const;
/** The prime is 2^40 + 435. */
const PRIME_REST = 435;
const MASK = 0xffffffffffffffffn;

/** In halves of 32 bits: a bigint for each byte takes forty times as long, and users write a megabyte of user data. */
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
