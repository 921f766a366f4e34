/**
 * Features of some random clusters. Each feature adds objects that the command line reads from a dump in its own way, or that
 * the operator sees in another way than a dump shows. Both sides fill the same cluster state, so priorities and protections of
 * pods do not vary.
 */
import type { KubeObject } from '#api/objects';
import { type Dice, oneIn } from '../random.ts';
import { type ClassParts, STATES, ZONES } from './node-classes.ts';
import { ARCH_LABEL, CAPACITY_LABEL, CPU_LABEL, type PoolParts, some, ZONE_LABEL } from './node-pools.ts';
import type { ClusterParts, Feature } from './parts.ts';
import { podParts } from './pods.ts';
import { volumes } from './volumes.ts';
import { endedJobs, limits, startupTaints, untried, workloads } from './waiting.ts';

const INSTANCE_TYPE_LABEL = 'node.kubernetes.io/instance-type';
/** Instance types of the small catalogue. */
const TYPES = ['c6i.xlarge', 'm5.large', 'm5.xlarge', 'm7g.large', 't3.large', 'r6i.2xlarge'];

const withOthers = (cluster: ClusterParts, ...others: readonly KubeObject[]): ClusterParts => ({
  ...cluster,
  others: [...cluster.others, ...others],
});

const withPools = (cluster: ClusterParts, change: (pool: PoolParts) => PoolParts): ClusterParts => ({
  ...cluster,
  pools: cluster.pools.map(change),
});

/**
 * Adds nodes that a user deletes while their pods cannot be evicted. These pods are scheduled together with new pods.
 */
const drains: Feature = (roll, cluster) => {
  const apps = new Set(cluster.pods.map(({ app }) => app));
  const stays = [...apps].filter(() => oneIn(roll, 2));
  const budgets = stays.map((app) => ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: `${app}-stays`, namespace: 'default' },
    spec: { selector: { matchLabels: { app } }, minAvailable: 50 },
  }));
  const pools = cluster.pools.map(({ name }) => name);
  return withOthers(
    {
      ...cluster,
      drained: cluster.pods.filter(() => oneIn(roll, 2)).map(({ name }) => name),
      latePods: [...cluster.latePods, ...podParts(roll, `${cluster.id}-late`, pools)],
    },
    ...budgets,
  );
};

const IMAGES = [
  { arch: 'amd64', architecture: 'x86_64' },
  { arch: 'arm64', architecture: 'arm64' },
] as const;

/** Adds images selected by tag, newer images, and an alias that changes. */
const images: Feature = (roll, cluster) => {
  const { id } = cluster;
  const seeds = (age: string, dated: string) =>
    IMAGES.map(({ arch, architecture }) => ({
      name: `${id}-${arch}-${age}`,
      architecture,
      creationDate: dated,
      tags: { images: id },
    }));
  const tagged = oneIn(roll, 2);
  const classes = cluster.classes.map(
    (each): ClassParts =>
      each.state === 'ready' && tagged
        ? { ...each, spec: { ...each.spec, amiFamily: 'AL2023', amiSelectorTerms: [{ tags: { images: id } }] } }
        : each,
  );
  const [first] = classes;
  const realiased = { amiSelectorTerms: [{ alias: 'bottlerocket@latest' }] };
  const changedClasses = first === undefined ? [] : [{ ...first, spec: { ...first.spec, ...realiased } }];
  return {
    ...cluster,
    classes,
    disrupts: true,
    changedClasses: tagged ? [] : changedClasses,
    account: {
      ...cluster.account,
      images: tagged ? seeds('older', '2026-01-01T00:00:00Z') : [],
      laterImages: tagged && oneIn(roll, 2) ? seeds('newer', '2026-02-01T00:00:00Z') : [],
    },
  };
};

/** Adds DaemonSets that run on some nodes. */
const daemons: Feature = (roll, cluster) => {
  const sets = Array.from({ length: 1 + roll.upTo(1) }, (_, at) => {
    const name = `${cluster.id}-d${at}`;
    const wanted = roll.pick([
      {},
      { nodeSelector: { [ARCH_LABEL]: roll.pick(['amd64', 'arm64']) } },
      { nodeSelector: { [ZONE_LABEL]: roll.pick(ZONES) } },
      { nodeSelector: { tier: 'front' } },
      { tolerations: [{ operator: 'Exists' }] },
    ]);
    const requests = { cpu: roll.pick(['100m', '700m']), memory: roll.pick(['64Mi', '1Gi']) };
    return {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name, namespace: 'default' },
      spec: {
        selector: { matchLabels: { daemon: name } },
        template: {
          metadata: { labels: { daemon: name } },
          spec: {
            terminationGracePeriodSeconds: 0,
            containers: [{ name: 'main', image: 'pause', resources: { requests } }],
            ...wanted,
          },
        },
      },
    } as unknown as KubeObject;
  });
  return withOthers(cluster, ...sets);
};

/** Adds NodeOverlays that change prices. Some contradict each other. */
const prices: Feature = (roll, cluster) => {
  const about = (): object =>
    roll.pick([
      { key: INSTANCE_TYPE_LABEL, operator: 'In', values: some(roll, TYPES) },
      { key: CAPACITY_LABEL, operator: 'In', values: [roll.pick(['on-demand', 'spot'])] },
      { key: ZONE_LABEL, operator: 'In', values: some(roll, ZONES) },
      { key: 'karpenter.sh/nodepool', operator: 'In', values: [roll.pick(cluster.pools).name] },
      { key: CPU_LABEL, operator: 'Gt', values: ['3'] },
    ]);
  const overlays = Array.from({ length: 1 + roll.upTo(2) }, (_, at) => ({
    apiVersion: 'karpenter.sh/v1alpha1',
    kind: 'NodeOverlay',
    metadata: { name: `${cluster.id}-price${at}` },
    spec: {
      requirements: [about()],
      ...roll.pick([{ price: '0.05' }, { price: '3' }, { priceAdjustment: '+0.2' }, { priceAdjustment: '-35.5%' }]),
      ...(oneIn(roll, 3) ? {} : { weight: 1 + at }),
    },
  })) as unknown as readonly KubeObject[];
  return withOthers(cluster, ...overlays);
};

/** Adds capacity reservations, and NodePools that may use them. */
const reservations: Feature = (roll, cluster) => {
  const { id } = cluster;
  const reserved = Array.from({ length: 1 + roll.upTo(1) }, () => ({
    instanceType: roll.pick(TYPES),
    zone: roll.pick(ZONES),
    total: 1 + roll.upTo(2),
    tags: { reserved: id },
  }));
  const terms = { capacityReservationSelectorTerms: [{ tags: { reserved: id } }] };
  const classes = cluster.classes.map((each) => ({ ...each, spec: { ...each.spec, ...terms } }));
  const changedClasses = cluster.changedClasses.map((each) => ({ ...each, spec: { ...each.spec, ...terms } }));
  const allowing = withPools({ ...cluster, classes, changedClasses }, (pool) => ({
    ...pool,
    requirements: pool.requirements.map((each) =>
      each.key === CAPACITY_LABEL && !('replicas' in pool.spec)
        ? { ...each, values: ['reserved', ...(each.values ?? [])] }
        : each,
    ),
  }));
  return { ...allowing, account: { ...cluster.account, reservations: reserved } };
};

/** Adds NodeClasses in several states. One may be deleted while nodes use it. */
const manyClasses: Feature = (roll, cluster) => {
  const states = Array.from({ length: 2 + roll.upTo(1) }, () => roll.pick(STATES));
  const added = [...new Set(states)].map(
    (state): ClassParts => ({ name: `${cluster.id}-x-${state}`, state, spec: {} }),
  );
  const names = [...cluster.classes, ...added].map(({ name }) => name);
  const spread = withPools(cluster, (pool) => ({ ...pool, nodeClass: roll.pick(names) }));
  return {
    ...spread,
    classes: [...cluster.classes, ...added],
    removedClasses: oneIn(roll, 3) ? [`${cluster.id}-ready`] : [],
  };
};

const podSpec = (roll: Dice) => ({
  terminationGracePeriodSeconds: 0,
  restartPolicy: 'Never',
  containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: roll.pick(['500m', '3']) } } }],
});

/** Adds gated pods, pods of another scheduler, and Jobs without pods. Launches for them are forbidden. */
const untouched: Feature = (roll, cluster) => {
  const name = (kind: string): string => `${cluster.id}-${kind}`;
  const objectOf = (apiVersion: string, kind: string, of: string, spec: object) =>
    ({ apiVersion, kind, metadata: { name: name(of), namespace: 'default' }, spec }) as unknown as KubeObject;
  return withOthers(
    cluster,
    objectOf('v1', 'Pod', 'gated', { ...podSpec(roll), schedulingGates: [{ name: 'example.com/wait' }] }),
    objectOf('v1', 'Pod', 'foreign', { ...podSpec(roll), schedulerName: 'other-scheduler' }),
    objectOf('batch/v1', 'Job', 'suspended', {
      suspend: true,
      parallelism: 1 + roll.upTo(2),
      template: { spec: podSpec(roll) },
    }),
    objectOf('batch/v1', 'Job', 'external', {
      managedBy: 'example.com/queue',
      completions: 2,
      template: { spec: podSpec(roll) },
    }),
  );
};

export const FEATURES = {
  drains,
  images,
  daemons,
  prices,
  reservations,
  manyClasses,
  volumes,
  untouched,
  workloads,
  endedJobs,
  startupTaints,
  limits,
  untried,
} satisfies Readonly<Record<string, Feature>>;

export type FeatureName = keyof typeof FEATURES;
