/** Applies the remedy of a cause to a snapshot, so that a solve can check it. */
import type { NodePool, NodeSelectorRequirement } from '#api/objects';
import type { EnginePod } from '../input.ts';
import type { EngineSnapshot, PoolInput } from '../model.ts';
import { podKey } from '../pods.ts';
import type { Cause, RemedyChange } from './cause.ts';

/** Change of objects that a remedy names. */
export interface RemedyEdit {
  /**
   * For example `"g" is allowed for karpenter.k8s.aws/instance-category of NodePool "general"`. Different changes of a NodePool
   * or of the cluster have different texts.
   */
  readonly change: string;
  readonly pod?: (pod: EnginePod) => EnginePod;
  readonly pool?: (pool: PoolInput) => PoolInput;
  readonly cluster?: (snapshot: EngineSnapshot) => EngineSnapshot;
}

/** Returns the snapshot after the change. @param name NodePool that the cause names */
export function applyEdit(
  { pod: editPod, pool: editPool, cluster = (same) => same }: RemedyEdit,
  { pod, name, snapshot }: { readonly pod: EnginePod; readonly name: string; readonly snapshot: EngineSnapshot },
): EngineSnapshot {
  const key = podKey(pod);
  return cluster({
    ...snapshot,
    ...(editPod && { pendingPods: snapshot.pendingPods.map((each) => (podKey(each) === key ? editPod(each) : each)) }),
    ...(editPool && {
      pools: snapshot.pools.map((each) => (each.nodePool.metadata.name === name ? editPool(each) : each)),
    }),
  });
}

/** Returns undefined if the remedy is not a change of fields that a snapshot contains. */
export function remedyEdit(cause: Cause): RemedyEdit | undefined {
  const { code, field, object, change = { of: 'NodePool', fields: [field], values: [] } } = cause;
  const place = `of NodePool "${object.name}"`;
  const { of, fields, values } = change;
  switch (code) {
    case 'no-such-nodepool':
    case 'unknown-instance-type':
    case 'not-offered':
    case 'requirements':
      return of === 'Pod' ? selectorEdit(field, values) : requirementsEdit(change, place);
    case 'undefined-label':
      return of === 'Pod' ? labelEdit(field, values) : addRequirement(field, values, place);
    case 'sold-out':
    case 'spot-price':
      return { change: `all offerings ${place} are available`, pool: withAllOfferings };
    case 'too-large':
      return { change: 'the pod requests less', pod: withoutRequests };
    case 'volume-limit':
      return { change: 'the pod uses no volumes', pod: (pod) => ({ ...pod, spec: { ...pod.spec, volumes: [] } }) };
    case 'taint':
      return tolerationEdit(field);
    case 'limits':
      return { change: `${fields.join(' and ')} ${place} is increased`, pool: mapPool(withoutLimits(fields)) };
    case 'ceiling':
      return {
        change: `${field} of ${object.kind} "${object.name}" is increased`,
        cluster: ({ ceilings = [], ...rest }) => ({
          ...rest,
          ceilings: ceilings.filter((each) => each.object.kind !== object.kind || each.object.name !== object.name),
        }),
      };
    case 'min-values':
      return { change: `minValues ${place} are removed`, pool: mapPool(withoutMinValues) };
    case 'topology':
      return { change: 'the pod has no topology constraints', pod: withoutTopology };
    case 'host-port':
      return { change: 'the pod uses no host ports', pod: withoutHostPorts };
    case 'launch-withheld':
      return { change: `launches ${place} are not withheld`, cluster: ({ withheld: _, ...rest }) => rest };
    default:
      return undefined;
  }
}

const mapPool =
  (edit: (pool: NodePool) => NodePool) =>
  (input: PoolInput): PoolInput => ({ ...input, nodePool: edit(input.nodePool) });

type Expressions = readonly NodeSelectorRequirement[];

/** Changes the selector and the required affinity of a pod. */
function withSelector(pod: EnginePod, edit: (expressions: Expressions) => Expressions): EnginePod {
  const { nodeSelector = {}, affinity } = pod.spec;
  const own = Object.entries(nodeSelector).map(([key, value]) => ({ key, operator: 'In' as const, values: [value] }));
  const selected = edit(own).flatMap(({ key, values: [value] = [] }) => (value === undefined ? [] : [[key, value]]));
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const nodeAffinity = required && {
    ...affinity?.nodeAffinity,
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: required.nodeSelectorTerms.map((term) => ({
        ...term,
        matchExpressions: edit(term.matchExpressions ?? []),
      })),
    },
  };
  const spec = {
    ...pod.spec,
    nodeSelector: Object.fromEntries(selected),
    ...(nodeAffinity && { affinity: { ...affinity, nodeAffinity } }),
  };
  return { ...pod, spec };
}

/** Replaces the values that the pod requires, or removes the requirement if no other value is known. */
function selectorEdit(key: string, [value]: readonly string[]): RemedyEdit {
  const change = value === undefined ? `the pod does not require ${key}` : `the pod requires "${value}" for ${key}`;
  return {
    change,
    pod: (pod) =>
      withSelector(pod, (all) =>
        all.flatMap((each) => {
          if (each.key !== key) return [each];
          return value === undefined ? [] : [{ ...each, values: [value] }];
        }),
      ),
  };
}

/** Renames a label that the pod requires. */
const labelEdit = (key: string, [label = key]: readonly string[]): RemedyEdit => ({
  change: `the pod requires the label ${label} instead of ${key}`,
  pod: (pod) => withSelector(pod, (all) => all.map((each) => (each.key === key ? { ...each, key: label } : each))),
});

const quotedList = (values: readonly string[]): string => values.map((value) => `"${value}"`).join(', ');

function requirementsEdit({ fields, values }: RemedyChange, place: string): RemedyEdit {
  if (values.length === 0)
    return { change: `${fields.join(' and ')} ${place} is not restricted`, pool: mapPool(withoutRequirements(fields)) };
  const allow = (requirement: PoolRequirement): PoolRequirement =>
    fields.includes(requirement.key) ? widen(requirement, values) : requirement;
  return {
    change: `${quotedList(values)} is allowed for ${fields.join(' and ')} ${place}`,
    pool: mapPool(editRequirements((all) => all.map(allow))),
  };
}

type PoolRequirement = NonNullable<NodePool['spec']['template']['spec']['requirements']>[number];

function widen(requirement: PoolRequirement, values: readonly string[]): PoolRequirement {
  const { operator, values: own = [] } = requirement;
  if (operator === 'In') return { ...requirement, values: [...new Set([...own, ...values])] };
  return operator === 'NotIn'
    ? { ...requirement, values: own.filter((value) => !values.includes(value)) }
    : requirement;
}

const editRequirements =
  (edit: (requirements: readonly PoolRequirement[]) => readonly PoolRequirement[]) =>
  (pool: NodePool): NodePool => {
    const { template } = pool.spec;
    const requirements = [...edit(template.spec.requirements ?? [])];
    return { ...pool, spec: { ...pool.spec, template: { ...template, spec: { ...template.spec, requirements } } } };
  };

const withoutRequirements = (keys: readonly string[]) =>
  editRequirements((all) => all.filter(({ key }) => !keys.includes(key)));

const withoutMinValues = editRequirements((all) => all.map(({ minValues: _, ...requirement }) => requirement));

function addRequirement(key: string, values: readonly string[], place: string): RemedyEdit {
  const added: PoolRequirement =
    values.length > 0 ? { key, operator: 'In', values: [...values] } : { key, operator: 'Exists' };
  return {
    change: `${key}${values.length > 0 ? ` with ${quotedList(values)}` : ''} is added to the requirements ${place}`,
    pool: mapPool(editRequirements((all) => [...all, added])),
  };
}

function tolerationEdit(key: string): RemedyEdit {
  const toleration = { key, operator: 'Exists' as const };
  return {
    change: `the pod tolerates ${key}`,
    pod: (pod) => ({ ...pod, spec: { ...pod.spec, tolerations: [...(pod.spec.tolerations ?? []), toleration] } }),
  };
}

const withAllOfferings = (input: PoolInput): PoolInput => ({
  ...input,
  instanceTypes: input.instanceTypes.map((type) => ({
    ...type,
    offerings: type.offerings.map((offering) => ({ ...offering, available: true })),
  })),
});

const withoutLimits =
  (fields: readonly string[]) =>
  (pool: NodePool): NodePool => {
    const kept = Object.entries(pool.spec.limits ?? {}).filter(([name]) => !fields.includes(`spec.limits.${name}`));
    return { ...pool, spec: { ...pool.spec, limits: Object.fromEntries(kept) } };
  };

type Container = EnginePod['spec']['containers'][number];

function withContainers(pod: EnginePod, edit: (container: Container) => Container): EnginePod {
  const { containers, initContainers = [] } = pod.spec;
  const spec = { ...pod.spec, containers: containers.map(edit), initContainers: initContainers.map(edit) };
  const { successorRequests: _, ...rest } = pod;
  return { ...rest, spec };
}

const withoutRequests = (pod: EnginePod): EnginePod => {
  const { overhead: _, resources: __, ...spec } = pod.spec as EnginePod['spec'] & { readonly resources?: unknown };
  return withContainers({ ...pod, spec }, ({ resources: ___, ...container }) => container);
};

const withoutHostPorts = (pod: EnginePod): EnginePod =>
  withContainers(pod, ({ ports = [], ...container }) => ({
    ...container,
    ports: ports.map(({ hostPort: _, ...port }) => port),
  }));

function withoutTopology(pod: EnginePod): EnginePod {
  const { topologySpreadConstraints: _, affinity, ...spec } = pod.spec;
  const { podAffinity: __, podAntiAffinity: ___, ...rest } = affinity ?? {};
  return { ...pod, spec: { ...spec, affinity: rest } };
}
