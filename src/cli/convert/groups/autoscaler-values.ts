/** Reads Helm values of the chart cluster-autoscaler as the flags and priorities that the chart creates from them. */
import { stringify } from 'yaml';
import type { Field } from '../../../lib/field.ts';
import { isObject } from '../../../lib/json-object.ts';
import { fieldIn } from '../../objects/check.ts';
import type { Path } from '../notes.ts';
import type { DocumentPart, GivenFlag } from './document-part.ts';

/** Values that only the chart of cluster-autoscaler has. One of them identifies its values. */
const KEYS = [
  'autoDiscovery',
  'autoscalingGroups',
  'autoscalingGroupsnamePrefix',
  'expanderPriorities',
  'extraArgs',
  'awsRegion',
];

export const isAutoscalerValues = (field: Field): boolean => KEYS.some((key) => !field.at(key).isMissing);

interface AutoscalerValues {
  readonly autoscaler: DocumentPart;
  readonly priorities: readonly DocumentPart[];
}

export function autoscalerValues({ field, where }: DocumentPart): AutoscalerValues {
  const flags = [...discoveryFlags(field), ...groupFlags(field), ...extraFlags(field)];
  const priorities = field.at('expanderPriorities');
  const { value } = priorities;
  const text = typeof value === 'string' ? value : stringify(value ?? {});
  return {
    autoscaler: { field, where, path: [], flags },
    priorities: priorities.isMissing
      ? []
      : [{ field: fieldIn(where, { data: { priorities: text } }), where, path: ['expanderPriorities'] }],
  };
}

function discoveryFlags(field: Field): readonly GivenFlag[] {
  const discovery = field.at('autoDiscovery');
  if (discovery.isMissing) return [];
  const name = textAt(discovery, 'clusterName');
  const path: Path = ['autoDiscovery'];
  return [
    { name: 'node-group-auto-discovery', value: `asg:tag=${name ?? ''}`, path },
    ...(name === undefined ? [] : [{ name: 'cluster-name', value: name, path: [...path, 'clusterName'] }]),
  ];
}

function groupFlags(field: Field): readonly GivenFlag[] {
  const groups = field.at('autoscalingGroups');
  if (groups.isMissing) return [];
  return groups.items().map((group, index) => ({
    name: 'nodes',
    value: ['minSize', 'maxSize', 'name'].map((key) => textAt(group, key) ?? '').join(':'),
    path: ['autoscalingGroups', index],
  }));
}

function extraFlags(field: Field): readonly GivenFlag[] {
  const { value: args } = field.at('extraArgs');
  return Object.entries(isObject(args) ? args : {}).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one: unknown) => ({
      ...{ name, path: ['extraArgs', name] },
      value: one === null || one === '' || one === undefined ? 'true' : String(one),
    })),
  );
}

const textAt = (field: Field, key: string): string | undefined =>
  field.at(key).isMissing ? undefined : String(field.at(key).value);
