/** The object by which a snapshot tells of itself: when it was taken, and what is not in it although the cluster may have it. */
import type { KubeObject } from '../../api/kubernetes.ts';
import { pluralOf } from '../render/table.ts';
import type { Manifest } from './read.ts';

export const SNAPSHOT_INFO = { apiVersion: 'karpenter-ts/v1', kind: 'SnapshotInfo' } as const;

export interface SnapshotInfo extends KubeObject {
  /** RFC 3339. */
  readonly takenAt: string;
  /** Of the command line that took it. */
  readonly version: string;
  readonly redacted: boolean;
  /** Of the API server, `v1.33.1`. */
  readonly kubernetesVersion?: string;
  /** Namespaces to which it is confined; absent when it has all. */
  readonly namespaces?: readonly string[];
  /** Kinds that the cluster does not serve: it has no objects of them. */
  readonly notServed: readonly string[];
  /** Kinds that could not be read: whether there are objects of them is not known. */
  readonly notRead: readonly NotRead[];
}

export interface NotRead {
  readonly kind: string;
  /** The API server's words. */
  readonly why: string;
  /** What answers cannot know without it. */
  readonly effect: string;
}

export const snapshotInfos = (manifests: readonly Manifest[]): readonly SnapshotInfo[] =>
  manifests.flatMap(({ object }) =>
    object.kind === SNAPSHOT_INFO.kind && object.apiVersion === SNAPSHOT_INFO.apiVersion
      ? [object as SnapshotInfo]
      : [],
  );

/** What answers over a snapshot cannot know, for the user. */
export const notInSnapshot = (manifests: readonly Manifest[]): readonly string[] =>
  snapshotInfos(manifests).flatMap(({ notRead = [], namespaces }) => [
    ...notRead.map(
      ({ kind, why, effect }) => `${pluralOf(kind)}, which the snapshot could not read (${why}): ${effect}`,
    ),
    ...(namespaces === undefined
      ? []
      : [
          `pods and other objects outside of the namespaces ${namespaces.join(', ')}: the snapshot is confined to these, ` +
            'and nodes seem emptier than they are',
        ]),
  ]);
