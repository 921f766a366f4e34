import type { EC2NodeClass } from '../../api/ec2-nodeclass.ts';
import { EC2_NODE_CLASS, NODE_CLAIM } from '../../api/kinds.ts';
import { INSTANCE_PROFILE_ANNOTATION } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { withBoundedConcurrency } from '../../kube/bounded-concurrency.ts';
import type { Informers, KubeClient } from '../../kube/client.ts';
import { after, type Singleton } from '../../kube/reconciler.ts';
import type { InstanceProfiles } from './instanceprofiles.ts';
import { clusterPath, type Scope } from './names.ts';

const PERIOD_MS = 30 * 60_000;

export interface ProfileCollectionOptions {
  readonly profiles: InstanceProfiles;
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly scope: Scope;
}

/** Deletes profiles of this cluster that no NodeClass and no NodeClaim uses any more. */
export const instanceProfileGarbageCollection = (options: ProfileCollectionOptions): Singleton => ({
  name: 'instanceprofile.garbagecollection',
  singleton: true,
  async reconcile({ log }) {
    const { profiles, client, informers, scope } = options;
    const names = await profiles.list(clusterPath(scope));
    const known = usedBy(informers.store(EC2_NODE_CLASS).list(), informers.store(NODE_CLAIM).list());
    const suspects = names.filter((name) => !known.has(name) && !profiles.isProtected(name));
    // A watch that hangs leaves objects out, and nodes without their profile have no credentials: the API server decides.
    const used =
      suspects.length > 0 ? usedBy(await client.listAll(EC2_NODE_CLASS), await client.listAll(NODE_CLAIM)) : known;
    const unused = suspects.filter((name) => !used.has(name) && !profiles.isProtected(name));
    await withBoundedConcurrency(unused, 1, async (name) => {
      await profiles.delete(name);
      log.info('garbage collected instance profile', { 'instance-profile': name });
    });
    return after(PERIOD_MS);
  },
});

const usedBy = (nodeClasses: readonly EC2NodeClass[], claims: readonly NodeClaim[]): ReadonlySet<string | undefined> =>
  new Set([
    ...nodeClasses.map(({ status }) => status?.instanceProfile),
    ...claims.map(({ metadata }) => metadata.annotations?.[INSTANCE_PROFILE_ANNOTATION]),
  ]);
