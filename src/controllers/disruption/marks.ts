/** Marks disrupted nodes: a taint keeps new pods away, and a condition states the reason. */
import {
  clearCondition,
  DISRUPTED_TAINT,
  DO_NOT_DISRUPT_ANNOTATION,
  EMPTYING_TAINT,
  getCondition,
  NODE,
  NODE_CLAIM,
  NODECLAIM_CONDITIONS,
  type Node,
  type NodeClaim,
  setCondition,
  type Taint,
} from '#api/objects';
import type { DisruptionReason } from '#engine/disruption';
import { type StateNode, sameTaint } from '#engine/model';
import { unlessGone, writeChanges } from '#kube/client';
import { remembering, timestamp, withBoundedConcurrency } from '#lib';
import type { Deps } from '../deps.ts';
import { retryWrites } from '../retry.ts';
import { step } from './failures.ts';

const REASON = 'DisruptionReason';

type Writer = Pick<Deps, 'client' | 'clock' | 'random'>;

const carries = (node: Node, taint: Taint): boolean => (node.spec?.taints ?? []).some((own) => sameTaint(own, taint));

const carriesTaint = (node: Node): boolean => carries(node, DISRUPTED_TAINT);

/** Adds or removes a taint. Does not change a tainted Node that is being deleted, because node termination added the taint. */
async function setTaint(
  writer: Writer,
  { node, nodeClaim }: StateNode,
  { taint, wanted }: { readonly taint: Taint; readonly wanted: boolean },
): Promise<void> {
  if (node === undefined || nodeClaim === undefined) return;
  const { client } = writer;
  const write = async (): Promise<void> => {
    const before = await client.get(NODE, { name: node.metadata.name });
    // the annotation may be newer than the cache
    if (
      wanted &&
      sameTaint(taint, DISRUPTED_TAINT) &&
      before.metadata.annotations?.[DO_NOT_DISRUPT_ANNOTATION] === 'true'
    )
      throw new Error(`Node "${before.metadata.name}" has the annotation ${DO_NOT_DISRUPT_ANNOTATION}`);
    const isTainted = carries(before, taint);
    if (isTainted === wanted || (isTainted && before.metadata.deletionTimestamp)) return;
    const others = (before.spec?.taints ?? []).filter((other) => !sameTaint(other, taint));
    const taints = wanted ? [...others, taint] : others;
    const after: Node = { ...before, spec: { ...before.spec, taints } };
    await writeChanges(client, NODE, { before, after }, { part: 'object', lock: true });
  };
  await unlessGone(retryWrites(writer, write));
}

async function changeStatus(
  writer: Writer,
  { nodeClaim }: StateNode,
  change: (claim: NodeClaim) => NodeClaim,
): Promise<void> {
  if (nodeClaim === undefined) return;
  const { client } = writer;
  const write = async (): Promise<void> => {
    const before = await client.get(NODE_CLAIM, { name: nodeClaim.metadata.name });
    await writeChanges(client, NODE_CLAIM, { before, after: change(before) }, { part: 'status', lock: true });
  };
  await unlessGone(retryWrites(writer, write));
}

export async function mark(writer: Writer, stateNode: StateNode, reason: DisruptionReason): Promise<void> {
  await setTaint(writer, stateNode, { taint: DISRUPTED_TAINT, wanted: true });
  const update = { type: REASON, status: 'True', reason, message: reason } as const;
  await changeStatus(writer, stateNode, (claim) =>
    setCondition(claim, NODECLAIM_CONDITIONS, update, writer.clock.now()),
  );
}

export const untaint = (writer: Writer, stateNode: StateNode): Promise<void> =>
  setTaint(writer, stateNode, { taint: DISRUPTED_TAINT, wanted: false });

/** Marks a node as emptying, so that kube-scheduler fills it last, or removes the mark. */
export const setEmptying = (writer: Writer, stateNode: StateNode, wanted: boolean): Promise<void> =>
  setTaint(writer, stateNode, { taint: { ...EMPTYING_TAINT, timeAdded: timestamp(writer.clock.now()) }, wanted });

export const withdrawReason = (writer: Writer, stateNode: StateNode): Promise<void> =>
  changeStatus(writer, stateNode, (claim) => clearCondition(claim, NODECLAIM_CONDITIONS, REASON, writer.clock.now()));

/**
 * Returns true if the cache shows the taint on a node. Ignores nodes without a NodeClaim, because the operator does not manage
 * them.
 */
export const isTainted = ({ node, nodeClaim }: StateNode): boolean =>
  node !== undefined && nodeClaim !== undefined && carriesTaint(node);

/** Returns true if the cache shows a disruption reason on the NodeClaim of an initialized node. */
export const hasReason = ({ initialized, nodeClaim }: StateNode): boolean =>
  initialized && nodeClaim !== undefined && getCondition(nodeClaim, REASON) !== undefined;

/** Maximum number of nodes whose marks are removed concurrently. */
const AT_ONCE = 20;

/** Nodes with marks. The cache key is the list of all nodes, because each change of the cluster creates a new list. */
const markedAmong = remembering((nodes: readonly StateNode[]) => ({
  tainted: nodes.filter(isTainted),
  withReason: nodes.filter(hasReason),
}));

/** Removes the marks of nodes for which `isStale` returns true. */
export async function removeMarks(
  deps: Writer & Pick<Deps, 'cluster'>,
  isStale: (node: StateNode) => boolean,
): Promise<void> {
  const { tainted, withReason } = markedAmong(deps.cluster.nodes());
  await step('removing taint from nodes', () =>
    withBoundedConcurrency(tainted.filter(isStale), AT_ONCE, (node) => untaint(deps, node)),
  );
  await step('removing condition from nodeclaims', () =>
    withBoundedConcurrency(withReason.filter(isStale), AT_ONCE, (node) => withdrawReason(deps, node)),
  );
}
