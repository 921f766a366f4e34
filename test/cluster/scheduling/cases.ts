/** Random nodes, workloads and pods that use everything by which kube-scheduler rates nodes. */
import {
  type Affinity,
  type Container,
  HOSTNAME_LABEL,
  type KubeObject,
  type Node,
  type Pod,
  type PodAffinityTerm,
  type PodSpec,
  type QuantityList,
  REGION_LABEL,
  type StringMap,
  type Taint,
  type TopologySpreadConstraint,
  ZONE_LABEL,
} from '#api/objects';
import { randomStream } from '#local/aws';
import type { RandomStream } from '#local/testing';

/** Choices from a seed. */
export class Draws {
  readonly #random: RandomStream;

  constructor(seed: number) {
    this.#random = randomStream(seed);
  }

  below(limit: number): number {
    return Math.floor(this.#random.next() * limit);
  }

  one<T>(choices: readonly [T, ...T[]] | readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  isWithin(probability: number): boolean {
    return this.#random.next() < probability;
  }
}

export const NAMESPACES = ['default', 'other'] as const;
const ZONES = ['z1', 'z2', 'z3'] as const;
const WORKLOADS = 24;

const soft = (key: string): Taint => ({ key, effect: 'PreferNoSchedule' });
export const SOFT_TAINT = soft('steered');

export function nodeFrom(draws: Draws, index: number): Node {
  const name = `node-${index}`;
  const cpus = draws.one([2, 4, 8, 16]);
  const allocatable: QuantityList = {
    cpu: `${cpus * 1000 - 60 - draws.below(60)}m`,
    memory: `${cpus * draws.one([2, 4, 8]) * 1024 - 400 - draws.below(300)}Mi`,
    pods: '110',
  };
  const taints: readonly Taint[] = [
    ...(draws.isWithin(0.25) ? [SOFT_TAINT] : []),
    ...(draws.isWithin(0.15) ? [soft('slow')] : []),
    ...(draws.isWithin(0.1) ? [{ key: 'dedicated', value: 'batch', effect: 'NoSchedule' } as const] : []),
  ];
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        [HOSTNAME_LABEL]: name,
        // some nodes are in no zone
        ...(draws.isWithin(0.9) && { [ZONE_LABEL]: draws.one(ZONES), [REGION_LABEL]: 'r' }),
        ...(draws.isWithin(0.8) && { rack: draws.one(['1', '2', '3', '4']) }),
        disk: draws.one(['ssd', 'hdd']),
      },
    },
    spec: { taints },
    status: { allocatable, capacity: allocatable, conditions: [{ type: 'Ready', status: 'True' }] },
  } as Node;
}

/** A workload whose pods are alike except for their requests. */
export interface Workload {
  /** Its controller and Services. */
  readonly objects: readonly KubeObject[];
  pod(name: string): Pod;
}

type Owner = readonly [apiVersion: string, kind: string] | readonly [undefined, undefined];

const OWNERS: readonly Owner[] = [
  ['apps/v1', 'ReplicaSet'],
  ['apps/v1', 'ReplicaSet'],
  ['apps/v1', 'StatefulSet'],
  ['v1', 'ReplicationController'],
  ['batch/v1', 'Job'],
  [undefined, undefined],
];

/** @param prefix prefix of names and labels. Selectors do not match the pods of another prefix. */
export function workloadsFrom(draws: Draws, prefix: string): readonly Workload[] {
  const apps = Array.from({ length: WORKLOADS }, (_, index) => `${prefix}-${index}`);
  return apps.map((app) => workloadFrom(draws, app, draws.one(OWNERS), apps));
}

function workloadFrom(draws: Draws, app: string, [apiVersion, kind]: Owner, apps: readonly string[]): Workload {
  const namespace = draws.isWithin(0.8) ? NAMESPACES[0] : NAMESPACES[1];
  const labels = { app, revision: draws.one(['1', '2']) };
  const metadata = { name: app, namespace };
  const spec = specFrom(draws, app, apps);
  const selector = kind === 'ReplicationController' ? labels : { matchLabels: labels };
  const template = { metadata: { labels }, spec: { containers: [container({})] } };
  // The selector of a Job is not known to the scheduler.
  const hasController = kind !== undefined && kind !== 'Job';
  return {
    objects: [
      ...(hasController ? [{ apiVersion, kind, metadata, spec: { replicas: 0, selector, template } }] : []),
      ...(draws.isWithin(0.4)
        ? [{ apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: { app }, clusterIP: 'None' } }]
        : []),
    ] as unknown as readonly KubeObject[],
    pod: (name) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace,
        labels,
        ...(kind && { ownerReferences: [{ apiVersion, kind, name: app, uid: `uid-of-${app}`, controller: true }] }),
      },
      spec: { ...spec, containers: containersFrom(draws) },
    }),
  };
}

const container = (requests: QuantityList, more: Partial<Container> = {}): Container => ({
  name: 'main',
  image: 'pause',
  resources: { requests },
  ...more,
});

function containersFrom(draws: Draws): readonly Container[] {
  const requests = {
    ...(draws.isWithin(0.9) && { cpu: `${50 + draws.below(1500)}m` }),
    ...(draws.isWithin(0.9) && { memory: `${64 + draws.below(4000)}Mi` }),
  };
  const second = draws.one([undefined, undefined, { requests: {} }, { limits: { cpu: '200m', memory: '128Mi' } }]);
  return [container(requests), ...(second ? [container({}, { name: 'second', resources: second })] : [])];
}

/** Draws the features of a workload. A third of the workloads have no features. */
function specFrom(draws: Draws, app: string, apps: readonly string[]): Omit<PodSpec, 'containers'> {
  if (draws.isWithin(1 / 3)) return {};
  return {
    ...(draws.isWithin(0.3) && { tolerations: [draws.one(TOLERATIONS)] }),
    ...(draws.isWithin(0.15) && { nodeSelector: { disk: draws.one(['ssd', 'hdd']) } }),
    ...(draws.isWithin(0.5) && { topologySpreadConstraints: constraintsFrom(draws, app) }),
    ...(draws.isWithin(0.6) && { affinity: affinityFrom(draws, app, apps) }),
  };
}

const TOLERATIONS = [
  { operator: 'Exists' },
  { key: 'steered', operator: 'Exists' },
  { key: 'slow', operator: 'Exists', effect: 'PreferNoSchedule' },
  { key: 'dedicated', operator: 'Equal', value: 'batch', effect: 'NoSchedule' },
] as const;

const TOPOLOGIES = [HOSTNAME_LABEL, ZONE_LABEL, 'rack'] as const;

function constraintsFrom(draws: Draws, app: string): readonly TopologySpreadConstraint[] {
  const first = draws.below(TOPOLOGIES.length);
  return Array.from({ length: 1 + draws.below(2) }, (_, index) => ({
    maxSkew: 1 + draws.below(4),
    topologyKey: TOPOLOGIES[(first + index) % TOPOLOGIES.length] as string,
    whenUnsatisfiable: draws.isWithin(0.75) ? 'ScheduleAnyway' : 'DoNotSchedule',
    labelSelector: draws.isWithin(0.9) ? selects(app) : {},
    ...(draws.isWithin(0.2) && { nodeTaintsPolicy: 'Honor' as const }),
    ...(draws.isWithin(0.2) && { nodeAffinityPolicy: 'Ignore' as const }),
    ...(draws.isWithin(0.2) && { matchLabelKeys: ['revision'] }),
  }));
}

const selects = (app: string): { readonly matchLabels: StringMap } => ({ matchLabels: { app } });

const NAMESPACE_SCOPES: readonly Partial<PodAffinityTerm>[] = [
  {},
  {},
  { namespaces: [...NAMESPACES] },
  { namespaceSelector: { matchLabels: { team: 'x' } } },
];

function affinityFrom(draws: Draws, app: string, apps: readonly string[]): Affinity {
  const term = (): PodAffinityTerm => ({
    topologyKey: draws.one(TOPOLOGIES),
    labelSelector: selects(draws.isWithin(0.5) ? app : draws.one(apps)),
    ...draws.one(NAMESPACE_SCOPES),
  });
  const weighted = () =>
    Array.from({ length: 1 + draws.below(2) }, () => ({ weight: 1 + draws.below(100), podAffinityTerm: term() }));
  const zone = () => ({
    weight: 1 + draws.below(100),
    preference: { matchExpressions: [{ key: ZONE_LABEL, operator: 'In' as const, values: [draws.one(ZONES)] }] },
  });
  const kind = draws.below(5);
  if (kind === 0) return { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [zone(), zone()] } };
  if (kind === 1) return { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: weighted() } };
  if (kind === 2) return { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: weighted() } };
  const own = { topologyKey: HOSTNAME_LABEL, labelSelector: selects(app) };
  if (kind === 3) return { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [own] } };
  return {
    podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ ...own, topologyKey: ZONE_LABEL }] },
    podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: weighted() },
  };
}
