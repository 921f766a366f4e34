/**
 * Limits of slices. The API server enforces them, but templates do not pass through it, and a driver or a damaged cache must
 * not make the allocation expensive.
 */
import type { CounterSet, Device, DeviceAttribute } from '#api/objects';

const MOST = {
  devices: 128,
  /** With taints, counters or lists. */
  complexDevices: 64,
  names: 32,
  values: 48,
  text: 64,
  taints: 16,
  validValues: 10,
  consumptions: 2,
  counters: 32,
  counterSets: 8,
  conditions: 4,
  driver: 63,
  pool: 253,
};
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const ATTRIBUTE = /^(?:[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?\/)?[A-Za-z_][A-Za-z0-9_]{0,31}$/;
const UNSUPPORTED = ['nodeAllocatableResources', 'derivedAttributes', 'compatibilityGroups'] as const;

/** Part of a slice or of a template that describes devices. */
export interface DeviceList {
  readonly driver: string;
  readonly pool: string;
  readonly devices: readonly Device[];
  readonly sharedCounters: readonly CounterSet[];
}

/** Returns the first violation of the limits of the API, as `field: cause`, or undefined. */
export function listFault({ driver, pool, devices, sharedCounters }: DeviceList): string | undefined {
  if (driver.length > MOST.driver || !DNS_SUBDOMAIN.test(driver)) return 'driver: must be a DNS subdomain';
  if (pool.length > MOST.pool || !pool.split('/').every((part) => DNS_SUBDOMAIN.test(part)))
    return 'pool.name: must consist of DNS subdomains separated by slashes';
  const most = devices.some(isComplex) ? MOST.complexDevices : MOST.devices;
  if (devices.length > most) return `devices: must have at most ${most} items`;
  return firstOf(devices, 'devices', deviceFault) ?? countersFault(sharedCounters);
}

const isComplex = ({ taints = [], consumesCounters = [], attributes = {} }: Device): boolean =>
  taints.length > 0 ||
  consumesCounters.length > 0 ||
  // more attributes than the limit are refused in any case
  (Object.keys(attributes).length <= MOST.names &&
    Object.values(attributes).some((value) => listsOf(value).length > 0));

const listsOf = ({ ints, bools, strings, versions }: DeviceAttribute): readonly (readonly unknown[])[] =>
  [ints, bools, strings, versions].filter((list) => list !== undefined);

function firstOf<T>(items: readonly T[], field: string, faultOf: (item: T) => string | undefined): string | undefined {
  for (const [at, item] of items.entries()) {
    const fault = faultOf(item);
    if (fault !== undefined) return `${field}[${at}].${fault}`;
  }
  return undefined;
}

function deviceFault(device: Device): string | undefined {
  const { attributes = {}, capacity = {}, taints = [] } = device;
  if (!DNS_LABEL.test(device.name)) return 'name: must be a DNS label';
  const unsupported = UNSUPPORTED.find((field) => device[field] !== undefined);
  if (unsupported !== undefined) return `${unsupported}: uses ${unsupported}, which is not supported`;
  const names = [...Object.keys(attributes), ...Object.keys(capacity)];
  if (names.length > MOST.names) return `attributes: must have at most ${MOST.names} attributes and capacities`;
  if (!names.every((name) => ATTRIBUTE.test(name))) return 'attributes: a name is not valid';
  if (taints.length > MOST.taints) return `taints: must have at most ${MOST.taints} items`;
  return (
    attributesFault(Object.values(attributes)) ??
    policiesFault(device) ??
    consumptionFault(device) ??
    bindingFault(device)
  );
}

function attributesFault(attributes: readonly DeviceAttribute[]): string | undefined {
  const values = attributes.reduce((sum, value) => sum + (listsOf(value)[0]?.length ?? 1), 0);
  if (values > MOST.values) return `attributes: must have at most ${MOST.values} values`;
  const isLong = (text: unknown): boolean => typeof text === 'string' && Buffer.byteLength(text) > MOST.text;
  const hasLong = attributes.some((value) => [value.string, value.version, ...listsOf(value).flat()].some(isLong));
  return hasLong ? `attributes: must have at most ${MOST.text} bytes` : undefined;
}

function policiesFault({ capacity = {} }: Device): string | undefined {
  const policies = Object.values(capacity).flatMap(({ requestPolicy }) => requestPolicy ?? []);
  if (policies.some(({ validValues, validRange }) => validValues !== undefined && validRange !== undefined))
    return 'capacity: a policy must not have validValues and validRange';
  const isLong = policies.some(({ validValues = [] }) => validValues.length > MOST.validValues);
  return isLong ? `capacity: validValues must have at most ${MOST.validValues} items` : undefined;
}

function consumptionFault({ consumesCounters = [] }: Device): string | undefined {
  if (consumesCounters.length > MOST.consumptions)
    return `consumesCounters: must have at most ${MOST.consumptions} items`;
  const isLong = consumesCounters.some(({ counters }) => Object.keys(counters ?? {}).length > MOST.counters);
  return isLong ? `consumesCounters: must have at most ${MOST.counters} counters` : undefined;
}

function bindingFault({ bindingConditions = [], bindingFailureConditions = [] }: Device): string | undefined {
  const most = Math.max(bindingConditions.length, bindingFailureConditions.length);
  return most > MOST.conditions ? `bindingConditions: must have at most ${MOST.conditions} items` : undefined;
}

function countersFault(sets: readonly CounterSet[]): string | undefined {
  if (sets.length > MOST.counterSets) return `sharedCounters: must have at most ${MOST.counterSets} items`;
  return firstOf(sets, 'sharedCounters', ({ counters }) =>
    Object.keys(counters ?? {}).length > MOST.counters
      ? `counters: must have at most ${MOST.counters} items`
      : undefined,
  );
}
