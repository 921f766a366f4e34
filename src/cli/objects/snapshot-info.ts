/** Object of a snapshot that describes the snapshot: its time, and the kinds that may be missing from it. */
import type { KubeObject } from '#api/objects';
import { pluralOf } from '../render/table.ts';
import type { Manifest } from './read.ts';

export const SNAPSHOT_INFO = { apiVersion: 'karpenter-ts/v1', kind: 'SnapshotInfo' } as const;

export interface SnapshotInfo extends KubeObject {
  /** Time in RFC 3339 format. */
  readonly takenAt: string;
  /** Version of the command that created this snapshot. */
  readonly version: string;
  readonly redacted: boolean;
  /** Version of the API server: `v1.33.1`. */
  readonly kubernetesVersion?: string;
  /** Namespaces of this snapshot. Undefined if it contains all namespaces. */
  readonly namespaces?: readonly string[];
  /** Kinds that the cluster does not serve and therefore has no objects of. */
  readonly notServed: readonly string[];
  /** Kinds that could not be read, so that the cluster may have objects of them. */
  readonly notRead: readonly NotRead[];
}

export interface NotRead {
  readonly kind: string;
  /** Error message of the API server. */
  readonly why: string;
  /** Effect of the missing kind on results. */
  readonly effect: string;
}

export const snapshotInfos = (manifests: readonly Manifest[]): readonly SnapshotInfo[] =>
  manifests.flatMap(({ object }) =>
    object.kind === SNAPSHOT_INFO.kind && object.apiVersion === SNAPSHOT_INFO.apiVersion
      ? [object as SnapshotInfo]
      : [],
  );

/** Returns notes for the user about objects that are missing from a snapshot. */
export const notInSnapshot = (manifests: readonly Manifest[]): readonly string[] =>
  snapshotInfos(manifests).flatMap(({ notRead = [], namespaces }) => [
    ...notRead.map(
      ({ kind, why, effect }) => `${pluralOf(kind)} could not be read by the snapshot (${why}): ${effect}`,
    ),
    ...(namespaces === undefined
      ? []
      : [
          `pods and other objects outside of the namespaces ${namespaces.join(', ')}: the snapshot is limited to these, ` +
            'and nodes appear emptier than they are',
        ]),
  ]);
