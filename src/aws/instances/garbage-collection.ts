/** Terminates instances that no NodeClaim owns. */

import { NODE, NODE_CLAIM } from '../../api/kinds.ts';
import { EC2_NODECLASS_LABEL, NODEPOOL_LABEL } from '../../api/labels.ts';
import { causeOf, NodeClaimNotFound } from '../../cloud/errors.ts';
import type { Informers, KubeClient } from '../../kube/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { deleteExactly } from '../../kube/patch.ts';
import { after, type Singleton } from '../../kube/reconciler.ts';
import { rejections } from '../../kube/rejections.ts';
import { combined } from '../errors.ts';
import { claimedAt } from './adoption.ts';
import { type Instance, instanceIdOfClaim, isTerminating, providerId } from './instance.ts';
import type { Instances } from './instances.ts';

/** Time for a claim's status to name its instance. */
const GRACE_MS = 30_000;
/** At first often, so that what a crash left behind does not cost long. */
const FIRST_PASSES = 20;
const FIRST_PERIOD_MS = 10_000;
const PERIOD_MS = 120_000;

export interface GarbageCollectionOptions {
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly instances: Instances;
  readonly clock: Clock;
  /** Whether a launch of this process is about to write the instance down. */
  readonly isHeld: (instanceId: string) => boolean;
}

export function instanceGarbageCollection(options: GarbageCollectionOptions): Singleton {
  const { client, informers, instances, clock, isHeld } = options;
  let passes = 0;

  /** A claim that has no instance yet may take this one over: it was bought for one like it. */
  function mayBeTakenOver(instance: Instance): boolean {
    return informers
      .store(NODE_CLAIM)
      .list()
      .some(
        (claim) =>
          claim.status?.providerID === undefined &&
          claim.metadata.deletionTimestamp === undefined &&
          claim.metadata.labels?.[NODEPOOL_LABEL] === instance.tags[NODEPOOL_LABEL] &&
          claim.spec.nodeClassRef.name === instance.tags[EC2_NODECLASS_LABEL] &&
          claimedAt(claim) <= instance.launchedMs,
      );
  }

  return {
    name: 'instance.garbagecollection',
    singleton: true,
    backOff: { baseMs: 1000, maxMs: PERIOD_MS },
    async reconcile({ log }) {
      // Instances before claims: one that appears in between has its claim already.
      const found = await instances.list();
      const owned = new Set(informers.store(NODE_CLAIM).list().map(instanceIdOfClaim));
      const nodes = informers.store(NODE).list();
      const old = clock.now() - GRACE_MS;
      const garbage = found.filter(
        (instance) =>
          !owned.has(instance.id) &&
          !isTerminating(instance) &&
          instance.launchedMs < old &&
          !isHeld(instance.id) &&
          !mayBeTakenOver(instance),
      );
      const collect = async (instance: Instance): Promise<void> => {
        try {
          await instances.terminate(instance.id);
          log.debug('garbage collected cloudprovider instance', { 'provider-id': providerId(instance) });
        } catch (error) {
          if (!causeOf(error, NodeClaimNotFound)) throw error;
        }
        const node = nodes.find(({ spec }) => spec?.providerID === providerId(instance));
        if (node && (await deleteExactly(client, NODE, node)))
          log.debug('garbage collected node', { Node: { name: node.metadata.name } });
      };
      const failed = rejections(await Promise.allSettled(garbage.map(collect)));
      if (failed.length > 0) throw combined('collecting instances', failed);
      passes++;
      return after(passes <= FIRST_PASSES ? FIRST_PERIOD_MS : PERIOD_MS);
    },
  };
}
