/**
 * Decides which policy sets a section for a NodePool. Of the policies that select the NodePool and set the section, the most
 * specific is in force: names before labels before all. Of equally specific policies, it is the older, then the first by name.
 */
import { own, timeOf } from '#lib';
import type { NodePolicy, NodePolicySpec, PolicySection } from './nodepolicy.ts';
import { JOINT_SECTIONS, POLICY_SECTIONS } from './nodepolicy.ts';
import type { NodePool } from './nodepool.ts';

type Value<Section extends PolicySection> = NonNullable<NodePolicySpec[Section]>;

/** Section in force for a NodePool. */
export interface InForce<Section extends PolicySection> {
  readonly value: Value<Section>;
  /** Policy that sets it. */
  readonly policy: NodePolicy;
}

type Selected = Pick<NodePool, 'metadata'>;

/** Returns the section in force for a NodePool, or undefined if no policy sets it. */
export function sectionFor<Section extends PolicySection>(
  policies: readonly NodePolicy[],
  nodePool: Selected,
  section: Section,
): InForce<Section> | undefined {
  const [policy] = settersOf(policies, nodePool, section);
  const value = policy?.spec[section];
  return policy === undefined || value === undefined ? undefined : { policy, value };
}

/** Section of a policy that is not in force for a NodePool, because another policy sets it too. */
export interface Overruled {
  readonly section: PolicySection;
  readonly nodePool: string;
  /** Name of the policy in force. */
  readonly by: string;
  readonly reason: 'MoreSpecific' | 'Older';
}

/** Returns the sections of policies that are not in force, by name of the policy. */
export function overruledSections(
  policies: readonly NodePolicy[],
  nodePools: readonly Selected[],
): ReadonlyMap<string, readonly Overruled[]> {
  const found = nodePools.flatMap((nodePool) =>
    POLICY_SECTIONS.filter((section) => !JOINT_SECTIONS.has(section)).flatMap((section) => {
      const [first, ...rest] = settersOf(policies, nodePool, section);
      return rest.map((policy) => ({
        policy: policy.metadata.name,
        section,
        nodePool: nodePool.metadata.name,
        by: first?.metadata.name ?? '',
        reason:
          first !== undefined && specificity(first) > specificity(policy)
            ? ('MoreSpecific' as const)
            : ('Older' as const),
      }));
    }),
  );
  return Map.groupBy(found, ({ policy }) => policy);
}

/** Returns the policies that set a section for a NodePool. The first of them is in force. */
const settersOf = (
  policies: readonly NodePolicy[],
  nodePool: Selected,
  section: PolicySection,
): readonly NodePolicy[] =>
  policies.filter((policy) => policy.spec[section] !== undefined && selects(policy, nodePool)).sort(byPrecedence);

/** Returns true if a policy is for a NodePool. */
export function selects({ spec: { nodePools } }: NodePolicy, { metadata: { name, labels = {} } }: Selected): boolean {
  if (nodePools?.names !== undefined) return nodePools.names.includes(name);
  return Object.entries(nodePools?.matchLabels ?? {}).every(([key, value]) => own(labels, key) === value);
}

const byPrecedence = (a: NodePolicy, b: NodePolicy): number =>
  specificity(b) - specificity(a) || createdMs(a) - createdMs(b) || (a.metadata.name < b.metadata.name ? -1 : 1);

const specificity = ({ spec: { nodePools } }: NodePolicy): number =>
  nodePools?.names !== undefined ? 2 : nodePools?.matchLabels !== undefined ? 1 : 0;

/** A policy that is not stored yet counts as the newest. */
const createdMs = ({ metadata: { creationTimestamp } }: NodePolicy): number =>
  timeOf(creationTimestamp) || Number.MAX_SAFE_INTEGER;
