/** Kinds of faults. One declaration defines the types for tests and validates requests to `POST /_local/faults`. */
import {
  checkSchema,
  choice,
  type Declared,
  integer,
  number,
  type OpenApiSchema,
  object,
  optional,
  text,
  unknownFields,
} from '#api/schema';
import { own } from '#lib';

const name = text({ minLength: 1 });
/** May contain `*` and `?`. Absent: all actions. */
const action = optional(name);
const times = optional(integer({ minimum: 1 }));
/** Share of the calls. */
const rate = optional(number({ minimum: 0, maximum: 1 }));
const ms = number({ minimum: 0 });
/** Capacity pools of a rule. Each value may contain `*` and `?`; absent means all values. */
const POOL = {
  instanceType: optional(name),
  zone: optional(name),
  capacityType: optional(choice(['on-demand', 'spot', 'reserved'])),
};
const ofPool = object(POOL);
export type PoolMatch = Declared<typeof ofPool>;

const KINDS = {
  /** Limits further launches from all matching pools together to `remaining` (default 0). */
  capacity: object({ ...POOL, remaining: optional(integer({ minimum: 0 })), code: optional(name) }),
  /** Calls fail with `code`: the next `times` calls, or a share `rate` of them, or all. */
  error: object({
    action: name,
    code: name,
    message: optional(name),
    status: optional(integer({ minimum: 1 })),
    times,
    rate,
  }),
  /** Calls are throttled with the error of their service. */
  throttle: object({ action, times, rate }),
  /** Calls take effect, but their responses are truncated. */
  malformed: object({ action, times, rate }),
  /** Calls do not take effect, and the response contains empty lists. */
  empty: object({ action: name, times }),
  /**
   * Connections are reset before a call takes effect (`request`), or after the call and before its response (default).
   */
  reset: object({ action, lost: optional(choice(['request', 'answer'])), times, rate }),
  /** Every service rejects the caller's credentials as expired. */
  'expired-credentials': object({ times }),
  /** Responses take `ms` longer. */
  latency: object({ action, ms, times }),
  /** Kubelets of matching new instances start `ms` later. */
  'slow-boot': object({ ...POOL, ms, times }),
  /** Matching new instances do not exist for DescribeInstances, TerminateInstances and CreateTags for `ms`. */
  invisible: object({ ...POOL, ms, times }),
  /** Read requests return no tags of matching new instances, and filters on tags do not match them, for `ms`. */
  'late-tags': object({ ...POOL, ms, times }),
  /** Matching new instances run but never join the cluster. */
  'never-joins': object({ ...POOL, times }),
  /** Instances whose ID matches cannot be terminated. EC2 then rejects requests that contain one of them. */
  'refuse-termination': object({ instance: name, code: optional(name) }),
  /** The service-linked role for spot instances does not exist, and the account is not permitted to create it. */
  'no-spot-role': object({}),
};

type Kinds = typeof KINDS;

export const FAULT_KINDS: readonly string[] = Object.keys(KINDS);

/** Fault that remains active until it is cleared or used up. */
export type FaultRule = { [K in keyof Kinds]: { readonly kind: K } & Declared<Kinds[K]> }[keyof Kinds];

/** @throws RangeError with the kind, the field and the expected value */
export function checkRule({ kind, ...fields }: FaultRule): void {
  const schema = own(KINDS, kind) as OpenApiSchema | undefined;
  if (schema === undefined)
    throw new RangeError(`Cannot add a fault of kind "${kind}": use one of ${FAULT_KINDS.join(', ')}`);
  const known = Object.keys(schema.properties ?? {}).join(', ') || 'none';
  const [unknown] = unknownFields(fields, schema).map((wrong) => `${wrong} (fields: ${known})`);
  const [cause] = checkSchema(schema, fields).map(({ field, message }) => `${field}: ${message}`);
  const wrong = unknown ?? cause;
  if (wrong !== undefined) throw new RangeError(`Cannot add a fault of kind "${kind}": ${wrong}`);
}
