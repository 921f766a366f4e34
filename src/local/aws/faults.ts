/** Faults that a test or a user can add while the local AWS runs. */
import { nearestName, own } from '#lib';
import { checkRule, type FaultRule, type PoolMatch } from './fault-rules.ts';
import { wildcard } from './filters.ts';
import type { RandomStream } from './random.ts';
import type { Pool } from './types.ts';
import { AwsError } from './wire/error.ts';

/** Effect of faults on a call. */
export interface Disturbance {
  readonly delayMs: number;
  /** Response that replaces the call. */
  readonly error: AwsError | undefined;
  /**
   * Failure of the exchange. The call has no effect (`unheard`, `empty`), or it takes effect and the response is lost
   * or truncated.
   */
  readonly broken: 'unheard' | 'unanswered' | 'cut' | 'empty' | undefined;
}

export interface FaultBook {
  add(rule: FaultRule): string;
  clear(id?: string): void;
  list(): readonly { readonly id: string; readonly rule: FaultRule; readonly left?: number }[];
  /** Returns the effect on a call, and counts the uses of rules. */
  onCall(service: string, action: string): Disturbance;
  /** Returns the error of the first capacity rule without remaining launches for this pool. */
  shortage(pool: Pool): AwsError | undefined;
  /** Counts a launch against the capacity rules of its pool. */
  launched(pool: Pool): void;
  /**
   * Returns the time for which read requests hide a new instance of the pool, or its tags. Counts the uses of rules.
   */
  hidden(pool: Pool): { readonly machineMs: number; readonly tagsMs: number };
  /** Returns the boot behaviour of a new instance of the pool, and counts the uses of rules. */
  boot(pool: Pool): { readonly joins: boolean; readonly bootDelayMs: number };
  isSpotRoleMissing(): boolean;
  /** Returns the error of a request to terminate an instance. */
  termination(instanceId: string): AwsError | undefined;
}

interface Entry {
  readonly id: string;
  readonly rule: FaultRule;
  /** Remaining uses; undefined means unlimited. */
  left: number | undefined;
}

/** Names of the capacity pools of the account, for the check of patterns. */
interface PoolNames {
  readonly instanceTypes: () => readonly string[];
  readonly zones: () => readonly string[];
}

export const faultBook = (random: RandomStream, names?: PoolNames): FaultBook => new RuleBook(random, names);

class RuleBook implements FaultBook {
  readonly #random: RandomStream;
  readonly #names: PoolNames | undefined;
  #entries: readonly Entry[] = [];
  #added = 0;

  constructor(random: RandomStream, names: PoolNames | undefined) {
    this.#random = random;
    this.#names = names;
  }

  add(rule: FaultRule): string {
    checkRule(rule);
    this.#checkPatterns(rule);
    this.#added += 1;
    const id = `fault-${this.#added}`;
    const left = rule.kind === 'capacity' ? (rule.remaining ?? 0) : 'times' in rule ? rule.times : undefined;
    this.#entries = [...this.#entries, { id, rule, left }];
    return id;
  }

  /** @throws RangeError if a pattern has no match, because the fault would have no effect */
  #checkPatterns(rule: FaultRule): void {
    if (this.#names === undefined) return;
    for (const [field, names] of [
      ['instanceType', this.#names.instanceTypes],
      ['zone', this.#names.zones],
    ] as const) {
      const pattern = own(rule as PoolMatch, field);
      if (pattern === undefined || names().some(wildcard(pattern))) continue;
      const known = nearestName(pattern.replace(/[*?.]/g, ''), names()) ?? names()[0];
      throw new RangeError(
        `Cannot add a fault of kind "${rule.kind}": ${field}: "${pattern}" matches no known value; patterns are globs ` +
          `in which * matches any text and ? one character, for example "${known?.split('.')[0]}${field === 'zone' ? '' : '.*'}"`,
      );
    }
  }

  clear(id?: string): void {
    this.#entries = id === undefined ? [] : this.#entries.filter((entry) => entry.id !== id);
  }

  list(): ReturnType<FaultBook['list']> {
    return this.#entries.map(({ id, rule, left }) => (left === undefined ? { id, rule } : { id, rule, left }));
  }

  onCall(service: string, action: string): Disturbance {
    let delayMs = 0;
    for (const entry of this.#entries) {
      const { rule } = entry;
      if (rule.kind === 'latency' && wildcard(rule.action ?? '*')(action)) {
        this.#spend(entry);
        delayMs += rule.ms;
      }
    }
    for (const entry of this.#entries) {
      if (!strikes(entry.rule, action, this.#random)) continue;
      this.#spend(entry);
      return { delayMs, ...outcomeOf(entry.rule, service, action) };
    }
    return { delayMs, error: undefined, broken: undefined };
  }

  shortage(pool: Pool): AwsError | undefined {
    for (const { rule, left } of this.#entries) {
      if (rule.kind === 'capacity' && left === 0 && matchesPool(rule, pool)) return shortageError(pool, rule.code);
    }
    return undefined;
  }

  launched(pool: Pool): void {
    for (const entry of this.#entries) {
      if (entry.rule.kind === 'capacity' && entry.left && matchesPool(entry.rule, pool)) this.#spend(entry);
    }
  }

  hidden(pool: Pool): { readonly machineMs: number; readonly tagsMs: number } {
    return { machineMs: this.#sumOf('invisible', pool), tagsMs: this.#sumOf('late-tags', pool) };
  }

  boot(pool: Pool): { readonly joins: boolean; readonly bootDelayMs: number } {
    let joins = true;
    for (const entry of this.#entries) {
      if (entry.rule.kind !== 'never-joins' || !matchesPool(entry.rule, pool)) continue;
      this.#spend(entry);
      joins = false;
    }
    return { joins, bootDelayMs: this.#sumOf('slow-boot', pool) };
  }

  termination(instanceId: string): AwsError | undefined {
    for (const { rule } of this.#entries) {
      if (rule.kind !== 'refuse-termination' || !wildcard(rule.instance)(instanceId)) continue;
      const message = `The instance '${instanceId}' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.`;
      return new AwsError(rule.code ?? 'OperationNotPermitted', message, 400);
    }
    return undefined;
  }

  isSpotRoleMissing(): boolean {
    return this.#entries.some(({ rule }) => rule.kind === 'no-spot-role');
  }

  #spend(entry: Entry): void {
    if (entry.left === undefined) return;
    entry.left -= 1;
    // a capacity rule still refuses launches when it is used up; other rules are removed
    if (entry.left <= 0 && entry.rule.kind !== 'capacity') this.clear(entry.id);
  }

  /** Returns the sum of all rules of a kind for a pool, in milliseconds. */
  #sumOf(kind: 'slow-boot' | 'invisible' | 'late-tags', pool: Pool): number {
    let ms = 0;
    for (const entry of this.#entries) {
      const { rule } = entry;
      if (rule.kind !== kind || !matchesPool(rule, pool)) continue;
      this.#spend(entry);
      ms += rule.ms;
    }
    return ms;
  }
}

type CallRule = Extract<
  FaultRule,
  { kind: 'error' | 'throttle' | 'malformed' | 'empty' | 'reset' | 'expired-credentials' }
>;

const CALL_RULES = new Set<string>(['error', 'throttle', 'malformed', 'empty', 'reset', 'expired-credentials']);

/** Returns true if the rule applies to this call. A rule with a rate applies at random. */
function strikes(rule: FaultRule, action: string, random: RandomStream): rule is CallRule {
  if (!CALL_RULES.has(rule.kind)) return false;
  if ('action' in rule && !wildcard(rule.action ?? '*')(action)) return false;
  return !('rate' in rule) || rule.rate === undefined || random.next() < rule.rate;
}

function outcomeOf(rule: CallRule, service: string, action: string): Omit<Disturbance, 'delayMs'> {
  const failing = (error: AwsError): Omit<Disturbance, 'delayMs'> => ({ error, broken: undefined });
  switch (rule.kind) {
    case 'throttle':
      return failing(throttlingError(service));
    case 'expired-credentials':
      return failing(expiredCredentialsError(service));
    case 'malformed':
      return { error: undefined, broken: 'cut' };
    case 'empty':
      return { error: undefined, broken: 'empty' };
    case 'reset':
      return { error: undefined, broken: rule.lost === 'request' ? 'unheard' : 'unanswered' };
    default:
      return failing(
        new AwsError(
          rule.code,
          rule.message ?? `${action} failed with ${rule.code}`,
          rule.status ?? statusOf(rule.code),
        ),
      );
  }
}

/** Returns the service's error for expired credentials of a role. */
function expiredCredentialsError(service: string): AwsError {
  if (service === 'ec2') return new AwsError('RequestExpired', 'Request has expired.', 400);
  const message = 'The security token included in the request is expired';
  if (service === 'iam' || service === 'sts') return new AwsError('ExpiredToken', message, 403);
  return new AwsError('ExpiredTokenException', message, service === 'eks' ? 403 : 400);
}

/** Returns the service's throttling error. */
export function throttlingError(service: string): AwsError {
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

/** Returns true if the pool matches the rule. */
export const matchesPool = (match: PoolMatch, pool: Pool): boolean =>
  wildcard(match.instanceType ?? '*')(pool.instanceType) &&
  wildcard(match.zone ?? '*')(pool.zone) &&
  (match.capacityType === undefined || match.capacityType === pool.capacityType);

export function shortageError({ instanceType, zone, capacityType }: Pool, code?: string): AwsError {
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
