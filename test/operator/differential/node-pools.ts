/** NodePools of random clusters, and later changes by users. */
import type { KubeObject } from '#api/objects';
import { type Dice, oneIn } from '../random.ts';
import { ZONES } from './node-classes.ts';

export const CPU_LABEL = 'karpenter.k8s.aws/instance-cpu';
export const FAMILY_LABEL = 'karpenter.k8s.aws/instance-family';
export const CAPACITY_LABEL = 'karpenter.sh/capacity-type';
export const ZONE_LABEL = 'topology.kubernetes.io/zone';
export const ARCH_LABEL = 'kubernetes.io/arch';
const TAINT = { key: 'team', value: 'a', effect: 'NoSchedule' };

export interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
  readonly minValues?: number;
}

/** Parts of a NodePool that a later change can modify. */
export interface PoolParts {
  readonly name: string;
  readonly nodeClass: string;
  readonly requirements: readonly Requirement[];
  readonly spec: object;
  readonly labels: object;
  readonly taints: readonly object[];
  readonly startupTaints?: readonly object[];
  readonly consolidateAfter: string;
  readonly policy: string;
  readonly budgets: readonly object[];
}

export type PoolEdit = (parts: PoolParts) => PoolParts;

export const some = <T>(roll: Dice, from: readonly T[]): readonly T[] => {
  const kept = from.filter(() => oneIn(roll, 2));
  return kept.length > 0 ? kept : [roll.pick(from)];
};

function requirements(roll: Dice): readonly Requirement[] {
  const found: Requirement[] = [
    { key: CAPACITY_LABEL, operator: 'In', values: some(roll, ['on-demand', 'spot']) },
    { key: CPU_LABEL, operator: 'In', values: some(roll, ['2', '4', '8', '16']) },
  ];
  if (oneIn(roll, 2)) found.push({ key: ARCH_LABEL, operator: 'In', values: some(roll, ['amd64', 'arm64']) });
  if (oneIn(roll, 3)) found.push({ key: ZONE_LABEL, operator: 'In', values: some(roll, ZONES) });
  if (oneIn(roll, 6)) found.push({ key: FAMILY_LABEL, operator: 'Exists', minValues: 1 + roll.upTo(9) });
  if (oneIn(roll, 12)) found.push({ key: FAMILY_LABEL, operator: 'In', values: ['nothing9x'] });
  // the API server accepts this value, but the NodePool's own validation rejects it
  if (oneIn(roll, 14)) found.push({ key: 'example.com/odd', operator: 'In', values: ['not a value'] });
  return found;
}

/**
 * Requirements of static NodePools. They retry launches indefinitely, so without capacity the cluster would never
 * settle.
 */
const MODEST: readonly Requirement[] = [
  { key: CAPACITY_LABEL, operator: 'In', values: ['on-demand'] },
  { key: CPU_LABEL, operator: 'In', values: ['2', '4'] },
];

export function poolParts(roll: Dice, name: string, classes: readonly string[]): PoolParts {
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
    budgets: [{ nodes: '0' }],
  };
}

/** Changes that a user may make to a NodePool with nodes. */
const EDITS: readonly ((roll: Dice) => PoolEdit)[] = [
  () => (parts) => parts,
  () => (parts) => ({ ...parts, labels: { ...parts.labels, edited: 'yes' } }),
  (roll) => {
    const changed = requirements(roll);
    return (parts) => ({ ...parts, requirements: changed });
  },
  () => (parts) => ({ ...parts, taints: [...parts.taints, { key: 'edited', effect: 'NoSchedule' }] }),
  () => (parts) => ({ ...parts, consolidateAfter: parts.consolidateAfter === 'Never' ? '0s' : 'Never' }),
  () => (parts) => ({ ...parts, policy: 'WhenEmptyOrUnderutilized' }),
];

/** Returns a random edit together with a new disruption budget. */
export function poolEdit(roll: Dice): PoolEdit {
  const edit = roll.pick(EDITS)(roll);
  const nodes = roll.pick(['100%', '1', '0']);
  return (parts) => ({ ...edit(parts), budgets: [{ nodes }] });
}

export function nodePool(parts: PoolParts): KubeObject {
  const { name, labels, taints, startupTaints = [], consolidateAfter, policy: consolidationPolicy, budgets } = parts;
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      ...parts.spec,
      disruption: { consolidationPolicy, consolidateAfter, budgets },
      template: {
        metadata: { labels },
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: parts.nodeClass },
          expireAfter: 'Never',
          requirements: parts.requirements,
          ...(taints.length > 0 && { taints }),
          ...(startupTaints.length > 0 && { startupTaints }),
        },
      },
    },
  } as KubeObject;
}
