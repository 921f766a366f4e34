/**
 * Reports NodePools with requirements that no instance type or zone of the NodeClass can satisfy, for example zones of another
 * region. Capacity that is only sold out does not count.
 */
import { getCondition, isFalse, isTrue, NODEPOOL_CONDITIONS, READY, setCondition } from '../../api/conditions.ts';
import { NODE_POOL } from '../../api/kinds.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { uidOf } from '../../api/object-fields.ts';
import { causeText } from '../../engine/causes/cause.ts';
import { instanceTypeCause } from '../../engine/causes/instance-type-cause.ts';
import type { InstanceType } from '../../engine/model.ts';
import { templateRequirements } from '../../engine/node-template.ts';
import { Requirements } from '../../engine/requirements.ts';
import { writeChanges } from '../../kube/patch.ts';
import { after, type Reconciler } from '../../kube/reconciler.ts';
import { eventOf } from '../../observe/events/declaration.ts';
import { REQUIREMENTS_NOT_OFFERED } from '../../observe/events/nodepools.ts';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { nodeClassesOfPools } from './conditions.ts';

const TYPE = 'RequirementsOffered';
/** Time between two checks. Offerings change if subnets or the instance types of AWS change. */
const PERIOD_MS = 5 * 60_000;

export function requirementsOffered(deps: Deps): Reconciler<NodePool> {
  const { client, clock, cloud, cluster, events, settings } = deps;

  /** Returns the cause for which the NodePool can never launch a node, if its instance types are known. */
  async function causeFor(pool: NodePool): Promise<string | undefined> {
    // other controllers report that instance types cannot be listed
    const types = await cloud.instanceTypes(pool).catch((): readonly InstanceType[] => []);
    if (types.length === 0) return undefined;
    const poolRequirements = templateRequirements(pool);
    const cause = instanceTypeCause({
      ...{ pool, poolRequirements, types, podRequirements: Requirements.EMPTY, requests: {} },
    });
    return cause === undefined || cause.code === 'sold-out' ? undefined : causeText(cause);
  }

  return {
    name: 'nodepool.offered',
    watches: NODE_POOL,
    concurrency: concurrency(settings, { min: 10, max: 1000 }),
    filter: (pool) => cluster.manages(pool.spec.template.spec.nodeClassRef),
    triggers: nodeClassesOfPools(deps),

    async reconcile(pool) {
      if (!isTrue(pool, READY) || pool.metadata.deletionTimestamp) return after(PERIOD_MS);
      const message = await causeFor(pool);
      // the condition is absent while a NodePool has never had this error
      if (message === undefined && getCondition(pool, TYPE) === undefined) return after(PERIOD_MS);
      const update =
        message === undefined
          ? ({ type: TYPE, status: 'True' } as const)
          : ({ type: TYPE, status: 'False', reason: 'RequirementsNotOffered', message } as const);
      const changed = setCondition(pool, NODEPOOL_CONDITIONS, update, clock.now());
      await writeChanges(client, NODE_POOL, { before: pool, after: changed }, { part: 'status', lock: true });
      if (message !== undefined) {
        const note = { message: REQUIREMENTS_NOT_OFFERED.message(message), dedupe: [uidOf(pool)] };
        events.publish(eventOf(REQUIREMENTS_NOT_OFFERED, pool, note));
      }
      return after(isFalse(changed, TYPE) ? PERIOD_MS / 5 : PERIOD_MS);
    },
  };
}
