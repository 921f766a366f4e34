/** Conditions of NodePools: NodeClass, validation, registrations, and requirements that are offered. */
import {
  getCondition,
  isFalse,
  isTrue,
  NODE_POOL,
  NODEPOOL_CONDITIONS,
  type NodePool,
  normalizeLabel,
  READY,
  setCondition,
  uidOf,
  unknownValues,
} from '#api/objects';
import { withNodeClassReadiness, withValidation } from '#api/validation';
import { causeText, instanceTypeCause } from '#engine/explanations';
import { type InstanceType, Requirements, templateRequirements } from '#engine/model';
import { writeChanges } from '#kube/client';
import { after, type Reconciler, settled, type Trigger } from '#kube/reconcilers';
import { eventOf, REQUIREMENTS_NOT_OFFERED } from '#observe/events';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { findNodeClass, isSame } from '../node-classes.ts';

export function readiness(deps: Deps): Reconciler<NodePool> {
  const { client, clock, cluster, settings } = deps;
  return {
    name: 'nodepool.readiness',
    watches: NODE_POOL,
    concurrency: concurrency(settings, { min: 10, max: 1000 }),
    filter: (pool) => cluster.manages(pool.spec.template.spec.nodeClassRef),
    triggers: nodeClassesOfPools(deps),

    async reconcile(pool) {
      const nodeClass = findNodeClass(deps, pool.spec.template.spec.nodeClassRef);
      const after = withNodeClassReadiness(pool, nodeClass, clock.now());
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
      const after = withValidation(pool, clock.now());
      await writeChanges(client, NODE_POOL, { before: pool, after }, { part: 'status', lock: true });
      return settled;
    },
  };
}

const REGISTRATION_HEALTHY = 'NodeRegistrationHealthy';

/** Clears the registration results of a NodePool if the NodePool or its NodeClass changes, and restores them after a restart. */
export function registrationHealth(deps: Deps): Reconciler<NodePool> {
  const { client, clock, cluster, settings } = deps;
  const health = cluster.registrationHealth;

  function recall(pool: NodePool, uid: string): void {
    if (health.status(uid) !== 'unknown') return;
    const condition = getCondition(pool, REGISTRATION_HEALTHY);
    if (isTrue(pool, REGISTRATION_HEALTHY)) health.record(uid, true);
    if (condition?.status === 'False') for (let failures = 0; failures < 2; failures += 1) health.record(uid, false);
  }

  return {
    name: 'nodepool.registrationhealth',
    watches: NODE_POOL,
    concurrency: concurrency(settings, { min: 10, max: 1000 }),
    filter: (pool) => cluster.manages(pool.spec.template.spec.nodeClassRef),
    triggers: nodeClassesOfPools(deps),

    async reconcile(pool) {
      const nodeClass = findNodeClass(deps, pool.spec.template.spec.nodeClassRef);
      const { uid, generation } = pool.metadata;
      const nodeClassGeneration = nodeClass?.metadata.generation;
      if (uid === undefined || nodeClassGeneration === undefined) return settled;
      const condition = getCondition(pool, REGISTRATION_HEALTHY);
      const isOutdated =
        condition === undefined ||
        condition.observedGeneration !== generation ||
        pool.status?.nodeClassObservedGeneration !== nodeClassGeneration;
      const unknown = {
        type: REGISTRATION_HEALTHY,
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
function nodeClassesOfPools({ cloud, cluster }: Deps): readonly Trigger[] {
  return cloud.nodeClassKinds.map((kind) => ({
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

/**
 * Reports NodePools with requirements that no instance type or zone of the NodeClass can satisfy, for example zones of another
 * region. Capacity that is only sold out does not count.
 */
const REQUIREMENTS_OFFERED = 'RequirementsOffered';
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
      pool,
      poolRequirements,
      types,
      podRequirements: Requirements.EMPTY,
      requests: {},
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
      if (message === undefined && getCondition(pool, REQUIREMENTS_OFFERED) === undefined) return after(PERIOD_MS);
      const update =
        message === undefined
          ? ({ type: REQUIREMENTS_OFFERED, status: 'True' } as const)
          : ({ type: REQUIREMENTS_OFFERED, status: 'False', reason: 'RequirementsNotOffered', message } as const);
      const changed = setCondition(pool, NODEPOOL_CONDITIONS, update, clock.now());
      await writeChanges(client, NODE_POOL, { before: pool, after: changed }, { part: 'status', lock: true });
      if (message !== undefined) {
        const note = { message: REQUIREMENTS_NOT_OFFERED.message(message), dedupe: [uidOf(pool)] };
        events.publish(eventOf(REQUIREMENTS_NOT_OFFERED, pool, note));
      }
      return after(isFalse(changed, REQUIREMENTS_OFFERED) ? PERIOD_MS / 5 : PERIOD_MS);
    },
  };
}
