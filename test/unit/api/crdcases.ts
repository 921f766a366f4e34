/**
 * Objects that a real API server (1.36) accepted, defaulted or rejected under Karpenter's CRDs, one per line of
 * `test/conformance/crd-cases.jsonl.gz`, and the outcome of this project's CRDs for each.
 */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { customResourceDefinitions } from '../../../src/api/crds.ts';
import { structuralSchema } from '../../../src/api/schema/structural.ts';

interface ExpectedCause {
  readonly field: string;
  readonly reason: string;
  readonly message: string;
  /** Message of the rule, if a rule is the cause. */
  readonly rule?: string;
}

type Json = Readonly<Record<string, unknown>>;

export interface CrdCase {
  readonly id: string;
  readonly kind: string;
  readonly note: string;
  readonly object: Json;
  readonly before?: Json;
  readonly subresource?: 'status' | 'scale';
  readonly strict?: boolean;
  readonly accepted: boolean;
  readonly causes?: readonly ExpectedCause[];
  readonly spec?: unknown;
  readonly status?: unknown;
}

export type Outcome =
  | { readonly accepted: true; readonly returned: unknown }
  | { readonly accepted: false; readonly causes: readonly ExpectedCause[] };

export const readCrdCases = (): CrdCase[] =>
  gunzipSync(readFileSync(new URL('../../conformance/crd-cases.jsonl.gz', import.meta.url)))
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): CrdCase => JSON.parse(line));

const schemas = new Map(
  customResourceDefinitions().map((crd) => [
    crd.spec.names.kind,
    structuralSchema(crd.spec.versions[0]?.schema.openAPIV3Schema, crd.spec.versions[0]?.subresources.scale),
  ]),
);

function schemaOf(kind: string) {
  const schema = schemas.get(kind);
  if (!schema) throw new Error(`No CRD declares kind ${kind}`);
  return schema;
}

/** Reason that a case requires a server: metadata, the request itself, or the scale subresource. */
export function needsServer(test: CrdCase): string | undefined {
  if (test.subresource === 'scale') return 'scale subresource';
  const { apiVersion, kind } = test.object;
  if (kind === undefined || apiVersion === undefined || kind !== test.kind) return 'kind of the request';
  return test.causes?.some(({ field }) => field.startsWith('metadata')) ? 'metadata' : undefined;
}

/** Returns the outcome of this project's CRD for the object of a case. */
export function outcomeOf(test: CrdCase): Outcome {
  const schema = schemaOf(test.kind);
  const prepare = (object: Json): Json => schema.applyDefaults(schema.prune(object).object);
  const { unknown } = schema.prune(test.object);
  if (test.strict && unknown.length > 0) {
    return { accepted: false, causes: [{ field: '', reason: 'BadRequest', message: unknown.join() }] };
  }
  const old = test.before && prepare(test.before);
  const object = stored(prepare(test.object), old, test.subresource === 'status');
  const causes = schema
    .validate(object, old, test.subresource === 'status' ? 'status' : undefined)
    .filter(({ message }) => !message.includes('some validation rules were not checked'))
    .map((cause) => ({ ...cause, field: cause.field === '<nil>' ? pathIn(cause.message) : cause.field }));
  if (causes.length > 0) return { accepted: false, causes };
  return { accepted: true, returned: test.subresource === 'status' ? object.status : object.spec };
}

/**
 * Merges a write with the stored object: writes of the object keep the old status, writes of the status keep the rest.
 */
function stored(sent: Json, old: Json | undefined, isStatus: boolean): Json {
  if (isStatus) return { ...old, status: sent.status };
  const { status: _ignored, ...rest } = sent;
  return old?.status === undefined ? rest : { ...rest, status: old.status };
}

/** Path in the message of a cause without a field. */
const pathIn = (message: string): string =>
  / in (\S+)$|: "(\S+)" must validate/.exec(message)?.slice(1).find(Boolean) ?? '';

const fieldsOf = (causes: readonly ExpectedCause[]): string[] => [...new Set(causes.map(({ field }) => field))].sort();

/** Returns the difference from the outcome of the real server, or undefined if they are equal. */
export function misjudged(test: CrdCase, outcome: Outcome): string | undefined {
  if (outcome.accepted) {
    if (!test.accepted) return `accepted, but must be rejected for ${JSON.stringify(test.causes)}`;
    const wanted = test.subresource === 'status' ? test.status : test.spec;
    return isDeepStrictEqual(outcome.returned, wanted)
      ? undefined
      : `returned ${JSON.stringify(outcome.returned)}, wanted ${JSON.stringify(wanted)}`;
  }
  const shown = JSON.stringify(outcome.causes);
  if (test.accepted) return `rejected for ${shown}`;
  const wanted = test.causes ?? [];
  if (!isDeepStrictEqual(fieldsOf(wanted), fieldsOf(outcome.causes))) {
    return `rejected for ${shown}, wanted fields ${fieldsOf(wanted).join(', ')}`;
  }
  const lost = wanted.find(
    ({ field, rule }) => rule && !outcome.causes.some((cause) => cause.field === field && cause.message.includes(rule)),
  );
  return lost && `rejected for ${shown}, wanted message ${lost.rule}`;
}

/** Returns the causes of the real server with another message here, as pairs of expected and actual message. */
export function otherWording(test: CrdCase, outcome: Outcome): string[] {
  if (outcome.accepted) return [];
  return (test.causes ?? [])
    .filter((cause) => !outcome.causes.some((own) => own.field === cause.field && own.message === cause.message))
    .map((cause) => {
      const own = outcome.causes.filter(({ field }) => field === cause.field).map(({ message }) => message);
      return `${cause.message} <> ${own.join(' | ')}`;
    });
}
