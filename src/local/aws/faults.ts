/** Faults that a test or a visitor switches on while the local AWS runs. */
import { wildcard } from './filters.ts';
import type { Random } from './random.ts';
import type { CapacityType, FaultRule, PoolMatch } from './types.ts';
import { AwsError } from './wire/error.ts';

export interface Pool {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
}

export interface FaultBook {
  add(rule: FaultRule): string;
  clear(id?: string): void;
  list(): readonly { readonly id: string; readonly rule: FaultRule; readonly left?: number }[];
  /** What happens to a call: the delay of its answer, and the error that it gets instead of one. Uses rules up. */
  onCall(service: string, action: string): { readonly delayMs: number; readonly error: AwsError | undefined };
  /** The error of the first capacity rule that has nothing left for this pool. */
  shortage(pool: Pool): AwsError | undefined;
  /** Counts a launch against the capacity rules of its pool. */
  launched(pool: Pool): void;
  /** How a new machine of the pool boots. Uses rules up. */
  boot(pool: Pool): { readonly joins: boolean; readonly bootDelayMs: number };
  isSpotRoleMissing(): boolean;
}

interface Entry {
  readonly id: string;
  readonly rule: FaultRule;
  /** Uses left; undefined means without end. */
  left: number | undefined;
}

export function faultBook(random: Random): FaultBook {
  const entries: Entry[] = [];
  let added = 0;

  const spend = (entry: Entry): void => {
    if (entry.left === undefined) return;
    entry.left -= 1;
    // an exhausted capacity rule goes on refusing; every other rule is over once used up
    if (entry.left <= 0 && entry.rule.kind !== 'capacity') entries.splice(entries.indexOf(entry), 1);
  };
  const take = (entry: Entry): Entry => {
    spend(entry);
    return entry;
  };

  return {
    add(rule) {
      checkRule(rule);
      added += 1;
      const id = `fault-${added}`;
      const left = rule.kind === 'capacity' ? (rule.remaining ?? 0) : 'times' in rule ? rule.times : undefined;
      entries.push({ id, rule, left });
      return id;
    },
    clear(id) {
      const kept = id === undefined ? [] : entries.filter((entry) => entry.id !== id);
      entries.splice(0, entries.length, ...kept);
    },
    list: () => entries.map(({ id, rule, left }) => (left === undefined ? { id, rule } : { id, rule, left })),

    onCall(service, action) {
      let delayMs = 0;
      for (const entry of [...entries]) {
        const { rule } = entry;
        if (rule.kind === 'latency' && wildcard(rule.action ?? '*')(action)) {
          take(entry);
          delayMs += rule.ms;
        }
      }
      for (const entry of [...entries]) {
        const error = callError(entry.rule, service, action, random);
        if (!error) continue;
        take(entry);
        return { delayMs, error };
      }
      return { delayMs, error: undefined };
    },

    shortage(pool) {
      for (const { rule, left } of entries) {
        if (rule.kind === 'capacity' && left === 0 && matchesPool(rule, pool)) return shortageError(pool, rule.code);
      }
      return undefined;
    },
    launched(pool) {
      for (const entry of entries) {
        if (entry.rule.kind === 'capacity' && entry.left && matchesPool(entry.rule, pool)) spend(entry);
      }
    },
    boot(pool) {
      let joins = true;
      let bootDelayMs = 0;
      for (const entry of [...entries]) {
        const { rule } = entry;
        if (rule.kind === 'never-joins' && matchesPool(rule, pool)) {
          take(entry);
          joins = false;
        }
        if (rule.kind === 'slow-boot' && matchesPool(rule, pool)) {
          take(entry);
          bootDelayMs += rule.ms;
        }
      }
      return { joins, bootDelayMs };
    },
    isSpotRoleMissing: () => entries.some(({ rule }) => rule.kind === 'no-spot-role'),
  };
}

function callError(rule: FaultRule, service: string, action: string, random: Random): AwsError | undefined {
  if (rule.kind !== 'error' && rule.kind !== 'throttle') return undefined;
  if (!wildcard(rule.action ?? '*')(action)) return undefined;
  if (rule.rate !== undefined && random.next() >= rule.rate) return undefined;
  return rule.kind === 'throttle'
    ? throttled(service)
    : new AwsError(rule.code, rule.message ?? `${action} failed with ${rule.code}`, rule.status ?? statusOf(rule.code));
}

/** Each service has its own words for "too many calls". */
export function throttled(service: string): AwsError {
  if (service === 'ec2') return new AwsError('RequestLimitExceeded', 'Request limit exceeded.', 503);
  if (service === 'iam' || service === 'sts') return new AwsError('Throttling', 'Rate exceeded', 400);
  return new AwsError('ThrottlingException', 'Rate exceeded', 400);
}

function statusOf(code: string): number {
  if (code === 'RequestLimitExceeded' || code === 'Unavailable' || code === 'ServiceUnavailable') return 503;
  if (code === 'InternalError' || code === 'InternalFailure' || code === 'InsufficientInstanceCapacity') return 500;
  if (code === 'UnauthorizedOperation' || code === 'AccessDenied' || code === 'AccessDeniedException') return 403;
  return 400;
}

/** Whether a pool is one of those that the rule means. */
export const matchesPool = (match: PoolMatch, pool: Pool): boolean =>
  wildcard(match.instanceType ?? '*')(pool.instanceType) &&
  wildcard(match.zone ?? '*')(pool.zone) &&
  (match.capacityType === undefined || match.capacityType === pool.capacityType);

function shortageError({ instanceType, zone, capacityType }: Pool, code: string | undefined): AwsError {
  if (code && code !== 'InsufficientInstanceCapacity') {
    return new AwsError(code, `No ${capacityType} capacity for ${instanceType} in ${zone}`);
  }
  const message =
    capacityType === 'spot'
      ? 'There is no Spot capacity available that matches your request.'
      : `We currently do not have sufficient ${instanceType} capacity in the Availability Zone you requested (${zone}). ` +
        'Our system will be working on provisioning additional capacity.';
  return new AwsError('InsufficientInstanceCapacity', message, 500);
}

type Check = (value: unknown) => boolean;
const text: Check = (value) => typeof value === 'string' && value !== '';
const count: Check = (value) => Number.isInteger(value) && (value as number) >= 0;
const positive: Check = (value) => Number.isInteger(value) && (value as number) >= 1;
const share: Check = (value) => typeof value === 'number' && value >= 0 && value <= 1;
const milliseconds: Check = (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0;
const capacity: Check = (value) => value === 'spot' || value === 'on-demand' || value === 'reserved';

const POOL: Readonly<Record<string, Check>> = { instanceType: text, zone: text, capacityType: capacity };
const FIELDS: Readonly<Record<FaultRule['kind'], Readonly<Record<string, Check>>>> = {
  capacity: { ...POOL, remaining: count, code: text },
  error: { action: text, code: text, message: text, status: positive, times: positive, rate: share },
  throttle: { action: text, times: positive, rate: share },
  latency: { action: text, ms: milliseconds, times: positive },
  'slow-boot': { ...POOL, ms: milliseconds, times: positive },
  'never-joins': { ...POOL, times: positive },
  'no-spot-role': {},
};
const REQUIRED: Readonly<Partial<Record<FaultRule['kind'], readonly string[]>>> = {
  error: ['action', 'code'],
  latency: ['ms'],
  'slow-boot': ['ms'],
};

/** Rules come from outside, too: over HTTP anything may arrive. */
function checkRule(rule: FaultRule): void {
  const fields = FIELDS[rule.kind];
  if (!fields) {
    throw new RangeError(`Cannot add a fault of kind "${rule.kind}": use one of ${Object.keys(FIELDS).join(', ')}`);
  }
  for (const [name, value] of Object.entries(rule)) {
    if (name === 'kind') continue;
    const check = fields[name];
    if (!check) {
      const allowed = Object.keys(fields).join(', ') || 'none';
      throw new RangeError(`Cannot add a ${rule.kind} fault: it has no field "${name}" (fields: ${allowed})`);
    }
    if (!check(value)) throw new RangeError(`Cannot add a ${rule.kind} fault: bad ${name} ${JSON.stringify(value)}`);
  }
  for (const name of REQUIRED[rule.kind] ?? []) {
    if (!(name in rule)) throw new RangeError(`Cannot add a ${rule.kind} fault: ${name} is missing`);
  }
}
