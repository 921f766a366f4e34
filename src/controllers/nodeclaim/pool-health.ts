/** Records on a NodePool if its nodes register successfully. */
import {
  type ConditionUpdate,
  getCondition,
  isTrue,
  NODE_POOL,
  NODEPOOL_CONDITIONS,
  NODEPOOL_LABEL,
  type NodeClaim,
  type NodePool,
  setCondition,
} from '#api/objects';
import { writeChanges } from '#kube/client';
import type { Deps } from '../deps.ts';
import { retryWrites } from '../retry.ts';

const TYPE = 'NodeRegistrationHealthy';

/**
 * Records the registration outcome of a NodeClaim. Many nodes of a NodePool may register at the same time, so a write that
 * conflicts is retried on the current NodePool. The outcome of a NodeClaim at a stage counts once, even if the reporting step
 * is retried.
 * @throws Requeue if the write conflicts repeatedly: the outcome is not recorded then
 */
export async function recordRegistration(
  deps: Deps,
  claim: NodeClaim,
  success: boolean,
  stage: 'Launched' | 'Registered' = 'Registered',
): Promise<void> {
  const { client, clock, cluster } = deps;
  const known = poolOf(deps, claim);
  const uid = known?.metadata.uid;
  if (known === undefined || uid === undefined) return;
  const health = cluster.registrationHealth;
  const of = `${claim.metadata.uid}/${stage}`;
  let pool: NodePool | undefined = known;
  await retryWrites(deps, async () => {
    pool ??= await client.find(NODE_POOL, { name: known.metadata.name });
    const before = pool;
    pool = undefined;
    if (before?.metadata.uid !== uid) return;
    const update = success
      ? recoveryUpdate(before, health.statusWith(uid, true, of))
      : failureUpdate(before, claim, health.statusWith(uid, false, of));
    if (update === undefined) return;
    const after = setCondition(before, NODEPOOL_CONDITIONS, update, clock.now());
    await writeChanges(client, NODE_POOL, { before, after }, { part: 'status', lock: true });
  });
  health.record(uid, success, of);
}

function poolOf({ cluster }: Deps, claim: NodeClaim): NodePool | undefined {
  const name = claim.metadata.labels?.[NODEPOOL_LABEL];
  const pool = name ? cluster.stores.nodePools.get({ name }) : undefined;
  const owned = (claim.metadata.ownerReferences ?? []).some(
    ({ kind, uid }) => kind === 'NodePool' && uid === pool?.metadata.uid,
  );
  return owned ? pool : undefined;
}

const recoveryUpdate = (pool: NodePool, status: string): ConditionUpdate | undefined =>
  status === 'healthy' && !isTrue(pool, TYPE) ? { type: TYPE, status: 'True' } : undefined;

function failureUpdate(pool: NodePool, claim: NodeClaim, status: string): ConditionUpdate | undefined {
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
