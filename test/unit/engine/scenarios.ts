/** Random snapshots from a seed with every kind of rule, to compare solvers. */
import {
  type Affinity,
  CAPACITY_TYPE_LABEL,
  HOSTNAME_LABEL,
  INSTANCE_TYPE_LABEL,
  type NodePool,
  type Pod,
  type Taint,
  type Toleration,
  type TopologySpreadConstraint,
  ZONE_LABEL,
} from '#api/objects';
import type { InstanceType, Snapshot, StateNode } from '../../../src/engine/model.ts';
import { pseudoRandom } from '../../../src/engine/pseudo-random.ts';
import {
  daemon,
  instanceType,
  nodePool,
  offering,
  oneOf,
  type PodParts,
  pod,
  type SnapshotParts,
  snapshot,
  stateNode,
} from './build.ts';

const ZONES = ['zone-a', 'zone-b', 'zone-c'];
const APPS = ['web', 'db', 'cache', 'batch'];
const TAINT: Taint = { key: 'dedicated', value: 'db', effect: 'NoSchedule' };
const SOFT: Taint = { key: 'soft', value: 'yes', effect: 'PreferNoSchedule' };

export class Draw {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = pseudoRandom(seed);
  }

  below = (n: number): number => Math.floor(this.#random() * n);
  chance = (probability: number): boolean => this.#random() < probability;
  of = <T>(from: readonly T[]): T => from[this.below(from.length)] as T;
  /** Returns a value with this probability, else undefined. */
  maybe = <T>(probability: number, value: () => T): T | undefined => (this.chance(probability) ? value() : undefined);
}

const selector = (draw: Draw) => ({ labelSelector: { matchLabels: { app: draw.of(APPS) } } });
const key = (draw: Draw): string => draw.of([ZONE_LABEL, HOSTNAME_LABEL, HOSTNAME_LABEL, CAPACITY_TYPE_LABEL, 'rack']);
const term = (draw: Draw) => ({ topologyKey: key(draw), ...selector(draw) });

function spread(draw: Draw): TopologySpreadConstraint {
  return {
    maxSkew: 1 + draw.below(2),
    topologyKey: key(draw),
    whenUnsatisfiable: draw.of(['DoNotSchedule', 'DoNotSchedule', 'ScheduleAnyway']),
    ...selector(draw),
    ...draw.maybe(0.2, () => ({ minDomains: 2 + draw.below(2) })),
    ...draw.maybe(0.2, () => ({ nodeTaintsPolicy: 'Honor' as const })),
  };
}

const inZones = (draw: Draw) => ({ matchExpressions: [oneOf(ZONE_LABEL, draw.of(ZONES), draw.of(ZONES))] });

function affinity(draw: Draw): Affinity {
  const required = draw.maybe(0.4, () => ({
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [inZones(draw), inZones(draw)] },
  }));
  const preferred = draw.maybe(0.4, () => ({
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 + draw.below(9), preference: inZones(draw) }],
  }));
  const soft = () => [{ weight: 1 + draw.below(9), podAffinityTerm: term(draw) }];
  return {
    ...draw.maybe(0.4, () => ({ nodeAffinity: { ...required, ...preferred } })),
    ...draw.maybe(0.3, () => ({ podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(draw)] } })),
    ...draw.maybe(0.2, () => ({ podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: soft() } })),
    ...draw.maybe(0.4, () => ({ podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(draw)] } })),
    ...draw.maybe(0.2, () => ({ podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: soft() } })),
  };
}

const TOLERATE: Toleration = { key: 'dedicated', operator: 'Exists' };

function parts(draw: Draw): PodParts {
  return {
    cpu: draw.of(['100m', '500m', '1', '1500m', '3']),
    memory: draw.of(['128Mi', '1Gi', '2Gi', '6Gi']),
    labels: { app: draw.of(APPS) },
    ...draw.maybe(0.4, () => ({ affinity: affinity(draw) })),
    ...draw.maybe(0.3, () => ({ topologySpreadConstraints: [spread(draw)] })),
    ...draw.maybe(0.05, () => ({ topologySpreadConstraints: [spread(draw), spread(draw)] })),
    ...draw.maybe(0.3, () => ({ tolerations: [TOLERATE] })),
    ...draw.maybe(0.1, () => ({ hostPort: draw.of([80, 443]) })),
    ...draw.maybe(0.1, () => ({ nodeSelector: { [ZONE_LABEL]: draw.of(ZONES) } })),
    ...draw.maybe(0.03, () => ({ nodeSelector: { team: 'x' } })),
    ...draw.maybe(0.05, () => ({ requests: { 'example.com/gpu': '1' } })),
    ...draw.maybe(0.1, () => ({ volumes: [{ name: 'data', persistentVolumeClaim: { claimName: draw.of(CLAIMS) } }] })),
  };
}

const CLAIMS = ['zonal', 'anywhere', 'choice'];

/** Pods of a few workloads with a few replicas each. */
export function drawnPods(draw: Draw, workloads: number, name: string, more: PodParts = {}): readonly Pod[] {
  return Array.from({ length: workloads }, (_, index) => {
    const shared = { ...parts(draw), ...more };
    return Array.from({ length: 1 + draw.below(6) }, (__, at) => pod(`${name}-${index}-${at}`, shared));
  }).flat();
}

function types(draw: Draw): readonly InstanceType[] {
  const plain = Array.from({ length: 4 + draw.below(12) }, (_, index) => {
    const cpu = draw.of([1, 2, 4, 8, 16]);
    return instanceType(`type-${String(index).padStart(2, '0')}`, {
      cpu,
      gib: cpu * draw.of([2, 4, 8]),
      pods: draw.of([4, 30, 110]),
      usd: cpu * (0.08 + draw.below(5) / 100),
      zones: draw.chance(0.3) ? [draw.of(ZONES)] : ZONES,
      requirements: [oneOf('size', draw.of(['s', 'l']))],
      ...draw.maybe(0.1, () => ({ capacity: { 'example.com/gpu': 1 } })),
    });
  });
  const dear = instanceType('type-dear', {
    offerings: ZONES.map((zone, index) => offering('on-demand', zone, 0.5 + index / 10, draw.chance(0.8))),
  });
  return [...plain, dear];
}

function pool(draw: Draw, name: string): NodePool {
  return nodePool(name, {
    weight: draw.below(3),
    ...draw.maybe(0.3, () => ({ limits: { cpu: String(8 + draw.below(60)) } })),
    ...draw.maybe(0.1, () => ({ limits: { nodes: String(draw.below(4)) } })),
    requirements: [
      ...(draw.chance(0.2) ? [{ ...oneOf(CAPACITY_TYPE_LABEL, 'on-demand') }] : []),
      ...(draw.chance(0.2) ? [{ ...oneOf('rack', 'r1', 'r2') }] : []),
      ...(draw.chance(0.2)
        ? [{ key: INSTANCE_TYPE_LABEL, operator: 'Exists' as const, minValues: 2 + draw.below(2) }]
        : []),
    ],
    taints: [...(draw.chance(0.3) ? [TAINT] : []), ...(draw.chance(0.2) ? [SOFT] : [])],
    labels: draw.chance(0.2) ? { team: 'x' } : {},
  });
}

function node(draw: Draw, index: number, pools: readonly NodePool[]): StateNode {
  const name = `node-${index}`;
  const bound = { nodeName: name };
  return stateNode(name, {
    pool: draw.of(pools).metadata.name,
    labels: { [ZONE_LABEL]: draw.of(ZONES), [CAPACITY_TYPE_LABEL]: draw.of(['spot', 'on-demand']) },
    taints: draw.chance(0.2) ? [TAINT] : [],
    allocatable: { cpu: draw.of(['4', '8', '16']), memory: '32Gi' },
    pods: drawnPods(draw, draw.below(3), `bound-${index}`, bound),
    initialized: draw.chance(0.8),
    markedForDeletion: draw.chance(0.1),
  });
}

const volumeParts = (): Partial<Omit<Snapshot, 'pools'>> => ({
  persistentVolumeClaims: CLAIMS.map((name) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'default' },
    spec: { storageClassName: name },
    status: { phase: 'Pending' },
  })),
  storageClasses: CLAIMS.map((name) => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name },
    provisioner: 'ebs.csi.aws.com',
    volumeBindingMode: 'WaitForFirstConsumer',
    ...(name === 'anywhere' ? {} : { allowedTopologies: zonesOf(name) }),
  })),
});

const zonesOf = (name: string) =>
  (name === 'zonal' ? ['zone-b'] : ['zone-a', 'zone-c']).map((zone) => ({
    matchLabelExpressions: [{ key: ZONE_LABEL, values: [zone] }],
  }));

export interface Scenario {
  readonly nodes: number;
  readonly workloads: number;
}

export function drawnSnapshot(seed: number, { nodes, workloads }: Scenario): Snapshot {
  const draw = new Draw(seed);
  const pools = Array.from({ length: 1 + draw.below(3) }, (_, index) => pool(draw, `pool-${index}`));
  const all: SnapshotParts = {
    pools,
    types: types(draw),
    nodes: Array.from({ length: draw.below(nodes + 1) }, (_, index) => node(draw, index, pools)),
    pendingPods: drawnPods(draw, workloads, 'pending'),
    daemonPods: draw.chance(0.4) ? [daemon('agent', { cpu: '100m', tolerations: [{ operator: 'Exists' }] })] : [],
    ...volumeParts(),
  };
  return snapshot(all);
}
