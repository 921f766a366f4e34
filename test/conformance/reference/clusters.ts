/** Random clusters: pools, instance types, nodes and policies around random workloads. */
import {
  ARCH_LABEL,
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_TYPE_LABEL,
  INSTANCE_CPU_LABEL,
  INSTANCE_FAMILY_LABEL,
  INSTANCE_TYPE_LABEL,
  type NodePool,
  OS_LABEL,
  type Pod,
  ZONE_LABEL,
} from '#api/objects';
import type { InstanceType, Offering, Requirement, Snapshot, SolveOptions, StateNode } from '#engine/model';
import {
  daemon,
  instanceType,
  nodePool,
  OPTIONS,
  offering,
  oneOf,
  snapshot,
  stateNode,
} from '../../unit/engine/build.ts';
import { Draw } from '../../unit/engine/scenarios.ts';
import { daemonParts, GPU_COUNT, TAINTS, Workloads, ZONES } from './workloads.ts';

const without = (key: string): Requirement => ({ key, operator: 'DoesNotExist' });

function plainType(draw: Draw, index: number): InstanceType {
  const cpu = draw.of([1, 2, 4, 8, 16]);
  return instanceType(`type-${String(index).padStart(2, '0')}`, {
    cpu,
    gib: cpu * draw.of([1, 2, 4, 8]),
    pods: draw.of([4, 8, 110]),
    requirements: [
      oneOf(ARCH_LABEL, draw.chance(0.3) ? 'arm64' : 'amd64'),
      oneOf(OS_LABEL, 'linux'),
      oneOf(INSTANCE_FAMILY_LABEL, draw.of(['m', 'c', 'r'])),
      oneOf(INSTANCE_CPU_LABEL, String(cpu)),
      draw.chance(0.15) ? oneOf(GPU_COUNT, '1') : without(GPU_COUNT),
    ],
  });
}

function reservedOfferings(draw: Draw, id: string): readonly Offering[] {
  const [isAvailable, reservationCapacity] = [draw.chance(0.85), draw.below(3)];
  return ZONES.map((zone) => {
    const own = offering('reserved', zone, 1e-6, isAvailable);
    return {
      ...own,
      requirements: [...own.requirements, oneOf(CAPACITY_RESERVATION_ID_LABEL, id)],
      reservationCapacity,
    };
  });
}

/** Adds reservations as the AWS provider does: each type lists its reservations, or excludes the label. */
function withReservations(draw: Draw, type: InstanceType): InstanceType {
  const ids = [...new Set([draw.below(4), draw.below(4)].map((at) => `cr-${at}`))];
  if (draw.chance(0.5))
    return { ...type, requirements: [...type.requirements, without(CAPACITY_RESERVATION_ID_LABEL)] };
  const requirements = type.requirements.map((each) =>
    each.key === CAPACITY_TYPE_LABEL ? oneOf(each.key, ...(each.values ?? []), 'reserved') : each,
  );
  return {
    ...type,
    requirements: [...requirements, oneOf(CAPACITY_RESERVATION_ID_LABEL, ...ids)],
    offerings: [...type.offerings, ...ids.flatMap((id) => reservedOfferings(draw, id))],
  };
}

function instanceTypes(draw: Draw): readonly InstanceType[] {
  const plain = Array.from({ length: 4 + draw.below(10) }, (_, index) => plainType(draw, index));
  return draw.chance(0.35) ? plain.map((type) => withReservations(draw, type)) : plain;
}

function poolRequirements(draw: Draw): readonly Requirement[] {
  const [zones, team] = [draw.of([[draw.of(ZONES)], ['zone-a', 'zone-c']]), draw.of([['a'], ['a', 'b'], ['b', 'c']])];
  const minValues = draw.maybe(0.7, () => ({ minValues: 1 + draw.below(2) }));
  const family: Requirement = draw.of([
    { key: INSTANCE_FAMILY_LABEL, operator: 'Exists', ...minValues },
    { ...oneOf(INSTANCE_FAMILY_LABEL, 'm', 'c'), ...minValues },
    { key: INSTANCE_FAMILY_LABEL, operator: 'NotIn', values: ['m', 'c'], ...minValues },
  ] as const satisfies readonly Requirement[]);
  const all: readonly (readonly [number, Requirement])[] = [
    [0.3, { key: ZONE_LABEL, operator: draw.of(['In', 'In', 'NotIn']), values: zones }],
    [0.3, oneOf(CAPACITY_TYPE_LABEL, draw.of(['spot', 'on-demand']))],
    [0.3, oneOf(ARCH_LABEL, draw.of(['amd64', 'arm64']))],
    [
      0.25,
      { key: INSTANCE_CPU_LABEL, operator: draw.of(['Gt', 'Lt', 'Gte', 'Lte']), values: [draw.of(['1', '4', '8'])] },
    ],
    [0.2, family],
    [0.25, { key: INSTANCE_TYPE_LABEL, operator: 'Exists', minValues: 1 + draw.below(4) }],
    [0.3, { key: 'team', operator: draw.of(['In', 'In', 'NotIn']), values: team }],
    [0.1, { key: 'team', operator: 'Exists' }],
  ];
  return all.filter(([probability]) => draw.chance(probability)).map(([, requirement]) => requirement);
}

const pool = (draw: Draw, name: string): NodePool =>
  nodePool(name, {
    requirements: poolRequirements(draw) as NodePool['spec']['template']['spec']['requirements'],
    ...draw.maybe(0.3, () => ({ labels: { rack: draw.of(['r1', 'r2']) } })),
    taints: TAINTS.filter(() => draw.chance(0.15)),
    ...draw.maybe(0.3, () => ({ weight: 1 + draw.below(3) })),
    ...draw.maybe(0.3, () => ({
      limits: draw.of<Readonly<Record<string, string>>>([
        { cpu: draw.of(['8', '20', '100']) },
        { memory: draw.of(['8Gi', '20Gi', '100Gi']) },
        { nodes: draw.of(['0', '1', '3']) },
      ]),
    })),
  });

interface Cluster {
  readonly draw: Draw;
  readonly workloads: Workloads;
  readonly pools: readonly NodePool[];
  readonly daemonPods: readonly Pod[];
}

function boundPods({ draw, workloads, daemonPods }: Cluster, nodeName: string): readonly Pod[] {
  const pods = workloads
    .pods(`bound-${nodeName}`, draw.below(4), { nodeName })
    .map((each) => (draw.chance(0.1) ? { ...each, status: { phase: 'Succeeded' as const } } : each));
  const agents = daemonPods.slice(0, draw.chance(0.3) ? 1 : 0).map((each) => ({
    ...each,
    metadata: { ...each.metadata, name: `${each.metadata.name}-${nodeName}` },
    spec: { ...each.spec, nodeName },
    status: { phase: 'Running' as const },
  }));
  return [...pods, ...agents];
}

function node(cluster: Cluster, name: string): StateNode {
  const { draw, pools } = cluster;
  const own = stateNode(name, {
    labels: {
      [ZONE_LABEL]: draw.of(ZONES),
      [ARCH_LABEL]: 'amd64',
      [OS_LABEL]: 'linux',
      [CAPACITY_TYPE_LABEL]: 'spot',
      [INSTANCE_TYPE_LABEL]: 'type-00',
      ...draw.maybe(0.4, () => ({ team: draw.of(['a', 'b']) })),
      ...draw.maybe(0.3, () => ({ rack: draw.of(['r1', 'r3']) })),
    },
    pool: draw.of(pools).metadata.name,
    taints: TAINTS.filter(() => draw.chance(0.1)),
    allocatable: { cpu: draw.of(['2', '4', '8']), memory: draw.of(['8Gi', '16Gi']), pods: draw.of(['5', '110']) },
    pods: boundPods(cluster, name),
    initialized: draw.chance(0.8),
    markedForDeletion: draw.chance(0.15),
  });
  if (draw.chance(0.7)) return own;
  const drivers = [{ name: 'ebs.csi.aws.com', nodeID: name, allocatable: { count: 1 + draw.below(2) } }];
  return {
    ...own,
    csiNode: { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name }, spec: { drivers } },
  };
}

/** Returns the pods of deleted nodes, which need a place, too. */
const leavingPods = (nodes: readonly StateNode[]): readonly Pod[] =>
  nodes
    .filter(({ markedForDeletion }) => markedForDeletion)
    .flatMap(({ pods }) =>
      pods.filter(({ metadata, status }) => status?.phase === 'Running' && !metadata.ownerReferences),
    );

const namespace = (name: string, labels: Readonly<Record<string, string>>) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});

export interface DrawnCluster {
  readonly snapshot: Snapshot;
  readonly options: SolveOptions;
}

export function drawnCluster(seed: number): DrawnCluster {
  const draw = new Draw(seed);
  const types = instanceTypes(draw);
  const pools = Array.from({ length: 1 + draw.below(3) }, (_, index) => pool(draw, `pool-${index}`));
  const workloads = new Workloads(draw);
  const pending = Array.from({ length: 1 + draw.below(6) }, (_, index) =>
    workloads.pods(`pending-${index}`, 1 + draw.below(6)),
  ).flat();
  // In a namespace that no rule selects, because the reference does not count DaemonSets for affinity.
  const daemonPods = Array.from({ length: draw.below(3) }, (_, index) =>
    daemon(`agent-${index}`, { ...daemonParts(draw), namespace: 'kube-system' }),
  );
  const cluster: Cluster = { draw, workloads, pools, daemonPods };
  const nodes = Array.from({ length: draw.below(5) }, (_, index) => node(cluster, `node-${index}`));
  const { persistentVolumes, persistentVolumeClaims, storageClasses } = workloads;
  return {
    snapshot: snapshot({
      pools,
      types,
      nodes,
      pendingPods: [...pending, ...(draw.chance(0.5) ? leavingPods(nodes) : [])],
      daemonPods,
      namespaces: [namespace('default', { watched: 'yes' }), namespace('other', {})],
      persistentVolumes,
      persistentVolumeClaims,
      storageClasses,
    }),
    options: {
      ...OPTIONS,
      preferencePolicy: draw.chance(0.8) ? 'Respect' : 'Ignore',
      minValuesPolicy: draw.chance(0.7) ? 'Strict' : 'BestEffort',
      reservedMode: draw.chance(0.7) ? 'strict' : 'fallback',
    },
  };
}
