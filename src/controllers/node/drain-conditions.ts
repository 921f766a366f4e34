/** Shows the state of a drain in the conditions of the Node (KEP-5683), for other controllers and administrators. */
import { isTrue, NODE, type Node } from '#api/objects';
import { ApiError, unlessGone } from '#kube/client';
import { timestamp } from '#lib';
import type { Deps } from '../deps.ts';
import { OwnWrites } from '../own-writes.ts';
import type { TerminationStep } from './step.ts';

interface DrainState {
  readonly DrainInProgress: boolean;
  readonly Drained: boolean;
  readonly reason: string;
}

const DRAINING: DrainState = { DrainInProgress: true, Drained: false, reason: 'NodeTermination' };
const DRAINED: DrainState = { DrainInProgress: false, Drained: true, reason: 'DrainCompleted' };

const TYPES = ['DrainInProgress', 'Drained'] as const;

/** Returns the conditions that differ from the state. An absent condition is the same as `False`. */
const changedTypes = (node: Node, state: DrainState): readonly (typeof TYPES)[number][] =>
  TYPES.filter((type) => isTrue(node, type) !== state[type]);

/** Returns the step with a write after each change of its state. A write that fails does not delay the drain. */
export function showingDrain(deps: Deps, step: TerminationStep): TerminationStep {
  const { client, clock, cluster, log, settings } = deps;
  if (!settings.drainConditions) return step;
  const writes = new OwnWrites();
  let isDenied = false;
  cluster.stores.nodes.subscribe((event, { metadata }) => {
    if (event === 'deleted') writes.forget(metadata.name);
  });

  async function show(node: Node, state: DrainState): Promise<void> {
    const types = changedTypes(node, state);
    if (types.length === 0 || isDenied || writes.isBehind(node)) return;
    const nowText = timestamp(clock.now());
    const conditions = types.map((type) => ({
      type,
      status: state[type] ? 'True' : 'False',
      reason: state.reason,
      message: 'Karpenter terminates the node',
      lastHeartbeatTime: nowText,
      lastTransitionTime: nowText,
    }));
    const { name, uid } = node.metadata;
    // a strategic merge patch keeps the conditions of the kubelet, which writes at the same time
    const patch = { metadata: { uid }, status: { conditions } };
    try {
      writes.wrote(await unlessGone(client.patch(NODE, { name }, patch, { subresource: 'status', type: 'strategic' })));
    } catch (error) {
      isDenied = error instanceof ApiError && error.status === 403;
      if (isDenied) log.error('missing the right to show drains in the conditions of nodes', { error });
      else log.debug('failed writing the conditions of a drain', { Node: { name }, error });
    }
  }

  return async (leaving) => {
    const progress = await step(leaving);
    await show(leaving.node, progress.waitMs === undefined ? DRAINED : DRAINING);
    return progress;
  };
}
