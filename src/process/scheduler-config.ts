/** The scheduler-config setting: default topology spread constraints for pods that declare none. */
import { parse } from 'yaml';
import type { TopologySpreadConstraint } from '#api/objects';
import { messageOf } from '#lib';
import { SettingsError } from './options.ts';

interface SchedulerConfig {
  readonly defaultConstraints: readonly TopologySpreadConstraint[];
}

const CONSTRAINT_FIELDS: ReadonlySet<string> = new Set([
  'maxSkew',
  'topologyKey',
  'whenUnsatisfiable',
  'labelSelector',
  'minDomains',
  'nodeAffinityPolicy',
  'nodeTaintsPolicy',
  'matchLabelKeys',
]);

/** Parses the setting. @throws SettingsError with the entry and the field if a field is invalid or unknown */
export function parseSchedulerConfig(document: string): SchedulerConfig {
  if (document.trim() === '') return { defaultConstraints: [] };
  let decoded: unknown;
  try {
    decoded = parse(document);
  } catch (error) {
    throw undecodable(messageOf(error));
  }
  const root = fields(decoded, '', new Set(['podTopologySpread']));
  const spread = fields(root.podTopologySpread, 'podTopologySpread', new Set(['defaultConstraints']));
  const list = spread.defaultConstraints ?? [];
  if (!Array.isArray(list)) throw undecodable('podTopologySpread.defaultConstraints must be a list');
  const constraints = list.map((entry, index) => {
    const path = `podTopologySpread.defaultConstraints[${index}]`;
    return fields(entry, path, CONSTRAINT_FIELDS) as unknown as TopologySpreadConstraint;
  });
  constraints.forEach((_, index) => {
    const wrong = misfit(constraints, index);
    if (wrong === undefined) return;
    throw new SettingsError(`validating scheduler config, podTopologySpread.defaultConstraints[${index}]${wrong}`);
  });
  return { defaultConstraints: constraints };
}

const undecodable = (why: string): SettingsError =>
  new SettingsError(`parsing scheduler config, decoding scheduler config, ${why}`);

function fields(value: unknown, path: string, known: ReadonlySet<string>): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw undecodable(`${path || 'document'} must be an object`);
  for (const name of Object.keys(value)) {
    if (!known.has(name)) throw undecodable(`unknown field "${path === '' ? name : `${path}.${name}`}"`);
  }
  return value as Readonly<Record<string, unknown>>;
}

function misfit(all: readonly TopologySpreadConstraint[], index: number): string | undefined {
  const entry = all[index];
  if (entry === undefined) return undefined;
  if (!(typeof entry.maxSkew === 'number' && entry.maxSkew > 0)) return '.maxSkew must be greater than 0';
  if (typeof entry.topologyKey !== 'string' || entry.topologyKey === '') return '.topologyKey must be set';
  const key = entry.topologyKey;
  const why = misspelledLabel(key);
  if (why !== undefined) return `.topologyKey "${key}" is not a valid label name, ${why}`;
  const action = entry.whenUnsatisfiable;
  if (action !== 'DoNotSchedule' && action !== 'ScheduleAnyway') {
    return `.whenUnsatisfiable "${action ?? ''}" must be one of "DoNotSchedule" or "ScheduleAnyway"`;
  }
  if (entry.labelSelector != null) {
    return '.labelSelector must not be set, as selectors are deduced for each pod';
  }
  if ((entry.matchLabelKeys ?? []).length > 0) {
    return '.matchLabelKeys must not be set, as it has no effect on default constraints';
  }
  const twin = all.findIndex((other) => other.topologyKey === key && other.whenUnsatisfiable === action);
  return twin < index ? ` is a duplicate of [${twin}], {${key}, ${action}}` : undefined;
}

/**
 * Returns the problem if a key is not a valid label name. A valid name has an optional prefix, which is a DNS name of at most
 * 253 characters and a slash, and at most 63 further characters.
 */
function misspelledLabel(key: string): string | undefined {
  const [name = '', prefix, more] = key.split('/').reverse();
  if (more !== undefined) return 'it must contain at most one slash';
  if (prefix !== undefined && (prefix.length > 253 || !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(prefix))) {
    return 'its prefix must be a DNS subdomain';
  }
  if (name.length > 63 || !/^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(name)) {
    return "its name must be 1 to 63 alphanumeric characters, '-', '_' or '.', and start and end alphanumeric";
  }
  return undefined;
}
