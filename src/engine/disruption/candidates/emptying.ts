/** Reads the mark of nodes that kube-scheduler should fill last. */
import { EMPTYING_TAINT, type Taint } from '#api/objects';
import { timeOf } from '#lib';
import { sameTaint } from '../../taints.ts';

interface Tainted {
  readonly taints: readonly Taint[];
}

const markOf = ({ taints }: Tainted): Taint | undefined => taints.find((taint) => sameTaint(taint, EMPTYING_TAINT));

/** Returns true if the node is marked. */
export const isEmptying = (node: Tainted): boolean => markOf(node) !== undefined;

/** Returns the time since which a node is marked. Returns undefined if it is not marked or the time is unknown. */
export const emptyingSinceMs = (node: Tainted): number | undefined => timeOf(markOf(node)?.timeAdded) || undefined;
