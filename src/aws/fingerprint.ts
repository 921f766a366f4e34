import { createHash } from 'node:crypto';

/** JSON with sorted keys; members that are undefined are left out. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** Sorts every list of a value, so that values which differ in list order only get one fingerprint. */
function orderless(value: unknown): unknown {
  if (Array.isArray(value)) return sorted(value.map(orderless));
  if (value !== null && typeof value === 'object' && !(value instanceof Uint8Array))
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, orderless(member)]));
  return value;
}

function sorted(items: readonly unknown[]): readonly unknown[] {
  const written = items.map((item) => ({ item, text: canonicalJson(item) }));
  return written.sort((a, b) => (a.text < b.text ? -1 : 1)).map(({ item }) => item);
}

const digest = (value: unknown): Buffer => createHash('sha256').update(canonicalJson(value)).digest();

/** 32 hex digits that stand for a value; the order of lists counts. */
export const fingerprint = (value: unknown): string => digest(value).toString('hex', 0, 16);

/** As `fingerprint`, lists compared as sets. */
export const setFingerprint = (value: unknown): string => fingerprint(orderless(value));

/** Decimal unsigned 64-bit number that stands for a value, lists compared as sets. */
export const decimalFingerprint = (value: unknown): string => digest(orderless(value)).readBigUInt64BE(0).toString();
