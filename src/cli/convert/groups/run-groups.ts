/** Converts groups of any supported tool and writes the resulting objects. */
import { type Document, parse, type YAMLMap } from 'yaml';
import type { KubeObject } from '#api/objects';
import { regularExpression } from '#api/schema';
import type { Field } from '#lib';
import { InputError, messageOf } from '../../objects/errors.ts';
import { validateStored } from '../../objects/stored.ts';
import { writeNotes } from '../../scenario.ts';
import { newDocument, readFiles, type SourceFile } from '../documents.ts';
import { Notes, type TakeNote } from '../notes.ts';
import { type InputFlags, type OutputFlags, printErrors, printNotes, writeFiles } from '../output.ts';
import { eachDocument } from '../run.ts';
import { styleOf } from '../style.ts';
import { autoScalingGroup } from './auto-scaling-groups.ts';
import { applyFlags, isClusterAutoscaler } from './cluster-autoscaler.ts';
import type { DocumentPart } from './document-part.ts';
import { eksctlGroups, noteCluster } from './eksctl.ts';
import { textOf } from './fields.ts';
import { InputReader, type Inputs, templatesIn } from './inputs.ts';
import { managedNodeGroup } from './managed-node-groups.ts';
import type { NodeGroup } from './node-group.ts';
import { type Converted, nodePoolsOf } from './node-pools.ts';

export interface GroupFlags extends InputFlags, Pick<OutputFlags, 'output'> {
  /** Role of the nodes if the input contains none. */
  readonly role?: string;
  readonly pods?: readonly string[];
  readonly instanceTypes?: string;
  readonly now?: number;
}

/** Kind of input that a subcommand requires. */
export type Wanted = 'managed' | 'scaling' | 'clusters' | 'autoscalers';

const MISSING: Readonly<Record<Wanted, string>> = {
  managed: 'no node group found; use the output of `aws eks describe-nodegroup` for each group',
  scaling: 'no group found; use the output of `aws autoscaling describe-auto-scaling-groups`',
  clusters: 'no ClusterConfig of eksctl found',
  autoscalers: 'no Deployment and no chart values of cluster-autoscaler found',
};

export async function runGroups(wanted: Wanted, flags: GroupFlags): Promise<void> {
  const read = readFiles(flags.filename, flags);
  const reader = new InputReader();
  const notes = new Notes();
  const wrong = [...eachDocument(read, (source) => reader.read(source))];
  const autoscalers = collectErrors(reader.inputs.autoscalers, wrong, (part) =>
    isClusterAutoscaler(part) ? [part] : [],
  );
  const inputs: Inputs = { ...reader.inputs, autoscalers };
  const found = wanted === 'autoscalers' && inputs.priorities.length > 0 ? 1 : inputs[wanted].length;
  if (found === 0 && wrong.length === 0)
    wrong.push(new InputError(read.files.map(({ name }) => name).join(', '), MISSING[wanted]));
  const groups = groupsOf(inputs, wrong);
  for (const part of inputs.clusters) noteCluster(part, notes.on(part.where));
  collectErrors(autoscalers, wrong, (part) => applyFlags(groups, part, notes.on(part.where)) ?? []);
  collectErrors(inputs.priorities, wrong, (part) => applyPriorities(groups, part, notes.on(part.where)) ?? []);
  const converted = nodePoolsOf(groups, flags);
  const objects = [
    ...converted.pools.map(({ nodePool }) => nodePool),
    ...converted.classes.map(({ nodeClass }) => nodeClass),
  ];
  collectErrors(objects, wrong, (object) => [
    validateStored({ object, where: `converted ${object.kind} ${object.metadata.name}` }),
  ]);
  if (objects.length > 0) writeFiles([createSource(documentsOf(converted, notes))], flags);
  else if (wrong.length === 0) process.stderr.write('the files contain no groups; only flags are converted\n');
  printNotes(notes);
  printErrors(wrong);
  if (flags.pods && wrong.length === 0 && objects.length > 0) await showProof(objects, { ...flags, pods: flags.pods });
}

/** Processes each item. Collects input errors and continues with the next item. */
function collectErrors<T, R>(all: readonly T[], wrong: Error[], work: (one: T) => readonly R[]): readonly R[] {
  return all.flatMap((one) => {
    try {
      return work(one);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      wrong.push(error);
      return [];
    }
  });
}

function groupsOf(inputs: Inputs, wrong: Error[]): readonly NodeGroup[] {
  const templates = templatesIn(inputs.templates);
  const managedNames = new Set(inputs.managed.map(({ field }) => field.at('nodegroupName').value));
  return [
    ...collectErrors(inputs.clusters, wrong, eksctlGroups),
    ...collectErrors(inputs.managed, wrong, (part) => [managedNodeGroup(part.field, part, templates)]),
    ...collectErrors(inputs.scaling, wrong, (part) =>
      managedNames.has(managedName(part)) ? [] : [autoScalingGroup(part.field, part, templates)],
    ),
  ];
}

/**
 * Returns the name of the managed node group that an Auto Scaling group belongs to. Such a group is converted from
 * the managed node group.
 */
const managedName = ({ field }: DocumentPart): string | undefined =>
  field
    .at('Tags')
    .items()
    .filter((tag) => tag.at('Key').value === 'eks:nodegroup-name')
    .map((tag) => textOf(tag.at('Value')))[0];

function documentsOf({ pools, classes }: Converted, notes: Notes): readonly Document[] {
  const all = [
    ...pools.map(({ nodePool, groups }) => ({ object: nodePool as KubeObject, groups })),
    ...classes.map(({ nodeClass, groups }) => ({ object: nodeClass as KubeObject, groups })),
  ];
  const taken = new Set<string>();
  return all.map(({ object, groups }) => {
    const document = newDocument(object);
    const map = document.contents as unknown as YAMLMap;
    for (const group of groups)
      for (const { kind, level, field, at, text } of group.remarks)
        if (kind === object.kind) {
          // several groups of one class produce the same note
          const key = [object.kind, object.metadata.name, level, text].join('\n');
          (taken.has(key) ? new Notes() : notes).on(`${group.where}, ${group.name}`, map)(level, field, text, at);
          taken.add(key);
        }
    return document;
  });
}

function createSource([first, ...rest]: readonly Document[]): SourceFile {
  const where = 'converted groups';
  const documents = first && [{ where, document: first, original: '', isChanged: true, added: rest }];
  return { name: where, text: '', isJson: false, style: styleOf(''), documents: documents ?? [] };
}

async function showProof(
  objects: readonly KubeObject[],
  flags: GroupFlags & { readonly pods: readonly string[] },
): Promise<void> {
  const { proofText, prove } = await import('./proof.ts');
  const { pods, instanceTypes, now } = flags;
  const proof = await prove(objects, {
    pods,
    ...(instanceTypes === undefined ? {} : { instanceTypes }),
    ...(now === undefined ? {} : { nowMs: now }),
  });
  writeNotes(proof.notes);
  process.stderr.write(`\n${proofText(proof)}`);
  if (Object.keys(proof.simulation.unschedulable).length > 0) process.exitCode = 2;
}

const MOST_WEIGHT = 100;

/** Patterns by priority, highest priority first. */
type Priorities = readonly (readonly [priority: number, patterns: readonly string[]])[];

/** Sets the weight of each group to the first priority with a pattern that matches the group's name. */
function applyPriorities(groups: readonly NodeGroup[], { field, path: own }: DocumentPart, note: TakeNote): void {
  const path = own.length > 0 ? own : ['data', 'priorities'];
  const priorities = readPriorities(field.at('data').at('priorities'));
  const weights = weightsOf(priorities.map(([priority]) => priority));
  for (const group of groups) {
    const found = priorities.find(([, patterns]) => patterns.some((one) => regularExpression(one).test(group.name)));
    if (found === undefined) {
      note(
        'lost',
        path,
        `no pattern matches ${group.name}; cluster-autoscaler would not select this group, and the NodePool has no weight`,
      );
      continue;
    }
    group.weight = weights.get(found[0]);
    group.onPool('changed', [], `priority ${found[0]} of cluster-autoscaler`, ['spec', 'weight']);
  }
  if (groups.length > 0)
    note(
      'changed',
      path,
      'priorities become weights: of two NodePools that a pod fits, the one with the higher weight is used',
    );
}

function readPriorities(field: Field): Priorities {
  try {
    const priorities = prioritiesIn(textOf(field) ?? '');
    for (const pattern of priorities.flatMap(([, patterns]) => patterns)) regularExpression(pattern);
    return priorities;
  } catch (error) {
    if (error instanceof InputError) throw error;
    return field.fail(`cannot be parsed as priorities with patterns: ${messageOf(error).split('\n', 1)[0]}`);
  }
}

function prioritiesIn(text: string): Priorities {
  const value = parse(text, { maxAliasCount: 0 }) as unknown;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('expected `10: [pattern]`');
  return Object.entries(value)
    .map(([priority, patterns]) => {
      if (!/^\d{1,9}$/.test(priority)) throw new Error(`${priority} is not a number`);
      if (!Array.isArray(patterns)) throw new Error(`${priority} has no list of patterns`);
      return [Number(priority), patterns.map(String)] as const;
    })
    .sort(([a], [b]) => b - a);
}

/** Maps priorities to weights. If a priority is not a valid weight, uses the order of the priorities instead. */
function weightsOf(priorities: readonly number[]): ReadonlyMap<number, number> {
  const distinct = [...new Set(priorities)].sort((a, b) => a - b);
  const fit = distinct.every((priority) => priority >= 1 && priority <= MOST_WEIGHT);
  return new Map(distinct.map((priority, index) => [priority, fit ? priority : Math.min(MOST_WEIGHT, index + 1)]));
}
