/** Random clusters: NodePools and NodeClasses in all states, pods of all kinds. The same seed makes the same cluster. */
import type { KubeObject } from '../../../src/api/kubernetes.ts';
import { type Dice, dice } from '../random.ts';

export interface RandomCluster {
  /** What is there before the pods, NodeClasses first. */
  readonly objects: readonly KubeObject[];
  readonly pods: readonly KubeObject[];
  /** Come when it is known what is sold out; none without. */
  readonly morePods: readonly KubeObject[];
  /** Instance types that are sold out, as a pattern. */
  readonly soldOut: string | undefined;
  /** Whether nodes are to come to be and be disrupted, not only bought. */
  readonly disrupts: boolean;
  /** What a user changes once the nodes are there. */
  readonly changes: readonly KubeObject[];
  /** Names of pods that go before that. */
  readonly leaving: readonly string[];
}

const CPU_LABEL = 'karpenter.k8s.aws/instance-cpu';
const FAMILY_LABEL = 'karpenter.k8s.aws/instance-family';
const CAPACITY_LABEL = 'karpenter.sh/capacity-type';
const ZONE_LABEL = 'topology.kubernetes.io/zone';
const ARCH_LABEL = 'kubernetes.io/arch';
const ZONES = ['us-west-2a', 'us-west-2b', 'us-west-2c'];
const DISCOVERY = [{ tags: { 'karpenter.sh/discovery': 'test' } }];
const TAINT = { key: 'team', value: 'a', effect: 'NoSchedule' };

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
  readonly minValues?: number;
}

/** In one of so many cases. */
const oneIn = (roll: Dice, cases: number): boolean => roll.upTo(cases - 1) === 0;
const some = <T>(roll: Dice, from: readonly T[]): readonly T[] => {
  const kept = from.filter(() => oneIn(roll, 2));
  return kept.length > 0 ? kept : [roll.pick(from)];
};

/** How a NodeClass departs from a sound one; the sound one comes most often. */
const CLASS_STATES = {
  ready: {},
  'other-image': { amiSelectorTerms: [{ alias: 'bottlerocket@latest' }] },
  'few-pods': { kubelet: { maxPods: 8 } },
  'no-subnets': { subnetSelectorTerms: [{ tags: { none: 'such' } }] },
  'no-images': { amiSelectorTerms: [{ tags: { none: 'such' } }], amiFamily: 'AL2023' },
  'no-profile': { role: undefined, instanceProfile: 'nobody-made-it' },
} as const;
type ClassState = keyof typeof CLASS_STATES | 'missing';
const STATES: readonly ClassState[] = ['no-subnets', 'no-images', 'no-profile', 'missing', 'other-image', 'few-pods'];

function nodeClass(name: string, state: Exclude<ClassState, 'missing'>, more: object = {}): KubeObject {
  const spec = {
    role: 'KarpenterNodeRole-test',
    amiSelectorTerms: [{ alias: 'al2023@latest' }],
    subnetSelectorTerms: DISCOVERY,
    securityGroupSelectorTerms: DISCOVERY,
    ...CLASS_STATES[state],
    ...more,
  };
  return { apiVersion: 'karpenter.k8s.aws/v1', kind: 'EC2NodeClass', metadata: { name }, spec } as KubeObject;
}

function requirements(roll: Dice): readonly Requirement[] {
  const found: Requirement[] = [
    { key: CAPACITY_LABEL, operator: 'In', values: some(roll, ['on-demand', 'spot']) },
    { key: CPU_LABEL, operator: 'In', values: some(roll, ['2', '4', '8', '16']) },
  ];
  if (oneIn(roll, 2)) found.push({ key: ARCH_LABEL, operator: 'In', values: some(roll, ['amd64', 'arm64']) });
  if (oneIn(roll, 3)) found.push({ key: ZONE_LABEL, operator: 'In', values: some(roll, ZONES) });
  if (oneIn(roll, 6)) found.push({ key: FAMILY_LABEL, operator: 'Exists', minValues: 1 + roll.upTo(9) });
  if (oneIn(roll, 12)) found.push({ key: FAMILY_LABEL, operator: 'In', values: ['nothing9x'] });
  // the API server takes it, the NodePool's own validation does not
  if (oneIn(roll, 14)) found.push({ key: 'example.com/odd', operator: 'In', values: ['not a value'] });
  return found;
}

/** Of static NodePools, whose launches are tried without end: the cluster would never come to rest. */
const MODEST: readonly Requirement[] = [
  { key: CAPACITY_LABEL, operator: 'In', values: ['on-demand'] },
  { key: CPU_LABEL, operator: 'In', values: ['2', '4'] },
];

/** Parts of a NodePool that a later change takes up again. */
interface PoolParts {
  readonly name: string;
  readonly nodeClass: string;
  readonly requirements: readonly Requirement[];
  readonly spec: object;
  readonly labels: object;
  readonly taints: readonly object[];
  readonly consolidateAfter: string;
  readonly policy: string;
  readonly budget: string;
}

function nodePool(parts: PoolParts): KubeObject {
  const { name, labels, taints, consolidateAfter, policy: consolidationPolicy, budget } = parts;
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      ...parts.spec,
      disruption: { consolidationPolicy, consolidateAfter, budgets: [{ nodes: budget }] },
      template: {
        metadata: { labels },
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: parts.nodeClass },
          expireAfter: 'Never',
          requirements: parts.requirements,
          ...(taints.length > 0 && { taints }),
        },
      },
    },
  } as KubeObject;
}

function poolParts(roll: Dice, name: string, classes: readonly string[]): PoolParts {
  const isStatic = oneIn(roll, 8);
  return {
    name,
    nodeClass: roll.pick(classes),
    requirements: isStatic ? MODEST : requirements(roll),
    spec: {
      ...(isStatic ? { replicas: roll.upTo(1) } : oneIn(roll, 2) && { weight: 1 + roll.upTo(3) }),
      ...(!isStatic && oneIn(roll, 4) && { limits: { cpu: String(4 + roll.upTo(12)) } }),
    },
    labels: oneIn(roll, 3) ? { tier: roll.pick(['front', 'back']) } : {},
    taints: oneIn(roll, 6) ? [TAINT] : [],
    consolidateAfter: oneIn(roll, 5) ? 'Never' : '0s',
    policy: roll.pick(['WhenEmpty', 'WhenEmptyOrUnderutilized', 'WhenEmptyOrUnderutilized']),
    budget: '0',
  };
}

/** What pods ask of nodes beyond resources, given a label value that they share and the names of the NodePools. */
const WISHES: readonly ((roll: Dice, app: string, pools: readonly string[]) => object)[] = [
  () => ({}),
  () => ({}),
  (roll) => ({ nodeSelector: { [CAPACITY_LABEL]: roll.pick(['on-demand', 'spot']) } }),
  (roll) => ({ nodeSelector: { [ZONE_LABEL]: roll.pick([...ZONES, 'us-west-2z']) } }),
  (roll, _, pools) => ({ nodeSelector: { 'karpenter.sh/nodepool': roll.pick([...pools, 'nobody']) } }),
  (roll) => ({ nodeSelector: { tier: roll.pick(['front', 'back']) } }),
  () => ({ tolerations: [{ key: 'team', operator: 'Exists' }] }),
  (_, app) => ({
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { labelSelector: { matchLabels: { app } }, topologyKey: 'kubernetes.io/hostname' },
        ],
      },
    },
  }),
  (roll, app) => ({
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: roll.pick([ZONE_LABEL, 'kubernetes.io/hostname']),
        whenUnsatisfiable: roll.pick(['DoNotSchedule', 'ScheduleAnyway']),
        labelSelector: { matchLabels: { app } },
      },
    ],
  }),
];

function podsOf(roll: Dice, app: string, pools: readonly string[]): readonly KubeObject[] {
  const cpu = roll.pick(['300m', '900m', '1500m', '3', '7', '40']);
  const memory = roll.pick(['256Mi', '1Gi', '6Gi']);
  const wish = roll.pick(WISHES)(roll, app, pools);
  const isGuarded = oneIn(roll, 8);
  return Array.from({ length: 1 + roll.upTo(3) }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${app}-${index}`,
      namespace: 'default',
      labels: { app },
      ...(isGuarded && { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }),
    },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu, memory } } }],
      ...wish,
    },
  })) as unknown as readonly KubeObject[];
}

function overlay(roll: Dice, name: string): KubeObject {
  const spec = {
    requirements: [{ key: CPU_LABEL, operator: 'In', values: [roll.pick(['2', '4', '8'])] }],
    ...(oneIn(roll, 3)
      ? { capacity: { 'example.com/device': '4' } }
      : { priceAdjustment: roll.pick(['-60%', '+80%']) }),
  };
  return { apiVersion: 'karpenter.sh/v1alpha1', kind: 'NodeOverlay', metadata: { name }, spec } as KubeObject;
}

function buffer(roll: Dice, name: string): readonly KubeObject[] {
  const requests = { cpu: roll.pick(['500m', '2']), memory: '512Mi' };
  const template = { spec: { containers: [{ name: 'main', image: 'pause', resources: { requests } }] } };
  const metadata = { name, namespace: 'default' };
  return [
    { apiVersion: 'v1', kind: 'PodTemplate', metadata, template },
    {
      apiVersion: 'autoscaling.x-k8s.io/v1beta1',
      kind: 'CapacityBuffer',
      metadata,
      spec: { podTemplateRef: { name }, replicas: 1 + roll.upTo(1) },
    },
  ] as unknown as readonly KubeObject[];
}

/** What a user may do to a NodePool whose nodes are there. */
const EDITS: readonly ((roll: Dice, parts: PoolParts) => PoolParts)[] = [
  (_, parts) => parts,
  (_, parts) => ({ ...parts, labels: { ...parts.labels, edited: 'yes' } }),
  (roll, parts) => ({ ...parts, requirements: requirements(roll) }),
  (_, parts) => ({ ...parts, taints: [...parts.taints, { key: 'edited', effect: 'NoSchedule' }] }),
  (_, parts) => ({ ...parts, consolidateAfter: parts.consolidateAfter === 'Never' ? '0s' : 'Never' }),
  (_, parts) => ({ ...parts, policy: 'WhenEmptyOrUnderutilized' }),
];

export function randomCluster(seed: number): RandomCluster {
  const roll = dice(seed * 7_919 + 13);
  const id = `s${seed}`;
  const states = ['ready' as const, ...(oneIn(roll, 2) ? [roll.pick(STATES)] : [])];
  const classes = states.map((state) => ({ name: `${id}-${state}`, state }));
  const names = classes.map(({ name }) => name);
  const parts = Array.from({ length: 1 + roll.upTo(3) }, (_, at) => poolParts(roll, `${id}-p${at}`, names));
  const pools = parts.map(({ name }) => name);
  const made = classes.flatMap(({ name, state }) => (state === 'missing' ? [] : [nodeClass(name, state)]));
  const overlays = oneIn(roll, 5) ? [overlay(roll, `${id}-overlay`)] : [];
  const buffers = oneIn(roll, 10) ? buffer(roll, `${id}-buffer`) : [];
  const pods = Array.from({ length: 1 + roll.upTo(4) }, (_, at) => podsOf(roll, `${id}-a${at}`, pools)).flat();
  const edited = parts.map((part) => ({ ...roll.pick(EDITS)(roll, part), budget: roll.pick(['100%', '1', '0']) }));
  const retagged = oneIn(roll, 5) ? [nodeClass(`${id}-ready`, 'ready', { tags: { edited: 'yes' } })] : [];
  const soldOut = oneIn(roll, 5) ? roll.pick(['c*', 'm*', '*.large', '*.xlarge']) : undefined;
  return {
    // room for buffers that is sold out is looked for without end: the cluster would never come to rest
    objects: [...made, ...overlays, ...(soldOut === undefined ? buffers : []), ...parts.map(nodePool)],
    pods,
    soldOut,
    morePods: soldOut === undefined ? [] : podsOf(roll, `${id}-more`, pools),
    disrupts: oneIn(roll, 3),
    changes: [...retagged, ...edited.map(nodePool)],
    leaving: pods.filter(() => oneIn(roll, 3)).map(({ metadata }) => metadata.name),
  };
}
