/** Classifies the contents of files: groups, launch templates, cluster-autoscaler, eksctl files. */

import { stringify } from 'yaml';
import { type Field, isObject } from '#lib';
import { fieldIn } from '../../objects/check.ts';
import { InputError } from '../../objects/errors.ts';
import type { SourceDocument } from '../documents.ts';
import type { Path } from '../notes.ts';
import type { DocumentPart, GivenFlag } from './document-part.ts';

export interface Inputs {
  readonly managed: readonly DocumentPart[];
  readonly scaling: readonly DocumentPart[];
  readonly templates: readonly DocumentPart[];
  readonly clusters: readonly DocumentPart[];
  readonly autoscalers: readonly DocumentPart[];
  readonly priorities: readonly DocumentPart[];
}

type Kind = keyof Inputs;

/** Names of the fields that refer to a launch template. */
export interface ReferenceNames {
  readonly id: string;
  readonly name: string;
  readonly version: string;
}

/** Returns the `LaunchTemplateData` for a reference, or undefined if the files do not contain it. */
export type FindTemplate = (reference: Field, names: ReferenceNames) => Field | undefined;

export class InputReader {
  readonly inputs: Record<Kind, DocumentPart[]> = {
    managed: [],
    scaling: [],
    templates: [],
    clusters: [],
    autoscalers: [],
    priorities: [],
  };

  /** @throws InputError if the document has none of these kinds */
  read({ document, where }: SourceDocument): void {
    this.#read(document.toJS(), { where, path: [] });
  }

  #read(value: unknown, { where, path }: { where: string; path: Path }): void {
    const field = fieldIn(where, value);
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) this.#read(item, { where: `${where}, item ${index}`, path: [] });
      return;
    }
    if (value === null || value === undefined) return;
    const part = { field: field.object(), where, path };
    if (!field.at('nodegroup').isMissing)
      this.inputs.managed.push({ field: field.at('nodegroup').object(), where, path: ['nodegroup'] });
    else if (
      this.#list(part, 'AutoScalingGroups', 'scaling') ||
      this.#list(part, 'LaunchTemplateVersions', 'templates')
    )
      return;
    else if (!field.at('nodegroups').isMissing)
      throw new InputError(
        where,
        'contains only names of node groups; use the output of `aws eks describe-nodegroup` for each group',
      );
    else this.#object(part);
  }

  #list({ field, where }: DocumentPart, name: string, kind: Kind): boolean {
    const list = field.at(name);
    if (list.isMissing) return false;
    list.items().forEach((item, index) => {
      item.given?.object();
      this.inputs[kind].push({ field: item, where, path: [name, index] });
    });
    return true;
  }

  /** Reads objects of Kubernetes and eksctl, which have a kind. */
  #object(part: DocumentPart): void {
    const { field, where } = part;
    const { value: kind } = field.at('kind');
    if (kind === 'ClusterConfig') this.inputs.clusters.push(part);
    else if (kind === 'ConfigMap') {
      if (!field.at('data').at('priorities').isMissing) this.inputs.priorities.push(part);
    } else if (kind === 'Deployment') this.inputs.autoscalers.push(part);
    else if (typeof kind === 'string' && kind.endsWith('List'))
      for (const [index, item] of field.at('items').items().entries())
        this.#read(item.value, { where: `${where}, items[${index}]`, path: [] });
    else if (typeof kind !== 'string' && isAutoscalerValues(field)) {
      const { autoscaler, priorities } = autoscalerValues(part);
      this.inputs.autoscalers.push(autoscaler);
      this.inputs.priorities.push(...priorities);
    } else if (typeof kind !== 'string')
      throw new InputError(
        where,
        'expected the output of `aws eks describe-nodegroup`, `aws autoscaling describe-auto-scaling-groups` or `aws ec2 ' +
          'describe-launch-template-versions`, a ClusterConfig of eksctl, or a Deployment, a ConfigMap or chart values of cluster-autoscaler',
      );
  }
}

/** Finds launch templates by ID or name, and by version, including `$Latest` and `$Default`. */
export const templatesIn =
  (parts: readonly DocumentPart[]): FindTemplate =>
  (reference, names) => {
    const textAt = (field: Field, name: string): string | undefined =>
      field.at(name).isMissing ? undefined : String(field.at(name).value);
    const [id, name, version] = [names.id, names.name, names.version].map((key) => textAt(reference, key));
    const own = parts.filter(({ field }) =>
      id === undefined ? textAt(field, 'LaunchTemplateName') === name : textAt(field, 'LaunchTemplateId') === id,
    );
    const number = ({ field }: DocumentPart): number => Number(textAt(field, 'VersionNumber') ?? 0);
    const newest = own.toSorted((a, b) => number(b) - number(a))[0];
    const found =
      version === '$Latest'
        ? newest
        : version === undefined || version === '$Default'
          ? (own.find(({ field }) => field.at('DefaultVersion').value === true) ?? newest)
          : own.find((part) => String(number(part)) === version);
    const data = found?.field.at('LaunchTemplateData');
    data?.given?.object();
    return data;
  };

/** Values that only the chart of cluster-autoscaler has. One of them identifies its values. */
const KEYS = [
  'autoDiscovery',
  'autoscalingGroups',
  'autoscalingGroupsnamePrefix',
  'expanderPriorities',
  'extraArgs',
  'awsRegion',
];

const isAutoscalerValues = (field: Field): boolean => KEYS.some((key) => !field.at(key).isMissing);

interface AutoscalerValues {
  readonly autoscaler: DocumentPart;
  readonly priorities: readonly DocumentPart[];
}

function autoscalerValues({ field, where }: DocumentPart): AutoscalerValues {
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
      name,
      path: ['extraArgs', name],
      value: one === null || one === '' || one === undefined ? 'true' : String(one),
    })),
  );
}

const textAt = (field: Field, key: string): string | undefined =>
  field.at(key).isMissing ? undefined : String(field.at(key).value);
