/** Conditions of NodePools: readiness of the NodeClass, validation, and health of registrations. */
import { getCondition, isTrue, NODEPOOL_CONDITIONS, setCondition } from '../../api/conditions.ts';
import { NODE_POOL } from '../../api/kinds.ts';
import { normalizeLabel, unknownValues } from '../../api/labels.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { nodeClassReadiness, validationOf } from '../../api/nodepool-readiness.ts';
import { writeChanges } from '../../kube/patch.ts';
import { type Reconciler, settled, type Trigger } from '../../kube/reconciler.ts';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { findNodeClass, isSame, nodeClassKinds } from '../node-classes.ts';

export function readiness(deps: Deps): Reconciler<NodePool> {
  const { client, clock, cluster, informers, settings } = deps;
  return {
    name: 'nodepool.readiness',
    watches: NODE_POOL,
    concurrency: concurrency(settings, { min: 10, max: 1000 }),
    filter: (pool) => cluster.manages(pool.spec.template.spec.nodeClassRef),
    triggers: nodeClassesOfPools(deps),

    async reconcile(pool) {
      const update = nodeClassReadiness(findNodeClass(informers, pool.spec.template.spec.nodeClassRef));
      const after = setCondition(pool, NODEPOOL_CONDITIONS, update, clock.now());
      await writeChanges(client, NODE_POOL, { before: pool, after }, { part: 'status', lock: true });
      return settled;
    },
  };
}

/** Checks the parts of a NodePool that the API server cannot validate. */
export function validation({ client, clock, cluster }: Deps): Reconciler<NodePool> {
  return {
    name: 'nodepool.validation',
    watches: NODE_POOL,
    concurrency: 10,
    filter: (pool) => cluster.manages(pool.spec.template.spec.nodeClassRef),

    async reconcile(pool, { log }) {
      for (const requirement of pool.spec.template.spec.requirements) {
        const { valid, invalid } = unknownValues(requirement);
        if (valid.length === 0 || invalid.length === 0) continue;
        log.error('please correct found invalid values, proceeding with valid values', {
          key: normalizeLabel(requirement.key),
          'valid-values': valid,
          'invalid-values': invalid,
        });
      }
      const after = setCondition(pool, NODEPOOL_CONDITIONS, validationOf(pool), clock.now());
      await writeChanges(client, NODE_POOL, { before: pool, after }, { part: 'status', lock: true });
      return settled;
    },
  };
}

const TYPE = 'NodeRegistrationHealthy';

/** Clears the registration results of a NodePool if the NodePool or its NodeClass changes, and restores them after a restart. */
export function registrationHealth(deps: Deps): Reconciler<NodePool> {
  const { client, clock, cluster, informers, settings } = deps;
  const health = cluster.registrationHealth;

  function recall(pool: NodePool, uid: string): void {
    if (health.status(uid) !== 'unknown') return;
    const condition = getCondition(pool, TYPE);
    if (isTrue(pool, TYPE)) health.record(uid, true);
    if (condition?.status === 'False') for (let failures = 0; failures < 2; failures += 1) health.record(uid, false);
  }

  return {
    name: 'nodepool.registrationhealth',
    watches: NODE_POOL,
    concurrency: concurrency(settings, { min: 10, max: 1000 }),
    filter: (pool) => cluster.manages(pool.spec.template.spec.nodeClassRef),
    triggers: nodeClassesOfPools(deps),

    async reconcile(pool) {
      const nodeClass = findNodeClass(informers, pool.spec.template.spec.nodeClassRef);
      const { uid, generation } = pool.metadata;
      const nodeClassGeneration = nodeClass?.metadata.generation;
      if (uid === undefined || nodeClassGeneration === undefined) return settled;
      const condition = getCondition(pool, TYPE);
      const isOutdated =
        condition === undefined ||
        condition.observedGeneration !== generation ||
        pool.status?.nodeClassObservedGeneration !== nodeClassGeneration;
      const unknown = {
        type: TYPE,
        status: 'Unknown',
        reason: 'AwaitingReconciliation',
        message: 'object is awaiting reconciliation',
      } as const;
      if (!isOutdated) recall(pool, uid);
      const judged = isOutdated ? setCondition(pool, NODEPOOL_CONDITIONS, unknown, clock.now()) : pool;
      const after: NodePool = {
        ...judged,
        status: { ...judged.status, nodeClassObservedGeneration: nodeClassGeneration },
      };
      await writeChanges(client, NODE_POOL, { before: pool, after }, { part: 'status', lock: true });
      if (isOutdated) health.clear(uid);
      return settled;
    },
  };
}

/** Triggers the NodePools that refer to a changed NodeClass. */
export function nodeClassesOfPools({ cloud, cluster }: Deps): readonly Trigger[] {
  return nodeClassKinds(cloud).map((kind) => ({
    kind,
    keysFor: ({ metadata }) =>
      cluster.stores.nodePools
        .list()
        .filter((pool) => {
          const reference = pool.spec.template.spec.nodeClassRef;
          return isSame(reference, kind) && reference.name === metadata.name;
        })
        .map((pool) => ({ name: pool.metadata.name })),
  }));
}
