/** Tells a NodePool whether its nodes manage to register. */
import { type ConditionUpdate, getCondition, isTrue, NODEPOOL_CONDITIONS, setCondition } from '../../api/conditions.ts';
import { NODE_POOL } from '../../api/kinds.ts';
import { NODEPOOL_LABEL } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { writeChanges } from '../../kube/patch.ts';
import type { Deps } from '../deps.ts';

const TYPE = 'NodeRegistrationHealthy';

/** @throws Requeue when the NodePool was written meanwhile: the outcome is not recorded then */
export async function recordRegistration(deps: Deps, claim: NodeClaim, success: boolean): Promise<void> {
  const pool = poolOf(deps, claim);
  const uid = pool?.metadata.uid;
  if (pool === undefined || uid === undefined) return;
  const health = deps.cluster.registrationHealth;
  const update = success
    ? recovered(pool, health.statusWith(uid, true))
    : broken(pool, claim, health.statusWith(uid, false));
  if (update) {
    const after = setCondition(pool, NODEPOOL_CONDITIONS, update, deps.clock.now());
    await writeChanges(deps.client, NODE_POOL, { before: pool, after }, { part: 'status', lock: true });
  }
  health.record(uid, success);
}

function poolOf({ cluster }: Deps, claim: NodeClaim): NodePool | undefined {
  const name = claim.metadata.labels?.[NODEPOOL_LABEL];
  const pool = name ? cluster.stores.nodePools.get({ name }) : undefined;
  const owned = (claim.metadata.ownerReferences ?? []).some(
    ({ kind, uid }) => kind === 'NodePool' && uid === pool?.metadata.uid,
  );
  return owned ? pool : undefined;
}

const recovered = (pool: NodePool, status: string): ConditionUpdate | undefined =>
  status === 'healthy' && !isTrue(pool, TYPE) ? { type: TYPE, status: 'True' } : undefined;

function broken(pool: NodePool, claim: NodeClaim, status: string): ConditionUpdate | undefined {
  if (status !== 'unhealthy' || getCondition(pool, TYPE)?.status === 'False') return undefined;
  const launched = getCondition(claim, 'Launched');
  if (launched === undefined || launched.status === 'True') {
    return { type: TYPE, status: 'False', reason: 'RegistrationFailed', message: 'Failed to register node' };
  }
  return {
    type: TYPE,
    status: 'False',
    reason: launched.reason ?? 'LaunchFailed',
    message: launched.message ?? '',
  };
}
