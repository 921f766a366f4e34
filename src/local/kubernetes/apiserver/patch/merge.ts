/** JSON merge patch, RFC 7386. */
import { own, put } from '#lib';
import { isRecord, type Json } from '../json.ts';

/** Returns the patched target. Changes neither argument. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const out: Json = isRecord(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete out[name];
    else put(out, name, applyMergePatch(own(out, name), value));
  }
  return out;
}
