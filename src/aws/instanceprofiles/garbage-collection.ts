import { EC2_NODE_CLASS, NODE_CLAIM } from '../../api/kinds.ts';
import { INSTANCE_PROFILE_ANNOTATION } from '../../api/labels.ts';
import { withBoundedConcurrency } from '../../kube/bounded-concurrency.ts';
import type { Informers } from '../../kube/client.ts';
import { after, type Singleton } from '../../kube/reconciler.ts';
import type { InstanceProfiles } from './instanceprofiles.ts';
import { clusterPath, type Scope } from './names.ts';

const PERIOD_MS = 30 * 60_000;

/** Deletes profiles of this cluster that no NodeClass and no NodeClaim uses any more. */
export const instanceProfileGarbageCollection = (
  profiles: InstanceProfiles,
  informers: Informers,
  scope: Scope,
): Singleton => ({
  name: 'instanceprofile.garbagecollection',
  singleton: true,
  async reconcile({ log }) {
    const names = await profiles.list(clusterPath(scope));
    const used = new Set<string | undefined>([
      ...informers
        .store(EC2_NODE_CLASS)
        .list()
        .map((nodeClass) => nodeClass.status?.instanceProfile),
      ...informers
        .store(NODE_CLAIM)
        .list()
        .map((claim) => claim.metadata.annotations?.[INSTANCE_PROFILE_ANNOTATION]),
    ]);
    const unused = names.filter((name) => !used.has(name) && !profiles.isProtected(name));
    await withBoundedConcurrency(unused, 1, async (name) => {
      await profiles.delete(name);
      log.info('garbage collected instance profile', { 'instance-profile': name });
    });
    return after(PERIOD_MS);
  },
});
