/** Removes values from responses that differ between servers: IDs, times, versions, random suffixes. */
import type { Answer } from '../harness/http.ts';
import type { Json } from './script.ts';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const UID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
const AGE = /^(<invalid>|\d+[smhd]\d*[smhd]?)$/;

/** Keys with server-specific values. */
const OPAQUE = new Set(['resourceVersion', 'continue', 'uid']);

/** Annotations that controllers write asynchronously. */
const BY_CONTROLLERS = new Set(['node.alpha.kubernetes.io/ttl', 'deployment.kubernetes.io/revision']);

function normalText(text: string, uids: Map<string, string>): string {
  if (TIME.test(text)) return 'TIME';
  if (AGE.test(text)) return 'AGE';
  return text
    .replace(UID, (uid) => {
      const known = uids.get(uid) ?? `UID-${uids.size + 1}`;
      uids.set(uid, known);
      return known;
    })
    .replace(/resource version: \d+( \(\d+\))?/g, 'resource version: N')
    .replace(/in record \(\d+\)/g, 'in record (N)');
}

export function normal(value: unknown, uids: Map<string, string> = new Map()): unknown {
  if (typeof value === 'string') return normalText(value, uids);
  if (Array.isArray(value)) return value.map((item) => normal(item, uids));
  if (typeof value !== 'object' || value === null) return value;
  const { generateName } = value as Json;
  const isColumn = 'priority' in value && 'format' in value;
  return Object.fromEntries(
    Object.entries(value)
      // Managed fields are compared in the cases of server-side apply.
      .filter(([key]) => key !== 'managedFields')
      // The descriptions of built-in columns are texts of the Kubernetes reference.
      .filter(([key, part]) => !(isColumn && key === 'description' && !String(part).startsWith('Custom resource')))
      .filter(([key]) => !BY_CONTROLLERS.has(key))
      .map(([key, part]) => {
        if (OPAQUE.has(key) && typeof part === 'string') return [key, part === '' ? '' : 'OPAQUE'];
        if (key === 'name' && typeof generateName === 'string') return [key, `${generateName}SUFFIX`];
        return [key, normal(part, uids)];
      })
      .filter(([key, part]) => !(key === 'annotations' && JSON.stringify(part) === '{}')),
  );
}

/** Returns the part of a response that is compared. `wording` excludes the texts of an error and its causes. */
export const comparable = ({ code, contentType, body }: Answer, wording: boolean): unknown => {
  const same = normal(body);
  return {
    code,
    contentType: contentType.replace(/;\s*charset=utf-8/, ''),
    body: wording ? same : withoutWording(same),
  };
};

interface Failure {
  readonly message?: unknown;
  readonly details?: { readonly causes?: readonly { readonly field?: string; readonly reason?: string }[] };
}

function withoutWording(body: unknown): unknown {
  const { message: _message, ...rest } = body as Failure;
  const causes = rest.details?.causes;
  if (causes === undefined) return rest;
  // Several rules may report the same error.
  const named = [...new Set(causes.map(({ field, reason }) => `${reason} ${field}`))].sort();
  return { ...rest, details: { ...rest.details, causes: named } };
}
