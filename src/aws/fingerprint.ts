import { createHash } from 'node:crypto';

/** Returns JSON with sorted keys and without undefined members. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  return isFields(value) ? membersJson(value, canonicalJson) : (JSON.stringify(value) ?? 'null');
}

/** Returns canonical JSON with sorted lists, so that values that differ only in list order have the same text. */
function orderlessJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(orderlessJson).sort().join(',')}]`;
  if (value instanceof Uint8Array) return canonicalJson(value);
  return isFields(value) ? membersJson(value, orderlessJson) : (JSON.stringify(value) ?? 'null');
}

const isFields = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === 'object';

function membersJson(fields: Record<string, unknown>, write: (value: unknown) => string): string {
  let members = '';
  for (const key of Object.keys(fields).sort()) {
    const member = fields[key];
    if (member !== undefined) members += `${members === '' ? '' : ','}${JSON.stringify(key)}:${write(member)}`;
  }
  return `{${members}}`;
}

const digest = (json: string): Buffer => createHash('sha256').update(json).digest();

/** Returns a hash of 32 hex digits. The order of lists matters. */
export const fingerprint = (value: unknown): string => digest(canonicalJson(value)).toString('hex', 0, 16);

/** Returns the same kind of hash, but the order of lists does not matter. */
export const setFingerprint = (value: unknown): string => digest(orderlessJson(value)).toString('hex', 0, 16);

/** Returns a hash as an unsigned 64-bit decimal number. The order of lists does not matter. */
export const decimalFingerprint = (value: unknown): string =>
  digest(orderlessJson(value)).readBigUInt64BE(0).toString();
