/** The topology groups that matter to the pods of one class. */
import { WELL_KNOWN_LABELS } from '../../api/labels.ts';
import { ValueSet } from '../value-set.ts';
import { type TopologyGroup, UNKNOWN } from './group.ts';

/** A group that restricts pods. */
export interface Binding {
  readonly group: TopologyGroup;
  /** Whether the group counts them. */
  readonly self: boolean;
  /** Domains that they may be in. */
  readonly pod: ValueSet;
  /** Domain ids of the nodes, by their position in the snapshot; negative where a node has none. */
  readonly nodes: Int32Array;
  /**
   * Whether it is a rule of other pods alone, which keep them away. As for kube-scheduler, such a rule holds in the
   * domains where those pods are: if a node without the label were closed as well, one pod with a made-up topology key
   * could keep all others from getting a node.
   */
  readonly isOthers: boolean;
}

/** Whether a binding has nothing against a place that will not have the label of its domains. */
export const sparesWithout = ({ isOthers, group }: Binding): boolean =>
  isOthers && !WELL_KNOWN_LABELS.has(group.rule.key);

export interface Relations {
  /** Groups of their own rules. */
  readonly own: readonly TopologyGroup[];
  /** Groups that restrict them: their own, and those of others that keep them away. */
  readonly all: readonly Binding[];
  /** Groups that count them. */
  readonly counting: readonly TopologyGroup[];
  /** Their own rules against others. */
  readonly repelling: readonly TopologyGroup[];
}

export class Bindings {
  readonly own: readonly TopologyGroup[];
  readonly all: readonly Binding[];
  /** Those that are by host, and the others. */
  readonly hosts: readonly Binding[];
  readonly domains: readonly Binding[];
  readonly counting: readonly TopologyGroup[];
  readonly repelling: readonly TopologyGroup[];

  constructor({ own, all, counting, repelling }: Relations) {
    this.own = own;
    this.all = all;
    this.hosts = all.filter(({ group }) => group.isByHost);
    this.domains = all.filter(({ group }) => !group.isByHost);
    this.counting = counting;
    this.repelling = repelling;
  }

  /** Whether the rules by host let a pod be on the host of a claim. */
  admitHost(host: number): boolean {
    for (const { group, self, pod } of this.hosts) if (!group.admitsHost(host, self, pod)) return false;
    return true;
  }

  /** Whether the rules let a pod be on the node at a position. */
  admitNode(node: number): boolean {
    for (const { group, self, pod, nodes, isOthers } of this.all) {
      const id = nodes[node] ?? UNKNOWN;
      if (id < 0 && isOthers) continue;
      if (group.isByHost ? !group.admitsHost(id, self, pod) : id < 0 || !group.admitsDomain(id, self, pod))
        return false;
    }
    return true;
  }

  /** Whether it is plain, without a look at any of them, that none of so many claims can take a pod. */
  closeClaims(claimCount: number): boolean {
    return (
      this.hosts.some(({ group, self }) => group.fullClaims(self) >= claimCount) ||
      this.domains.some(
        (binding) =>
          !sparesWithout(binding) &&
          binding.group.allowed({ ...binding, node: ValueSet.EXISTS, prefer: ([first]) => first }).length === 0,
      )
    );
  }
}
