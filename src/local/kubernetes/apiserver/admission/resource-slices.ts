/** Validation of resource slices: the rules that drivers notice, with the messages of the API server. */
import { Semver } from '#api/values';
import { type ApiObject, at, isRecord, type Json, list, record, records, text } from '../json.ts';
import { duplicate, invalidValue, notSupported, requiredValue, type StatusCause, tooLong, tooMany } from '../status.ts';
import { labelNameError, subdomainError } from './names.ts';

const MOST_DEVICES = 128;
/** Maximum number of devices in a slice with taints or counters. */
const MOST_DETAILED = 64;
const MOST_ATTRIBUTES = 32;
const MOST_COUNTER_SETS = 8;
const MOST_TAINTS = 16;
const LONGEST_VALUE = 64;
const EFFECTS = ['NoExecute', 'NoSchedule', 'None'];
const SELECTIONS = ['nodeName', 'nodeSelector', 'allNodes', 'perDeviceNodeSelection'] as const;
const IMMUTABLE = [['driver'], ['nodeName'], ['pool', 'name']] as const;
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const NOT_AN_IDENTIFIER =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";

const hasValue = (value: unknown): boolean => value !== undefined && value !== '' && value !== false;

function driverCauses(driver: unknown): readonly StatusCause[] {
  if (text(driver) === '') return [requiredValue('spec.driver')];
  const wrong = subdomainError(text(driver));
  return wrong === undefined ? [] : [invalidValue('spec.driver', driver, wrong)];
}

function poolCauses({ name, generation, resourceSliceCount }: Json): readonly StatusCause[] {
  const causes: StatusCause[] = [];
  if (text(name) === '') causes.push(requiredValue('spec.pool.name'));
  const count = Number(resourceSliceCount ?? 0);
  if (count <= 0) causes.push(invalidValue('spec.pool.resourceSliceCount', count, 'must be greater than zero'));
  if (Number(generation ?? 0) < 0)
    causes.push(invalidValue('spec.pool.generation', generation, 'must be greater than or equal to zero'));
  return causes;
}

function selectionCauses(spec: Json): readonly StatusCause[] {
  const given = SELECTIONS.filter((name) => hasValue(spec[name]));
  const oneOf = `exactly one of ${SELECTIONS.map((name) => `\`${name}\``).join(', ')} is required`;
  if (given.length === 0) return [requiredValue('spec', oneOf)];
  if (given.length === 1) return [];
  const named = `{${given.map((name) => `\`${name}\``).join(', ')}}`;
  return [invalidValue('spec', named, `${oneOf}, but multiple fields are set`)];
}

function attributeCauses(attributes: Json, field: string): readonly StatusCause[] {
  return Object.entries(attributes).flatMap(([name, value]): readonly StatusCause[] => {
    const path = `${field}.attributes[${name}]`;
    const given = Object.values(record(value));
    if (given.length !== 1)
      return [invalidValue(path, given.length === 0 ? '' : value, 'exactly one value must be specified')];
    if (!IDENTIFIER.test(name.split('/').at(-1) ?? ''))
      return [invalidValue(`${field}.attributes`, name, NOT_AN_IDENTIFIER)];
    const { version, string } = record(value);
    for (const [kind, each] of Object.entries({ version, string }))
      if (typeof each === 'string' && Buffer.byteLength(each) > LONGEST_VALUE)
        return [tooLong(`${path}.${kind}`, LONGEST_VALUE)];
    if (typeof version === 'string' && Semver.parse(version) === undefined)
      return [invalidValue(`${path}.version`, version, 'must be a string compatible with semver.org spec 2.0.0')];
    return [];
  });
}

function taintCauses(taints: readonly Json[], field: string): readonly StatusCause[] {
  const wrong = taints.flatMap(({ effect }, index) =>
    EFFECTS.includes(text(effect)) ? [] : [notSupported(`${field}.taints[${index}].effect`, text(effect), EFFECTS)],
  );
  return taints.length > MOST_TAINTS ? [tooMany(`${field}.taints`, taints.length, MOST_TAINTS), ...wrong] : wrong;
}

function deviceCauses(device: Json, field: string): readonly StatusCause[] {
  const causes: StatusCause[] = [];
  const wrong = labelNameError(text(device.name));
  if (wrong !== undefined) causes.push(invalidValue(`${field}.name`, text(device.name), wrong));
  const attributes = record(device.attributes);
  const count = Object.keys(attributes).length + Object.keys(record(device.capacity)).length;
  if (count > MOST_ATTRIBUTES) {
    const detail = `the total number of attributes and capacities must not exceed ${MOST_ATTRIBUTES}`;
    causes.push(invalidValue(field, count, detail));
  }
  causes.push(...attributeCauses(attributes, field), ...taintCauses(records(device.taints), field));
  return causes;
}

function devicesCauses(devices: readonly Json[]): readonly StatusCause[] {
  const isDetailed = devices.some(
    ({ taints, consumesCounters }) => list(taints).length + list(consumesCounters).length > 0,
  );
  const most = isDetailed ? MOST_DETAILED : MOST_DEVICES;
  const causes: StatusCause[] = devices.length > most ? [tooMany('spec.devices', devices.length, most)] : [];
  const names = new Set<string>();
  for (const [index, device] of devices.entries()) {
    const field = `spec.devices[${index}]`;
    causes.push(...deviceCauses(device, field));
    if (names.has(text(device.name))) causes.push(duplicate(field, text(device.name)));
    names.add(text(device.name));
  }
  return causes;
}

export function resourceSliceCauses(slice: ApiObject, old?: ApiObject): StatusCause[] {
  const spec = record(slice.spec);
  const devices = records(spec.devices);
  const counters = records(spec.sharedCounters);
  const causes = [...driverCauses(spec.driver), ...poolCauses(record(spec.pool)), ...selectionCauses(spec)];
  if (devices.length > 0 && counters.length > 0)
    causes.push(invalidValue('spec', '', 'only one of `sharedCounters` or `devices` is allowed'));
  if (counters.length > MOST_COUNTER_SETS)
    causes.push(tooMany('spec.sharedCounters', counters.length, MOST_COUNTER_SETS));
  causes.push(...devicesCauses(devices));
  for (const path of isRecord(old) ? IMMUTABLE : []) {
    const value = at(spec, ...path);
    if (at(old, 'spec', ...path) !== value)
      causes.push(invalidValue(['spec', ...path].join('.'), value, 'field is immutable'));
  }
  return causes;
}
