/** Marks disrupted nodes: a taint keeps new pods away, and a condition states the reason. */
import { clearCondition, getCondition, NODECLAIM_CONDITIONS, setCondition } from '../../api/conditions.ts';
import { NODE, NODE_CLAIM } from '../../api/kinds.ts';
import type { Node } from '../../api/kubernetes.ts';
import { DISRUPTED_TAINT } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { DisruptionReason } from '../../engine/disruption/reasons.ts';
import type { StateNode } from '../../engine/model.ts';
import { sameTaint } from '../../engine/taints.ts';
import { unlessGone, writeChanges } from '../../kube/patch.ts';
import type { Deps } from '../deps.ts';
import { retried } from '../retry.ts';

const REASON = 'DisruptionReason';

type Writer = Pick<Deps, 'client' | 'clock' | 'random'>;

const carriesTaint = (node: Node): boolean =>
  (node.spec?.taints ?? []).some((taint) => sameTaint(taint, DISRUPTED_TAINT));

/** Adds or removes the taint. Does not change a tainted Node that is being deleted, because node termination added the taint. */
async function setTaint(writer: Writer, { node, nodeClaim }: StateNode, wanted: boolean): Promise<void> {
  if (node === undefined || nodeClaim === undefined) return;
  const { client } = writer;
  const write = async (): Promise<void> => {
    const before = await client.get(NODE, { name: node.metadata.name });
    const isTainted = carriesTaint(before);
    if (isTainted === wanted || (isTainted && before.metadata.deletionTimestamp)) return;
    const others = (before.spec?.taints ?? []).filter((taint) => !sameTaint(taint, DISRUPTED_TAINT));
    const taints = wanted ? [...others, DISRUPTED_TAINT] : others;
    const after: Node = { ...before, spec: { ...before.spec, taints } };
    await writeChanges(client, NODE, { before, after }, { part: 'object', lock: true });
  };
  await unlessGone(retried(writer, write));
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
  await unlessGone(retried(writer, write));
}

export async function mark(writer: Writer, stateNode: StateNode, reason: DisruptionReason): Promise<void> {
  await setTaint(writer, stateNode, true);
  const update = { type: REASON, status: 'True', reason, message: reason } as const;
  await changeStatus(writer, stateNode, (claim) =>
    setCondition(claim, NODECLAIM_CONDITIONS, update, writer.clock.now()),
  );
}

export const untaint = (writer: Writer, stateNode: StateNode): Promise<void> => setTaint(writer, stateNode, false);

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
