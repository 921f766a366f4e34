import { createHash } from 'node:crypto';

/** JSON with sorted keys; members that are undefined are left out. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  return isFields(value) ? membersJson(value, canonicalJson) : (JSON.stringify(value) ?? 'null');
}

/** The same with every list sorted, so that values which differ in list order only get one text. */
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

/** 32 hex digits that stand for a value; the order of lists counts. */
export const fingerprint = (value: unknown): string => digest(canonicalJson(value)).toString('hex', 0, 16);

/** As `fingerprint`, lists compared as sets. */
export const setFingerprint = (value: unknown): string => digest(orderlessJson(value)).toString('hex', 0, 16);

/** Decimal unsigned 64-bit number that stands for a value, lists compared as sets. */
export const decimalFingerprint = (value: unknown): string =>
  digest(orderlessJson(value)).readBigUInt64BE(0).toString();
