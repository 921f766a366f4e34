/** Kinds of faults, declared once for the types of tests and for the check of what `POST /_local/faults` receives. */
import { Type } from 'typebox';
import { checkSchema } from '../../api/schema/check.ts';
import { choice, type Declared, integer, object, optional, text } from '../../api/schema/declare.ts';
import { unknownFields } from '../../api/schema/file-faults.ts';
import type { OpenApiSchema } from '../../api/schema/openapi.ts';
import { own } from '../../lib/own.ts';

const name = text({ minLength: 1 });
/** May hold `*` and `?`. Every action if it is absent. */
const action = optional(name);
const times = optional(integer({ minimum: 1 }));
/** Share of the calls. */
const rate = optional(Type.Number({ minimum: 0, maximum: 1 }));
const ms = Type.Number({ minimum: 0 });
/** Capacity pools that a rule applies to. Each value may hold `*` and `?`; absent means every one. */
const POOL = {
  instanceType: optional(name),
  zone: optional(name),
  capacityType: optional(choice(['on-demand', 'spot', 'reserved'])),
};
const ofPool = object(POOL);
export type PoolMatch = Declared<typeof ofPool>;

const KINDS = {
  /** No more than `remaining` (default 0) further launches from the matching pools, taken together. */
  capacity: object({ ...POOL, remaining: optional(integer({ minimum: 0 })), code: optional(name) }),
  /** Calls fail with `code`: the next `times` calls, or a share `rate` of them, or all. */
  error: object({
    ...{ action: name, code: name, message: optional(name), status: optional(integer({ minimum: 1 })) },
    ...{ times, rate },
  }),
  /** Calls are throttled with the error that their service uses. */
  throttle: object({ action, times, rate }),
  /** Calls take effect, and their answers end in the middle. */
  malformed: object({ action, times, rate }),
  /** Calls are not carried out, and the answer lists no items. */
  empty: object({ action: name, times }),
  /** Connections are reset: before a call takes effect (`request`), or after that, instead of the answer (default). */
  reset: object({ action, lost: optional(choice(['request', 'answer'])), times, rate }),
  /** Every service refuses the caller's credentials as expired. */
  'expired-credentials': object({ times }),
  /** Answers take `ms` longer. */
  latency: object({ action, ms, times }),
  /** Kubelets of matching new instances start `ms` later. */
  'slow-boot': object({ ...POOL, ms, times }),
  /** Matching new instances are unknown to DescribeInstances, TerminateInstances and CreateTags for `ms`. */
  invisible: object({ ...POOL, ms, times }),
  /** Reads of matching new instances show no tags, and filters on tags miss them, for `ms`. */
  'late-tags': object({ ...POOL, ms, times }),
  /** Matching new instances run but never join the cluster. */
  'never-joins': object({ ...POOL, times }),
  /** The account lacks the spot service-linked role and may not create it. */
  'no-spot-role': object({}),
};

type Kinds = typeof KINDS;

/** A fault that stays until it is cleared or used up. */
export type FaultRule = { [K in keyof Kinds]: { readonly kind: K } & Declared<Kinds[K]> }[keyof Kinds];

/** @throws RangeError that names the kind, the field and what it must be */
export function checkRule({ kind, ...fields }: FaultRule): void {
  const schema = own(KINDS, kind) as OpenApiSchema | undefined;
  if (schema === undefined)
    throw new RangeError(`Cannot add a fault of kind "${kind}": use one of ${Object.keys(KINDS).join(', ')}`);
  const known = Object.keys(schema.properties ?? {}).join(', ') || 'none';
  const [unknown] = unknownFields(fields, schema).map((wrong) => `${wrong} (fields: ${known})`);
  const [cause] = checkSchema(schema, fields).map(({ field, message }) => `${field}: ${message}`);
  const wrong = unknown ?? cause;
  if (wrong !== undefined) throw new RangeError(`Cannot add a fault of kind "${kind}": ${wrong}`);
}
