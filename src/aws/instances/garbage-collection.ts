/** Terminates instances that no NodeClaim owns. */

import { EC2_NODECLASS_LABEL, NODE, NODE_CLAIM, NODEPOOL_LABEL, type NodeClaim } from '#api/objects';
import { causeOf, NodeClaimNotFound } from '#cloud';
import { deleteExactly, type Informers, type KubeClient } from '#kube/client';
import { after, type Singleton } from '#kube/reconcilers';
import { type Clock, CollectionBrake, mostAtOnce } from '#lib/clock';
import type { Logger } from '#observe/logger';
import type { CollectionReport } from '../collection-report.ts';
import { combineErrors } from '../errors.ts';
import { creationMsOf } from './adoption.ts';
import { type Instance, instanceIdOfClaim, isTerminating, providerId } from './instance.ts';
import type { Instances } from './instances.ts';

/** Grace period until the status of the NodeClaim contains the instance ID. */
const GRACE_MS = 30_000;
/** Time for an administrator to notice missing NodeClaims, and to stop the operator or restore the NodeClaims. */
const HOLD_MS = 60 * 60_000;
/** Returns true if a NodeClaim without an instance may adopt an instance of the same NodePool and NodeClass. */
const mayTakeOver = (claim: NodeClaim, instance: Instance): boolean =>
  claim.status?.providerID === undefined &&
  claim.metadata.deletionTimestamp === undefined &&
  claim.metadata.labels?.[NODEPOOL_LABEL] === instance.tags[NODEPOOL_LABEL] &&
  claim.spec.nodeClassRef.name === instance.tags[EC2_NODECLASS_LABEL] &&
  creationMsOf(claim) <= instance.launchedMs;

/** The first passes run more often, so that instances that a crash left behind are terminated sooner. */
const FIRST_PASSES = 20;
const FIRST_PERIOD_MS = 10_000;
const PERIOD_MS = 120_000;

interface GarbageCollectionOptions {
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly instances: Pick<Instances, 'list' | 'foreign' | 'terminate'>;
  readonly clock: Clock;
  readonly report: CollectionReport;
  /** Returns true if a launch of this process is about to record the instance. */
  readonly isHeld: (instanceId: string) => boolean;
}

export function instanceGarbageCollection(options: GarbageCollectionOptions): Singleton {
  const { client, informers, instances, clock, report, isHeld } = options;
  const brake = new CollectionBrake(clock, HOLD_MS);
  let passes = 0;

  const unownedAmong = (found: readonly Instance[], claims: readonly NodeClaim[]): readonly Instance[] => {
    const owned = new Set(claims.map(instanceIdOfClaim));
    return found.filter((instance) => !owned.has(instance.id) && !claims.some((claim) => mayTakeOver(claim, instance)));
  };

  /** Returns instances that no NodeClaim owns or may adopt. */
  async function findGarbage(found: readonly Instance[]): Promise<readonly Instance[]> {
    const old = clock.now() - GRACE_MS;
    const idle = found.filter(({ launchedMs, id }) => launchedMs < old && !isHeld(id));
    const suspects = unownedAmong(idle, informers.store(NODE_CLAIM).list());
    // The informers may miss NodeClaims if a watch hangs, and a termination cannot be undone. The API server is
    // therefore read first.
    return suspects.length > 0 ? unownedAmong(suspects, await client.listAll(NODE_CLAIM)) : [];
  }

  async function collect(instance: Instance, log: Logger): Promise<void> {
    try {
      await instances.terminate(instance.id);
      brake.collected();
      log.info('garbage collected cloudprovider instance', collectedFields(instance, clock.now()));
    } catch (error) {
      if (!causeOf(error, NodeClaimNotFound)) throw error;
    }
    const node = informers
      .store(NODE)
      .list()
      .find(({ spec }) => spec?.providerID === providerId(instance));
    if (node && (await deleteExactly(client, NODE, node)))
      log.info('garbage collected node', { Node: { name: node.metadata.name }, 'provider-id': providerId(instance) });
  }

  return {
    name: 'instance.garbagecollection',
    singleton: true,
    backOff: { baseMs: 1000, maxMs: PERIOD_MS },
    async reconcile({ log }) {
      // Lists instances before NodeClaims, so that an instance of a later launch is not in the list.
      const found = (await instances.list()).filter((instance) => !isTerminating(instance));
      const foreign = instances.foreign.filter((instance) => !isTerminating(instance));
      report.foreign(
        'instance',
        foreign.map(({ id }) => id),
        log,
      );
      const garbage = (await findGarbage(found)).toSorted((a, b) => a.launchedMs - b.launchedMs);
      const share = mostAtOnce(found.length);
      const verdict = brake.decide({ ids: garbage.map(({ id }) => id), share });
      const { held: ids, waitMs } = verdict;
      report.held({ resource: 'instance', ids, total: found.length, share, waitMs }, log);
      const now = new Set(verdict.now);
      const chosen = garbage.filter(({ id }) => now.has(id));
      await collectAll(chosen, { brake, report, collect: (instance) => collect(instance, log) });
      passes++;
      return after(passes <= FIRST_PASSES ? FIRST_PERIOD_MS : PERIOD_MS);
    },
  };
}

interface Collection {
  readonly brake: CollectionBrake;
  readonly report: CollectionReport;
  readonly collect: (instance: Instance) => Promise<void>;
}

/** @throws Error if an instance could not be terminated */
async function collectAll(chosen: readonly Instance[], { brake, report, collect }: Collection): Promise<void> {
  const results = await Promise.allSettled(chosen.map(collect));
  const refusals = results.flatMap((result, at) => {
    const id = chosen[at]?.id;
    if (result.status === 'fulfilled' || id === undefined) return [];
    return [{ id, error: result.reason as unknown, waitMs: brake.failed(id) }];
  });
  report.refused('instance', refusals);
  report.waiting('instance', brake.failing);
  const errors = refusals.map(({ error }) => error);
  if (errors.length > 0) throw combineErrors('collecting instances', errors);
}

const collectedFields = (instance: Instance, nowMs: number): Readonly<Record<string, unknown>> => ({
  'provider-id': providerId(instance),
  'instance-type': instance.type,
  zone: instance.zone,
  'capacity-type': instance.capacityType,
  NodePool: { name: instance.tags[NODEPOOL_LABEL] ?? '' },
  'age-seconds': Math.round((nowMs - instance.launchedMs) / 1000),
  reason: 'the API server has no NodeClaim for the instance',
});
