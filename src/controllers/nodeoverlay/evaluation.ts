/** Evaluates all NodeOverlays together, and reports in their conditions which overlays are in force. */
import { type ConditionUpdate, isTrue, NODEOVERLAY_CONDITIONS, READY, setCondition } from '../../api/conditions.ts';
import { NODE_OVERLAY, NODE_POOL } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/kubernetes.ts';
import type { NodeOverlay } from '../../api/nodeoverlay.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { packingPolicy } from '../../api/policy.ts';
import type { PoolInput } from '../../engine/model.ts';
import { evaluationSteps, MOST_OVERLAYS, type OverlayEvaluation } from '../../engine/overlays.ts';
import type { StoreListener } from '../../kube/client.ts';
import { writeChanges } from '../../kube/patch.ts';
import { after, type KeyedWorker } from '../../kube/reconciler.ts';
import { withBoundedConcurrency } from '../../lib/bounded-concurrency.ts';
import { inSlices } from '../../lib/yielding.ts';
import type { Logger } from '../../observe/logger.ts';
import { managedPools } from '../../planner/node-pools.ts';
import { poolInputs } from '../../planner/pool-inputs.ts';
import type { Deps } from '../deps.ts';
import { nodeClassKinds } from '../node-classes.ts';
import type { Overlays } from './overlays.ts';

const REVIEW_MS = 6 * 3600_000;
/** Interval of retries if the instance types of a NodePool cannot be listed, for example because its NodeClass is not ready. */
const UNRESOLVED_MS = 10_000;
const TYPE = 'ValidationSucceeded';
const AT_ONCE = 10;

/**
 * @param deps `deps.cloud` must be the cloud without overlays
 * @param onChange called if the instance types of any NodePool change
 */
export function overlayEvaluation(deps: Deps, overlays: Overlays, onChange: () => void): KeyedWorker {
  const { client, clock, cloud, cluster, informers } = deps;
  const store = informers.store(NODE_OVERLAY, {}, { optional: true });

  const inputsOf = (pools: readonly NodePool[], log: Logger): Promise<readonly PoolInput[]> =>
    poolInputs(pools, {
      catalogue: { instanceTypes: (pool) => cloud.instanceTypes(pool) },
      policy: packingPolicy(),
      nodeHourlyFee: 0,
      onProblem: ({ nodePool, error }) =>
        log.debug('unable to resolve instance types', { NodePool: { name: nodePool.metadata.name }, error }),
    });

  async function writeCondition(overlay: NodeOverlay, { problems }: OverlayEvaluation): Promise<void> {
    const problem = problems.get(overlay.metadata.name);
    const update: ConditionUpdate = problem
      ? { type: TYPE, status: 'False', ...problem }
      : { type: TYPE, status: 'True' };
    const evaluated = setCondition(overlay, NODEOVERLAY_CONDITIONS, update, clock.now());
    await writeChanges(client, NODE_OVERLAY, { before: overlay, after: evaluated }, { part: 'status' });
  }

  return {
    name: 'nodeoverlay.controller',
    keyed: true,
    concurrency: 1,
    bind: (add) => {
      const wake: StoreListener<KubeObject> = (event, object, before) => {
        if (event !== 'updated' || hasNewSpec(object, before)) add(NODE_OVERLAY.plural);
      };
      store.subscribe(wake);
      for (const kind of nodeClassKinds(cloud)) informers.store(kind).subscribe(wake);
      informers.store(NODE_POOL).subscribe((event, pool, before) => {
        wake(event, pool, before);
        if (isTrue(pool, READY) && before && !isTrue(before, READY)) add(NODE_OVERLAY.plural);
      });
      add(NODE_OVERLAY.plural);
    },

    async reconcile(_, { log }) {
      const pools = managedPools(cluster).filter(({ metadata }) => !metadata.deletionTimestamp);
      const inputs = await inputsOf(pools, log);
      const evaluation = await inSlices(evaluationSteps(store.list(), inputs), clock);
      const { present } = evaluation;
      if (present.length > MOST_OVERLAYS)
        log.error('ignoring node overlays that exceed the limit', {
          count: present.length - MOST_OVERLAYS,
          limit: MOST_OVERLAYS,
        });
      const evaluated = new Set([...evaluation.evaluated].map(({ metadata }) => metadata.name));
      if (overlays.replace(evaluation.accepted, evaluated)) {
        cluster.markChanged();
        onChange();
      }
      await withBoundedConcurrency(present, AT_ONCE, (overlay) => writeCondition(overlay, evaluation));
      return after(evaluated.size < pools.length ? UNRESOLVED_MS : REVIEW_MS);
    },
  };
}

const hasNewSpec = (object: KubeObject, before: KubeObject | undefined): boolean =>
  object.metadata.generation !== before?.metadata.generation ||
  object.metadata.deletionTimestamp !== before?.metadata.deletionTimestamp;
