/** Random pods with every rule that the scheduler supports, and their volumes. */
import {
  type Affinity,
  CAPACITY_TYPE_LABEL,
  HOSTNAME_LABEL,
  INSTANCE_CPU_LABEL,
  type LabelSelector,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type PodAffinityTerm,
  type PodVolume,
  type StorageClass,
  type Taint,
  type Toleration,
  type TopologySpreadConstraint,
  ZONE_LABEL,
} from '#api/objects';
import { oneOf, type PodParts, pod } from '../../unit/engine/build.ts';
import type { Draw } from '../../unit/engine/scenarios.ts';

export const ZONES = ['zone-a', 'zone-b', 'zone-c'];
export const GPU_COUNT = 'karpenter.k8s.aws/instance-gpu-count';
const APPS = ['a', 'b', 'c'];
const EBS_ZONE = 'topology.ebs.csi.aws.com/zone';

export const TAINTS: readonly Taint[] = [
  { key: 'dedicated', value: 'a', effect: 'NoSchedule' },
  { key: 'soft', value: 'x', effect: 'PreferNoSchedule' },
  { key: 'expelling', effect: 'NoExecute' },
];

const TOLERATIONS: readonly Toleration[] = [
  { key: 'dedicated', operator: 'Exists' },
  { operator: 'Exists', effect: 'NoExecute' },
  { key: 'soft', value: 'x', operator: 'Equal' },
  { operator: 'Exists' },
];

const app = (draw: Draw) => ({ matchLabels: { app: draw.of(APPS) } });

const selector = (draw: Draw): { readonly labelSelector?: LabelSelector } => {
  const all: readonly (LabelSelector | undefined)[] = [
    app(draw),
    app(draw),
    { matchExpressions: [{ key: 'app', operator: 'In', values: [draw.of(APPS), draw.of(APPS)] }] },
    { matchExpressions: [{ key: 'app', operator: 'Exists' }] },
    {},
    undefined,
  ];
  const labelSelector = draw.of(all);
  return labelSelector ? { labelSelector } : {};
};

const topologyKey = (draw: Draw): string =>
  draw.of([ZONE_LABEL, ZONE_LABEL, HOSTNAME_LABEL, HOSTNAME_LABEL, 'rack', 'team', EBS_ZONE]);

function expression(draw: Draw): NodeSelectorRequirement {
  const all: readonly NodeSelectorRequirement[] = [
    oneOf(ZONE_LABEL, draw.of(ZONES)),
    { key: ZONE_LABEL, operator: 'NotIn', values: [draw.of(ZONES)] },
    oneOf('beta.kubernetes.io/arch', 'arm64'),
    { key: INSTANCE_CPU_LABEL, operator: draw.of(['Gt', 'Lt']), values: [draw.of(['2', '4', '8'])] },
    { key: 'team', operator: draw.of(['In', 'NotIn']), values: [draw.of(['a', 'b', 'elsewhere'])] },
    { key: 'team', operator: draw.of(['Exists', 'DoesNotExist']) },
    oneOf('karpenter.sh/nodepool', draw.of(['pool-0', 'pool-1'])),
    { key: GPU_COUNT, operator: draw.of(['Exists', 'DoesNotExist']) },
    oneOf('rack', 'r1'),
    oneOf(CAPACITY_TYPE_LABEL, 'spot'),
  ];
  return draw.of(all);
}

const some = <T>(draw: Draw, most: number, one: (draw: Draw) => T): readonly T[] =>
  Array.from({ length: 1 + draw.below(most) }, () => one(draw));

const term = (draw: Draw): NodeSelectorTerm => ({ matchExpressions: some(draw, 2, expression) });
const weight = (draw: Draw): number => draw.of([1, 1, 10, 50]);

const podTerm = (draw: Draw): PodAffinityTerm => ({
  topologyKey: topologyKey(draw),
  ...selector(draw),
  ...draw.maybe(0.15, () => ({ namespaces: [draw.of(['default', 'other'])] })),
  ...draw.maybe(0.1, () => ({ namespaceSelector: draw.of([{}, { matchLabels: { watched: 'yes' } }]) })),
});

const nodeAffinity = (draw: Draw): Affinity['nodeAffinity'] => ({
  ...draw.maybe(0.2, () => ({
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: some(draw, 3, term) },
  })),
  ...draw.maybe(0.25, () => ({
    preferredDuringSchedulingIgnoredDuringExecution: some(draw, 3, () => ({
      weight: weight(draw),
      preference: term(draw),
    })),
  })),
});

const podAffinity = (draw: Draw): Affinity['podAffinity'] => ({
  ...draw.maybe(0.15, () => ({ requiredDuringSchedulingIgnoredDuringExecution: some(draw, 2, podTerm) })),
  ...draw.maybe(0.15, () => ({
    preferredDuringSchedulingIgnoredDuringExecution: some(draw, 2, () => ({
      weight: weight(draw),
      podAffinityTerm: podTerm(draw),
    })),
  })),
});

const spread = (draw: Draw): TopologySpreadConstraint => ({
  maxSkew: 1 + draw.below(2),
  topologyKey: topologyKey(draw),
  whenUnsatisfiable: draw.of(['DoNotSchedule', 'DoNotSchedule', 'ScheduleAnyway']),
  ...selector(draw),
  ...draw.maybe(0.2, () => ({ minDomains: 1 + draw.below(4) })),
  ...draw.maybe(0.2, () => ({ matchLabelKeys: draw.of([['version', 'unset'], ['unset']]) })),
  ...draw.maybe(0.3, () => ({ nodeTaintsPolicy: draw.of(['Honor', 'Ignore'] as const) })),
  ...draw.maybe(0.3, () => ({ nodeAffinityPolicy: draw.of(['Honor', 'Ignore'] as const) })),
});

const nodeSelector = (draw: Draw): Readonly<Record<string, string>> =>
  draw.of<Readonly<Record<string, string>>>([
    { [ZONE_LABEL]: draw.of(ZONES) },
    { team: draw.of(['a', 'b']) },
    { [CAPACITY_TYPE_LABEL]: draw.of(['spot', 'on-demand']) },
    { rack: 'r1' },
  ]);

/** Additional parts of DaemonSet pods. */
export const daemonParts = (draw: Draw): PodParts => ({
  cpu: '100m',
  memory: '64Mi',
  ...draw.maybe(0.2, () => ({ nodeSelector: nodeSelector(draw) })),
  affinity: { nodeAffinity: nodeAffinity(draw) ?? {} },
  ...draw.maybe(0.35, () => ({ tolerations: TOLERATIONS.filter(() => draw.chance(0.4)) })),
  ...draw.maybe(0.1, () => ({ hostPort: draw.of([8080, 9090]) })),
});

const podParts = (draw: Draw): PodParts => {
  const { affinity, ...shared } = daemonParts(draw);
  return {
    ...shared,
    cpu: draw.of(['100m', '500m', '1', '2', '3']),
    memory: draw.of(['128Mi', '512Mi', '1Gi', '4Gi']),
    labels: { app: draw.of([...APPS, 'other']), ...draw.maybe(0.3, () => ({ version: draw.of(['1', '2']) })) },
    namespace: draw.chance(0.9) ? 'default' : 'other',
    affinity: { ...affinity, podAffinity: podAffinity(draw) ?? {}, podAntiAffinity: podAffinity(draw) ?? {} },
    ...draw.maybe(0.3, () => ({ topologySpreadConstraints: some(draw, 2, spread) })),
  };
};

const storageClass = (name: string, more: Partial<StorageClass>): StorageClass => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name },
  provisioner: 'ebs.csi.aws.com',
  volumeBindingMode: 'WaitForFirstConsumer',
  ...more,
});

const allowed = (key: string, ...values: readonly string[]) => ({ matchLabelExpressions: [{ key, values }] });

/** Pods of a cluster, one workload after another, with their volumes. */
export class Workloads {
  readonly persistentVolumes: PersistentVolume[] = [];
  readonly persistentVolumeClaims: PersistentVolumeClaim[] = [];
  readonly storageClasses: readonly StorageClass[] = [
    storageClass('anywhere', {}),
    storageClass('zonal', {
      provisioner: 'kubernetes.io/aws-ebs',
      allowedTopologies: [allowed(EBS_ZONE, 'zone-b', 'zone-a'), allowed(ZONE_LABEL, 'zone-c')],
    }),
  ];
  readonly #draw: Draw;
  #uids = 0;

  constructor(draw: Draw) {
    this.#draw = draw;
  }

  /** Creates pods that share their requirements, but not their volumes. */
  pods(name: string, count: number, more: PodParts = {}): readonly Pod[] {
    const draw = this.#draw;
    const shared = { ...podParts(draw), ...more };
    const hasVolumes = !more.nodeName && draw.chance(0.15);
    return Array.from({ length: count }, (_, at) => {
      const volumes = hasVolumes ? some(draw, 2, () => this.#volume(shared.namespace ?? 'default')) : [];
      const own = pod(`${name}-${at}`, { ...shared, volumes });
      const creationTimestamp = draw.maybe(0.2, () => new Date(1.7e12 + draw.below(3) * 1000).toISOString());
      // Does not use the UIDs of the builder, because they depend on previously built objects.
      const uid = String(this.#uids++).padStart(8, '0');
      return { ...own, metadata: { ...own.metadata, uid, ...(creationTimestamp ? { creationTimestamp } : {}) } };
    });
  }

  #volume(namespace: string): PodVolume {
    const draw = this.#draw;
    const name = `volume-${this.persistentVolumeClaims.length}`;
    const isBound = draw.chance(0.5);
    if (isBound) this.persistentVolumes.push(this.#boundVolume(name));
    this.persistentVolumeClaims.push({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace, annotations: isBound ? { 'pv.kubernetes.io/bind-completed': 'yes' } : {} },
      spec: isBound ? { volumeName: name } : { storageClassName: draw.of(['anywhere', 'zonal']) },
      status: { phase: isBound ? 'Bound' : 'Pending' },
    });
    return { name, persistentVolumeClaim: { claimName: name } };
  }

  #boundVolume(name: string): PersistentVolume {
    const draw = this.#draw;
    const nodeSelectorTerms = some(draw, 2, () => ({
      matchExpressions: [
        oneOf(ZONE_LABEL, draw.of(ZONES)),
        ...(draw.chance(0.2) ? [oneOf(HOSTNAME_LABEL, 'node-0')] : []),
      ],
    }));
    const source = draw.chance(0.2) ? { local: {} } : { csi: { driver: 'ebs.csi.aws.com' } };
    const spec = { ...source, nodeAffinity: { required: { nodeSelectorTerms } } };
    return { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec };
  }
}
