/** Reads the objects of a live cluster as manifests. */
import type { HttpKubeReader } from '#kube/connection';
import { refuseOldVersions } from './objects/old-versions.ts';
import type { Manifest } from './objects/read.ts';
import type { ReadKind } from './snapshot/kinds.ts';
import { type Gaps, readCluster } from './snapshot/read.ts';

export interface ClusterManifests extends Pick<Gaps, 'notRead'> {
  readonly manifests: readonly Manifest[];
}

/**
 * @param kinds kinds to read; by default all kinds that decisions depend on
 * @throws Error if the cluster cannot be reached or has objects of older versions
 */
export async function clusterManifests(
  client: Pick<HttpKubeReader, 'list' | 'raw'>,
  kinds?: readonly ReadKind[],
): Promise<ClusterManifests> {
  const gaps: Gaps = { notServed: [], notRead: [] };
  const manifests: Manifest[] = [];
  const wanted = kinds && new Set(kinds.flatMap(({ versions }) => versions.map(({ kind }) => kind)));
  for await (const { kind, objects } of readCluster(client, kinds === undefined ? {} : { kinds }, gaps)) {
    if (wanted !== undefined && !wanted.has(kind)) continue;
    for (const object of objects) {
      const { name, namespace } = object.metadata;
      const place = namespace === undefined ? name : `${namespace}/${name}`;
      manifests.push({ object, where: `the cluster's ${kind} ${place}` });
    }
  }
  refuseOldVersions(manifests);
  return { manifests, notRead: gaps.notRead };
}
