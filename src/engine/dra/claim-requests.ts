/** Requests of claims in the form that the allocation reads, with everything that refuses a claim on every node. */

import { compileSelector, type Selector } from '#api/devices';
import type {
  DeviceClass,
  DeviceConstraint,
  DeviceRequest,
  DeviceRequestDetails,
  DeviceSelector,
  DeviceToleration,
  ResourceClaim,
} from '#api/objects';
import { messageOf } from '#lib';
import { amountOf } from './exact-amounts.ts';
import { shown } from './shown-text.ts';

/** Maximum number of devices of a claim, and of its requests, constraints and alternatives, as in the API. */
export const MOST_DEVICES = 32;
const MOST_REQUESTS = 32;
const MOST_ALTERNATIVES = 8;
/** Maximum number of characters of the selectors in a claim. Their compilation takes about a second. */
const MOST_SELECTOR_LENGTH = 100 * 1024;

/** The claim cannot be allocated on any node. */
export class ClaimError extends Error {}

export interface CompiledSelector {
  readonly text: string;
  readonly selector: Selector;
}

/** Exact request, or one alternative. */
export interface Alternative {
  /** `<request>` or `<request>/<alternative>`. */
  readonly name: string;
  readonly request: string;
  readonly className: string;
  /** Selectors of the class, followed by those of the request. */
  readonly selectors: readonly CompiledSelector[];
  /** Undefined if the request is for all devices. */
  readonly count: number | undefined;
  readonly isAdmin: boolean;
  readonly tolerations: readonly DeviceToleration[];
  /** Requested capacity by name as written. */
  readonly capacity: ReadonlyMap<string, bigint>;
}

export interface CompiledRequest {
  readonly name: string;
  readonly alternatives: readonly Alternative[];
}

export interface Constraint {
  readonly kind: 'match' | 'distinct';
  readonly attribute: string;
  /** Names of requests and alternatives. Undefined for all requests. */
  readonly requests: ReadonlySet<string> | undefined;
}

export interface CompiledClaim {
  readonly name: string;
  readonly requests: readonly CompiledRequest[];
  readonly constraints: readonly Constraint[];
  /** Number of characters of the selectors in the claim. */
  readonly selectorLength: number;
}

/** @throws {ClaimError} with the reason why no node can satisfy the claim */
export function compileClaim(
  { metadata, spec }: ResourceClaim,
  classes: ReadonlyMap<string, DeviceClass>,
): CompiledClaim {
  const { requests = [], constraints = [] } = spec?.devices ?? {};
  const named = `claim "${metadata.name}"`;
  if (requests.length > MOST_REQUESTS) throw new ClaimError(`${named}: has more than ${MOST_REQUESTS} requests`);
  if (constraints.length > MOST_REQUESTS) throw new ClaimError(`${named}: has more than ${MOST_REQUESTS} constraints`);
  const selectorLength = lengthOfSelectors(requests);
  if (selectorLength > MOST_SELECTOR_LENGTH)
    throw new ClaimError(
      `${named}: its selectors have ${selectorLength} characters, at most ${MOST_SELECTOR_LENGTH} are supported`,
    );
  const compiled = requests.map((request) => compiledRequest(request, named, classes));
  const least = compiled.reduce(
    (sum, { alternatives }) => sum + Math.min(...alternatives.map(({ count = 0 }) => count)),
    0,
  );
  if (least > MOST_DEVICES)
    throw new ClaimError(`${named} requests ${least} total devices, exceeding maximum of ${MOST_DEVICES}`);
  return {
    name: metadata.name,
    requests: compiled,
    constraints: constraints.map((constraint) => compiledConstraint(constraint, named)),
    selectorLength,
  };
}

const lengthOfSelectors = (requests: readonly DeviceRequest[]): number =>
  requests
    .flatMap(({ exactly, firstAvailable = [] }) => [...(exactly === undefined ? [] : [exactly]), ...firstAvailable])
    .flatMap(({ selectors = [] }) => selectors)
    .reduce((sum, { cel }) => sum + (cel?.expression.length ?? 0), 0);

function compiledConstraint(
  { requests, matchAttribute, distinctAttribute }: DeviceConstraint,
  named: string,
): Constraint {
  const attribute = matchAttribute ?? distinctAttribute;
  if (attribute === undefined || (matchAttribute !== undefined && distinctAttribute !== undefined))
    throw new ClaimError(`${named}: uses an unknown constraint, which is not supported`);
  return {
    kind: matchAttribute === undefined ? 'distinct' : 'match',
    attribute,
    requests: requests === undefined || requests.length === 0 ? undefined : new Set(requests),
  };
}

function compiledRequest(
  { name, exactly, firstAvailable }: DeviceRequest,
  claim: string,
  classes: ReadonlyMap<string, DeviceClass>,
): CompiledRequest {
  const named = `${claim} request "${name}"`;
  const isOne = (exactly === undefined) !== (firstAvailable === undefined);
  const { length } = firstAvailable ?? [0];
  if (!isOne || length === 0) throw new ClaimError(`${named}: only Exactly and FirstAvailable requests are supported`);
  if (length > MOST_ALTERNATIVES) throw new ClaimError(`${named}: has more than ${MOST_ALTERNATIVES} alternatives`);
  const all = firstAvailable?.map((details) => ({ details, full: `${name}/${details.name}` })) ?? [
    { details: exactly as DeviceRequestDetails, full: name },
  ];
  return {
    name,
    alternatives: all.map(({ details, full }) => alternativeOf(details, { full, request: name, named, classes })),
  };
}

interface AlternativeContext {
  readonly full: string;
  readonly request: string;
  readonly named: string;
  readonly classes: ReadonlyMap<string, DeviceClass>;
}

function alternativeOf(
  details: DeviceRequestDetails,
  { full, request, named, classes }: AlternativeContext,
): Alternative {
  const { deviceClassName: className, selectors = [], adminAccess, tolerations = [], capacity } = details;
  const deviceClass = classes.get(className);
  if (deviceClass === undefined) {
    const cause = `deviceclasses.resource.k8s.io "${className}" not found`;
    throw new ClaimError(`${named}: DeviceClass "${className}" not found: ${cause}`);
  }
  return {
    name: full,
    request,
    className,
    tolerations,
    selectors: [...(deviceClass.spec.selectors ?? []), ...selectors].map((each) => compiledSelector(each, named)),
    count: countOf(details, named),
    isAdmin: adminAccess === true,
    capacity: capacityOf(capacity?.requests, named),
  };
}

function countOf(
  { allocationMode = 'ExactCount', count = 1 }: DeviceRequestDetails,
  named: string,
): number | undefined {
  if (allocationMode === 'All') return undefined;
  if (allocationMode !== 'ExactCount')
    throw new ClaimError(`${named}: uses allocation mode ${shown(allocationMode)}, which is not supported`);
  if (!Number.isSafeInteger(count) || count < 1) throw new ClaimError(`${named}: the count must be a positive integer`);
  return count;
}

function compiledSelector({ cel }: DeviceSelector, named: string): CompiledSelector {
  if (cel === undefined) throw new ClaimError(`${named}: unsupported selector type (only CEL is supported)`);
  const { expression } = cel;
  try {
    return { text: expression, selector: compileSelector(expression) };
  } catch (error) {
    throw new ClaimError(`${named}: CEL expression "${shown(expression)}" failed to compile: ${messageOf(error)}`);
  }
}

function capacityOf(
  requests: NonNullable<DeviceRequestDetails['capacity']>['requests'],
  named: string,
): ReadonlyMap<string, bigint> {
  try {
    return new Map(Object.entries(requests ?? {}).map(([name, amount]) => [name, amountOf(amount)]));
  } catch (error) {
    throw new ClaimError(`${named}: capacity: ${messageOf(error)}`);
  }
}
