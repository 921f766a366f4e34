/** Terminates instances that no NodeClaim owns. */

import { NODE, NODE_CLAIM } from '../../api/kinds.ts';
import { EC2_NODECLASS_LABEL, NODEPOOL_LABEL } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
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
/** A claim that has no instance yet may take one over that was bought for one like it. */
const mayTakeOver = (claim: NodeClaim, instance: Instance): boolean =>
  claim.status?.providerID === undefined &&
  claim.metadata.deletionTimestamp === undefined &&
  claim.metadata.labels?.[NODEPOOL_LABEL] === instance.tags[NODEPOOL_LABEL] &&
  claim.spec.nodeClassRef.name === instance.tags[EC2_NODECLASS_LABEL] &&
  claimedAt(claim) <= instance.launchedMs;

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

  const unownedAmong = (found: readonly Instance[], claims: readonly NodeClaim[]): readonly Instance[] => {
    const owned = new Set(claims.map(instanceIdOfClaim));
    return found.filter((instance) => !owned.has(instance.id) && !claims.some((claim) => mayTakeOver(claim, instance)));
  };

  return {
    name: 'instance.garbagecollection',
    singleton: true,
    backOff: { baseMs: 1000, maxMs: PERIOD_MS },
    async reconcile({ log }) {
      // Instances before claims: one that appears in between has its claim already.
      const found = await instances.list();
      const old = clock.now() - GRACE_MS;
      const idle = found.filter(
        (instance) => instance.launchedMs < old && !isTerminating(instance) && !isHeld(instance.id),
      );
      const suspects = unownedAmong(idle, informers.store(NODE_CLAIM).list());
      // A watch that hangs leaves claims out, and what is terminated does not come back: the API server has the last word.
      const garbage = suspects.length > 0 ? unownedAmong(suspects, await client.listAll(NODE_CLAIM)) : [];
      const nodes = informers.store(NODE).list();
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
