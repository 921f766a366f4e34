/** Features of pods and NodePools that wait: workloads with volumes, Jobs in all states, startup taints, limits, untried pods. */
import type { KubeObject } from '#api/objects';
import { type Dice, oneIn } from '../random.ts';
import { ZONES } from './node-classes.ts';
import { some, ZONE_LABEL } from './node-pools.ts';
import type { ClusterParts, Feature } from './parts.ts';
import { type PodParts, podParts } from './pods.ts';

const any = (object: unknown): KubeObject => object as KubeObject;

const withLatePods = (roll: Dice, cluster: ClusterParts): ClusterParts => {
  const pools = cluster.pools.map(({ name }) => name);
  return {
    ...cluster,
    latePods: [...cluster.latePods, ...podParts(roll, `${cluster.id}-later${cluster.latePods.length}`, pools)],
  };
};

/** Returns a template with a pod that has the constraints of random pods. */
const templateOf = ({ app, annotations, spec }: PodParts, more: object = {}): object => ({
  metadata: { labels: { app }, annotations },
  spec: { ...spec, ...more },
});

const metadataOf = (name: string) => ({ name, namespace: 'default', labels: { app: name } });

/** Adds workloads whose pods are compared: StatefulSets with claim templates, Jobs, and Deployments with ephemeral volumes. */
export const workloads: Feature = (roll, cluster) => {
  const { id } = cluster;
  const storageClass = any({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: `${id}-late` },
    provisioner: 'ebs.csi.aws.com',
    volumeBindingMode: 'WaitForFirstConsumer',
    ...(oneIn(roll, 2) && {
      allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE_LABEL, values: some(roll, ZONES) }] }],
    }),
  });
  const claimSpec = {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '4Gi' } },
    storageClassName: `${id}-late`,
  };
  const pools = cluster.pools.map(({ name }) => name);
  const first = (kind: string): PodParts => podParts(roll, `${id}-${kind}`, pools)[0] as PodParts;
  const replicas = 1 + roll.upTo(2);
  const [set, job, web] = [first('set'), first('job'), first('web')];
  const selector = ({ app }: PodParts) => ({ matchLabels: { app } });
  const made = [
    any({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: metadataOf(set.app),
      spec: {
        replicas,
        podManagementPolicy: 'Parallel',
        serviceName: set.app,
        selector: selector(set),
        template: templateOf(set),
        volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claimSpec }],
      },
    }),
    any({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: metadataOf(job.app),
      spec: { parallelism: replicas, completions: 5, template: templateOf(job, { restartPolicy: 'Never' }) },
    }),
    any({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: metadataOf(web.app),
      spec: {
        replicas,
        selector: selector(web),
        template: templateOf(web, {
          volumes: [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: claimSpec } } }],
        }),
      },
    }),
  ];
  return {
    ...cluster,
    others: [...cluster.others, storageClass],
    arriving: [...cluster.arriving, ...some(roll, made)],
  };
};

/** Adds Jobs that have finished or failed. Their pods are gone. */
export const endedJobs: Feature = (roll, cluster) => {
  const ended = (['Complete', 'Failed'] as const).map((type, at) => {
    const requests = { cpu: roll.pick(['500m', '3']) };
    const container = { name: 'main', image: 'pause', resources: { requests } };
    return any({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: metadataOf(`${cluster.id}-ended${at}`),
      spec: {
        parallelism: 1 + roll.upTo(2),
        completions: 3,
        template: { spec: { restartPolicy: 'Never', containers: [container] } },
      },
      status: {
        conditions: [{ type, status: 'True' }],
        startTime: '2026-01-01T00:00:00Z',
        succeeded: at === 0 ? 3 : 1,
      },
    });
  });
  return { ...cluster, others: [...cluster.others, ...ended] };
};

/** Adds startup taints that no component removes, so nodes stay uninitialized, and pods that arrive later. */
export const startupTaints: Feature = (roll, cluster) => {
  const tainted = cluster.pools.map((pool) =>
    oneIn(roll, 2) ? pool : { ...pool, startupTaints: [{ key: 'example.com/starting', effect: 'NoSchedule' }] },
  );
  return withLatePods(roll, { ...cluster, pools: tainted });
};

/** Adds NodePools that reach their limits with the first nodes, and pods that arrive later. */
export const limits: Feature = (roll, cluster) => {
  const limited = cluster.pools.map((pool) =>
    'replicas' in pool.spec || oneIn(roll, 3)
      ? pool
      : {
          ...pool,
          spec: { ...pool.spec, limits: roll.pick([{ cpu: '2' }, { cpu: '4' }, { memory: '8Gi' }, { nodes: '1' }]) },
        },
  );
  return withLatePods(roll, { ...cluster, pools: limited });
};

/** Annotation with the number of replicas that the other scheduler has tried. */
export const TRIED_ANNOTATION = 'differential/tried';

/** Adds replicas of another scheduler, which has tried some of them. The operator treats the others alike. */
export const untried: Feature = (roll, cluster) => {
  const pools = cluster.pools.map(({ name }) => name);
  const parts = podParts(roll, `${cluster.id}-untried`, pools)[0] as PodParts;
  const replicas = 2 + roll.upTo(2);
  const made = any({
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { ...metadataOf(parts.app), annotations: { [TRIED_ANNOTATION]: String(roll.upTo(replicas)) } },
    spec: {
      replicas,
      selector: { matchLabels: { app: parts.app } },
      template: templateOf(parts, { schedulerName: 'other-scheduler' }),
    },
  });
  return { ...cluster, disrupts: false, arriving: [...cluster.arriving, made] };
};
