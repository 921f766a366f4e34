/**
 * Random clusters: NodePools and NodeClasses in all states, pods of all kinds. The same seed makes the same cluster.
 */
import type { KubeObject } from '#api/objects';
import { type Dice, dice, oneIn } from '../random.ts';
import { FEATURES, type FeatureName } from './features.ts';
import { nodeClasses, STATES } from './node-classes.ts';
import { CPU_LABEL, nodePool, poolEdit, poolParts } from './node-pools.ts';
import type { Account, ClusterParts } from './parts.ts';
import { buffer, pod, podParts } from './pods.ts';

export interface RandomCluster {
  /** Objects that exist before the pods, NodeClasses first. */
  readonly objects: readonly KubeObject[];
  /** Pods and workloads that create pods. */
  readonly pods: readonly KubeObject[];
  /** Pods that are created after the operator has detected the shortages. Empty if there is no shortage. */
  readonly morePods: readonly KubeObject[];
  /** Pattern of the instance types without capacity. */
  readonly soldOut: string | undefined;
  /** Reports whether nodes must become ready and be disrupted, in addition to being launched. */
  readonly disrupts: boolean;
  /** Changes that a user makes once the nodes exist. */
  readonly changes: readonly KubeObject[];
  /** Names of pods that are deleted before the changes. */
  readonly leaving: readonly string[];
  /** Names of pods whose nodes a user deletes. */
  readonly drained: readonly string[];
  /** Pods that arrive after the nodes exist, and after the drains began. */
  readonly latePods: readonly KubeObject[];
  /** Contents of the AWS account: from the start, and added before the changes. */
  readonly account: Account;
  /** Names of NodeClasses that are deleted before the changes, and that remain until their nodes are gone. */
  readonly removedClasses: readonly string[];
}

/** Features of the clusters: random for each cluster, none (`small`), or a fixed list. */
export type Features = 'random' | 'small' | readonly FeatureName[];

function overlay(roll: Dice, name: string): KubeObject {
  const spec = {
    requirements: [{ key: CPU_LABEL, operator: 'In', values: [roll.pick(['2', '4', '8'])] }],
    ...(oneIn(roll, 3)
      ? { capacity: { 'example.com/device': '4' } }
      : { priceAdjustment: roll.pick(['-60%', '+80%']) }),
  };
  return { apiVersion: 'karpenter.sh/v1alpha1', kind: 'NodeOverlay', metadata: { name }, spec } as KubeObject;
}

function smallCluster(seed: number): ClusterParts {
  const roll = dice(seed * 7_919 + 13);
  const id = `s${seed}`;
  const states = ['ready' as const, ...(oneIn(roll, 2) ? [roll.pick(STATES)] : [])];
  const classes = states.map((state) => ({ name: `${id}-${state}`, state, spec: {} }));
  const names = classes.map(({ name }) => name);
  const pools = Array.from({ length: 1 + roll.upTo(3) }, (_, at) => poolParts(roll, `${id}-p${at}`, names));
  const poolNames = pools.map(({ name }) => name);
  const overlays = oneIn(roll, 5) ? [overlay(roll, `${id}-overlay`)] : [];
  const buffers = oneIn(roll, 10) ? buffer(roll, `${id}-buffer`) : [];
  const pods = Array.from({ length: 1 + roll.upTo(4) }, (_, at) => podParts(roll, `${id}-a${at}`, poolNames)).flat();
  const edits = pools.map(() => poolEdit(roll));
  const retagged = { name: `${id}-ready`, state: 'ready' as const, spec: { tags: { edited: 'yes' } } };
  const changedClasses = oneIn(roll, 5) ? [retagged] : [];
  const soldOut = oneIn(roll, 5) ? roll.pick(['c*', 'm*', '*.large', '*.xlarge']) : undefined;
  return {
    id,
    classes,
    changedClasses,
    pools,
    edits,
    pods,
    morePods: soldOut === undefined ? [] : podParts(roll, `${id}-more`, poolNames),
    latePods: [],
    arriving: [],
    // buffers without available capacity are retried indefinitely, so the cluster would never settle
    others: [...overlays, ...(soldOut === undefined ? buffers : [])],
    soldOut,
    disrupts: oneIn(roll, 3),
    leaving: pods.filter(() => oneIn(roll, 3)).map(({ name }) => name),
    drained: [],
    account: { images: [], reservations: [], laterImages: [] },
    removedClasses: [],
  };
}

const NAMES = Object.keys(FEATURES) as FeatureName[];

/** @throws RangeError that lists the valid names */
export function featuresNamed(text: string): Features {
  if (text === 'random' || text === 'small') return text;
  return text.split(',').map((wanted) => {
    const name = NAMES.find((each) => each === wanted);
    if (name === undefined)
      throw new RangeError(`--features: "${wanted}" is none of random, small, ${NAMES.join(', ')}`);
    return name;
  });
}

/** Returns no features for a third of the clusters and up to three for the remaining ones. */
function featuresOf(roll: Dice, features: Features): readonly FeatureName[] {
  if (features !== 'random') return features === 'small' ? [] : features;
  return Array.from({ length: roll.upTo(2) === 0 ? 0 : 1 + roll.upTo(2) }, () => roll.pick(NAMES));
}

export function randomCluster(seed: number, features: Features = 'random'): RandomCluster {
  const roll = dice(seed * 7_919 + 29);
  const chosen = new Set(featuresOf(roll, features));
  const parts = [...chosen].reduce((cluster, name) => FEATURES[name](roll, cluster), smallCluster(seed));
  const { pools, edits, soldOut, disrupts, leaving, drained, account, removedClasses } = parts;
  const edited = pools.map((pool, at) => edits[at]?.(pool) ?? pool);
  return {
    objects: [...nodeClasses(parts.classes), ...parts.others, ...pools.map(nodePool)],
    pods: [...parts.pods.map(pod), ...parts.arriving],
    morePods: parts.morePods.map(pod),
    latePods: parts.latePods.map(pod),
    changes: [...nodeClasses(parts.changedClasses), ...edited.map(nodePool)],
    ...{ soldOut, disrupts, leaving, drained, account, removedClasses },
  };
}
