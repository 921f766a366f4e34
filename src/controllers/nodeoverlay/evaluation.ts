/** Evaluates all NodeOverlays together, and reports in their conditions which overlays are in force. */
import {
  type ConditionUpdate,
  isTrue,
  type KubeObject,
  NODE_OVERLAY,
  NODE_POOL,
  NODEOVERLAY_CONDITIONS,
  type NodeOverlay,
  type NodePool,
  READY,
  setCondition,
} from '#api/objects';
import { packingPolicy } from '#api/values';
import type { PoolInput } from '#engine/model';
import { evaluationSteps, MOST_OVERLAYS, type OverlayEvaluation } from '#engine/solve';
import { type StoreListener, writeChanges } from '#kube/client';
import { after, type KeyedWorker } from '#kube/reconcilers';
import { withBoundedConcurrency } from '#lib';
import { inSlices } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { managedPools, poolInputs } from '#planner';
import type { Deps } from '../deps.ts';
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
  const { client, clock, cloud, cluster, informers, settings } = deps;
  const store = informers.store(NODE_OVERLAY, {}, { optional: true });

  const inputsOf = (pools: readonly NodePool[], log: Logger): Promise<readonly PoolInput[]> =>
    poolInputs(pools, {
      catalogue: { instanceTypes: (pool) => cloud.instanceTypes(pool) },
      policy: packingPolicy(),
      policies: [],
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
      for (const kind of cloud.nodeClassKinds) informers.store(kind).subscribe(wake);
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
      if (settings.mode === 'act')
        await withBoundedConcurrency(present, AT_ONCE, (overlay) => writeCondition(overlay, evaluation));
      return after(evaluated.size < pools.length ? UNRESOLVED_MS : REVIEW_MS);
    },
  };
}

const hasNewSpec = (object: KubeObject, before: KubeObject | undefined): boolean =>
  object.metadata.generation !== before?.metadata.generation ||
  object.metadata.deletionTimestamp !== before?.metadata.deletionTimestamp;
