import {
  EC2_NODE_CLASS,
  type EC2NodeClass,
  INSTANCE_PROFILE_ANNOTATION,
  NODE_CLAIM,
  type NodeClaim,
} from '#api/objects';
import type { Informers, KubeClient } from '#kube/client';
import { after, type Singleton } from '#kube/reconcilers';
import { own, withBoundedConcurrency } from '#lib';
import { type Clock, CollectionBrake } from '#lib/clock';
import type { CollectionReport } from '../collection-report.ts';
import { isOfAnotherCluster } from '../identity.ts';
import type { Instances } from '../instances/instances.ts';
import { CLUSTER_UID_TAG } from '../tags.ts';
import type { InstanceProfiles, ListedProfile } from './instanceprofiles.ts';
import { classPath, clusterPath, type Scope } from './names.ts';

const PERIOD_MS = 30 * 60_000;
/** A long hold is free, as profiles are, whereas nodes without their profile have no credentials. */
const HOLD_MS = 24 * 3_600_000;
/** Doubtful profiles that are deleted in a pass after the hold. */
const DOUBTFUL_AT_ONCE = 2;

interface ProfileCollectionOptions {
  readonly profiles: InstanceProfiles;
  readonly instances: Pick<Instances, 'list' | 'foreign'>;
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly report: CollectionReport;
  readonly scope: Scope;
}

/**
 * Owner of an unused profile. A profile is doubtful if Karpenter may have created it in another cluster with the same
 * name.
 */
type Owner = 'this cluster' | 'another cluster' | 'doubtful';

/** Deletes profiles of this cluster that no NodeClass and no NodeClaim uses any more. */
export function instanceProfileGarbageCollection(options: ProfileCollectionOptions): Singleton {
  const { profiles, instances, client, informers, clock, report, scope } = options;
  const brake = new CollectionBrake(clock, HOLD_MS);

  async function findUnused(all: readonly ListedProfile[]): Promise<{
    readonly unused: readonly ListedProfile[];
    readonly nodeClasses: readonly EC2NodeClass[];
  }> {
    const known = profilesUsedBy(informers.store(EC2_NODE_CLASS).list(), informers.store(NODE_CLAIM).list());
    const suspects = all.filter(({ name }) => !known.has(name) && !profiles.isProtected(name));
    if (suspects.length === 0) return { unused: [], nodeClasses: [] };
    // The informers may be outdated if a watch hangs, and nodes without their profile have no credentials. The API
    // server is therefore read before a deletion.
    const nodeClasses = await client.listAll(EC2_NODE_CLASS);
    const used = profilesUsedBy(nodeClasses, await client.listAll(NODE_CLAIM));
    const unused = suspects.filter(({ name }) => !used.has(name) && !profiles.isProtected(name));
    return { unused, nodeClasses };
  }

  async function ownerOf({ name, path }: ListedProfile, nodeClasses: readonly EC2NodeClass[]): Promise<Owner> {
    const tags = (await profiles.read(name))?.tags ?? {};
    if (isOfAnotherCluster(tags, scope.clusterUid)) return 'another cluster';
    const isOfClass = nodeClasses.some(({ metadata }) => path === classPath(scope, metadata.uid ?? ''));
    const isIdentified = scope.clusterUid !== undefined && own(tags, CLUSTER_UID_TAG) === scope.clusterUid;
    return isIdentified || isOfClass ? 'this cluster' : 'doubtful';
  }

  /** Returns the doubtful profiles that may be deleted now, and the held ones. */
  async function released(
    doubtful: readonly string[],
    total: number,
  ): Promise<Omit<Parameters<typeof report.held>[0], 'resource'> & { readonly now: readonly string[] }> {
    const running = doubtful.length > 0 ? [...(await instances.list()), ...instances.foreign] : [];
    const inUse = new Set(running.map(({ profile }) => profile));
    const ids = doubtful.filter((name) => !inUse.has(name));
    const { now, held, waitMs } = brake.decide({ ids, share: DOUBTFUL_AT_ONCE, suspect: true });
    return { now, ids: held, total, share: DOUBTFUL_AT_ONCE, waitMs };
  }

  return {
    name: 'instanceprofile.garbagecollection',
    singleton: true,
    async reconcile({ log }) {
      const all = await profiles.list(clusterPath(scope));
      const { unused, nodeClasses } = await findUnused(all);
      const owners = new Map<string, Owner>();
      for (const profile of unused) owners.set(profile.name, await ownerOf(profile, nodeClasses));
      const of = (owner: Owner): readonly string[] => [...owners].flatMap(([name, is]) => (is === owner ? [name] : []));
      report.foreign('instance_profile', of('another cluster'), log);
      const { now, ...held } = await released(of('doubtful'), all.length);
      report.held({ resource: 'instance_profile', ...held }, log);
      await withBoundedConcurrency([...of('this cluster'), ...now], 1, async (name) => {
        try {
          await profiles.delete(name);
        } catch (error) {
          const waitMs = owners.get(name) === 'doubtful' ? brake.failed(name) : PERIOD_MS;
          report.refused('instance_profile', [{ id: name, error, waitMs: Math.max(waitMs, PERIOD_MS) }]);
          throw error;
        }
        if (owners.get(name) === 'doubtful') brake.collected();
        log.info('garbage collected instance profile', { 'instance-profile': name });
      });
      return after(PERIOD_MS);
    },
  };
}

const profilesUsedBy = (
  nodeClasses: readonly EC2NodeClass[],
  claims: readonly NodeClaim[],
): ReadonlySet<string | undefined> =>
  new Set([
    ...nodeClasses.map(({ status }) => status?.instanceProfile),
    ...claims.map(({ metadata }) => metadata.annotations?.[INSTANCE_PROFILE_ANNOTATION]),
  ]);
