/**
 * Records the stages of the replacement of drifted nodes. An annotation has the start and the cause of a halt,
 * so that another leader continues the rollout. Everything else follows from the NodeClaims, nodes and pods.
 */
import { createHash } from 'node:crypto';
import {
  type Conditioned,
  type ConditionUpdate,
  clearCondition,
  getCondition,
  NODE_CLAIM,
  NODE_POLICY,
  NODE_POOL,
  NODEPOOL_CONDITIONS,
  type NodeClaim,
  type NodePool,
  poolNameOf,
  setCondition,
} from '#api/objects';
import { type Rollout, readRollout, rolloutRemedy, rolloutText, withRollout } from '#engine/disruption';
import { writeChanges } from '#kube/client';
import {
  after,
  type Key,
  type Outcome,
  type ReconcileContext,
  type Reconciler,
  settled,
  type Trigger,
} from '#kube/reconcilers';
import { eventOf, ROLLOUT_HALTED, ROLLOUT_STAGE } from '#observe/events';
import type { Logger } from '#observe/logger';
import { NODEPOOLS_ROLLOUT_DRIFTED_NODES, OwnedSeries } from '#observe/metrics';
import { rolloutIn } from '#planner';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { findNodeClass, isSame } from '../node-classes.ts';

/** Interval at which stages and faults are found that depend on time, nodes and pods. */
const INTERVAL_MS = 10_000;
const TYPE = 'DriftRollout';

/**
 * Returns a digest of the configuration of new nodes: the template of the NodePool, the spec of the NodeClass, and its images and
 * security groups. Excludes subnets and reservations, because their lists change with their free capacity.
 */
export function rolloutTarget({ spec }: NodePool, nodeClass: Conditioned): string {
  const { spec: settings, status = {} } = nodeClass as Conditioned & {
    readonly spec?: unknown;
    readonly status?: Readonly<Record<string, unknown>>;
  };
  const idsOf = (field: string): readonly string[] => {
    const items = (status as Readonly<Record<string, unknown>>)[field];
    return Array.isArray(items) ? items.map(({ id }) => String(id)).sort() : [];
  };
  const parts = [spec.template, settings, idsOf('amis'), idsOf('securityGroups')];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 12);
}

export class PoolRollouts implements Reconciler<NodePool> {
  readonly name = 'nodepool.rollout';
  readonly watches = NODE_POOL;
  readonly concurrency: number;
  readonly triggers: readonly Trigger[];
  readonly #deps: Deps;
  readonly #left: OwnedSeries;

  constructor(deps: Deps) {
    const { cloud, cluster, metrics, settings } = deps;
    this.#deps = deps;
    this.#left = new OwnedSeries(metrics, NODEPOOLS_ROLLOUT_DRIFTED_NODES);
    this.concurrency = concurrency(settings, { min: 10, max: 1000 });
    const { nodePools } = cluster.stores;
    const keys = (pools: readonly NodePool[]): readonly Key[] => pools.map(({ metadata: { name } }) => ({ name }));
    this.triggers = [
      { kind: NODE_POLICY, optional: true, keysFor: () => keys(nodePools.list()) },
      claimsOfRollouts,
      ...cloud.nodeClassKinds.map((kind) => ({
        kind,
        keysFor: ({ metadata }: Conditioned) =>
          keys(
            nodePools.list().filter(({ spec: { template } }) => {
              const { nodeClassRef } = template.spec;
              return isSame(nodeClassRef, kind) && nodeClassRef.name === metadata.name;
            }),
          ),
      })),
    ];
  }

  filter(pool: NodePool): boolean {
    return this.#deps.cluster.manages(pool.spec.template.spec.nodeClassRef);
  }

  removed({ name }: Key): void {
    this.#left.remove(name);
  }

  async reconcile(pool: NodePool, { log }: ReconcileContext): Promise<Outcome> {
    const { clock, cluster } = this.#deps;
    const record = readRollout(pool);
    const read = rolloutIn(cluster, pool, clock.now());
    const rollout = read?.rollout;
    if (read === undefined || rollout === undefined) {
      const recorded = await this.#record(pool, withRollout(pool, undefined));
      if (recorded !== undefined) await this.#show(recorded, undefined, log);
      return settled;
    }
    const nodeClass = findNodeClass(this.#deps, pool.spec.template.spec.nodeClassRef);
    if (nodeClass === undefined) return after(INTERVAL_MS);
    const target = rolloutTarget(pool, nodeClass);
    if (record?.target !== target) {
      // the change of the NodePool triggers the next run
      await this.#record(pool, withRollout(pool, read.start(target)));
      return after(INTERVAL_MS);
    }
    const recorded = await this.#record(pool, withRollout(pool, read.next));
    if (recorded !== undefined) await this.#show(recorded, rollout, log);
    return rollout.stage === 'Halted' ? settled : after(INTERVAL_MS);
  }

  #record(before: NodePool, after: NodePool): Promise<NodePool | undefined> {
    return writeChanges(this.#deps.client, NODE_POOL, { before, after }, { part: 'object', lock: true });
  }

  /** Shows the stage in the condition and the metric. Reports it if the condition shows another stage. */
  async #show(pool: NodePool, rollout: Rollout | undefined, log: Logger): Promise<void> {
    const { client, clock, events } = this.#deps;
    const { name } = pool.metadata;
    const known = getCondition(pool, TYPE);
    const after =
      rollout === undefined
        ? clearCondition(pool, NODEPOOL_CONDITIONS, TYPE, clock.now())
        : setCondition(pool, NODEPOOL_CONDITIONS, conditionOf(name, rollout), clock.now());
    await writeChanges(client, NODE_POOL, { before: pool, after }, { part: 'status', lock: true });
    this.#left.set(
      name,
      rollout === undefined ? [] : [{ labels: { nodepool: name, stage: rollout.stage }, value: rollout.drifted }],
    );
    if (rollout === undefined || known?.reason === rollout.stage) {
      if (rollout === undefined && known !== undefined) log.info('finished the rollout of the nodepool');
      return;
    }
    const fields = { stage: rollout.stage, policy: rollout.policy, drifted: rollout.drifted };
    if (rollout.stage === 'Halted') {
      const text = haltText(name, rollout);
      log.error('halted the rollout of the nodepool', { ...fields, error: text });
      events.publish(eventOf(ROLLOUT_HALTED, pool, { message: ROLLOUT_HALTED.message(text), dedupe: [text] }));
    } else {
      const text = rolloutText(rollout);
      log.info('rollout of the nodepool has a new stage', fields);
      events.publish(eventOf(ROLLOUT_STAGE, pool, { message: ROLLOUT_STAGE.message(text), dedupe: [rollout.stage] }));
    }
  }
}

const haltText = (pool: string, { cause }: Rollout): string => `${cause}; ${rolloutRemedy(pool)}`;

/** The message has no counts, because each new text would be a write. */
function conditionOf(pool: string, rollout: Rollout): ConditionUpdate {
  const { stage, policy, until } = rollout;
  if (stage === 'Halted') return { type: TYPE, status: 'False', reason: stage, message: haltText(pool, rollout) };
  if (stage === 'Invalid') return { type: TYPE, status: 'False', reason: stage, message: rolloutText(rollout) };
  const message = `by NodePolicy ${policy}${until === undefined ? '' : `, until ${until}`}`;
  return { type: TYPE, status: 'True', reason: stage, message };
}

const claimsOfRollouts: Trigger = {
  kind: NODE_CLAIM,
  keysFor: (object, event, before) => {
    const [claim, last] = [object as NodeClaim, before as NodeClaim | undefined];
    return event === 'updated' && last !== undefined && isAlike(claim, last) ? [] : [{ name: poolNameOf(claim) }];
  },
};

/** Returns true if a change of a NodeClaim does not affect the stage of a rollout. */
const isAlike = (claim: NodeClaim, before: NodeClaim): boolean =>
  claim.metadata.deletionTimestamp === before.metadata.deletionTimestamp &&
  getCondition(claim, 'Launched')?.reason === getCondition(before, 'Launched')?.reason &&
  ['Drifted', 'Initialized'].every((type) => getCondition(claim, type)?.status === getCondition(before, type)?.status);
