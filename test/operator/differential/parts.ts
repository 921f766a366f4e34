/** Parts of a random cluster that features modify. */
import type { KubeObject } from '#api/objects';
import type { ImageSeed, ReservationSeed } from '#local/testing';
import type { Dice } from '../random.ts';
import type { ClassParts } from './node-classes.ts';
import type { PoolEdit, PoolParts } from './node-pools.ts';
import type { PodParts } from './pods.ts';

export interface Account {
  readonly images: readonly ImageSeed[];
  readonly reservations: readonly ReservationSeed[];
  readonly laterImages: readonly ImageSeed[];
}

export interface ClusterParts {
  /** Prefix of the names of its objects. */
  readonly id: string;
  readonly classes: readonly ClassParts[];
  /** NodeClasses that change together with the NodePools. */
  readonly changedClasses: readonly ClassParts[];
  readonly pools: readonly PoolParts[];
  /** Edit of each NodePool. */
  readonly edits: readonly PoolEdit[];
  readonly pods: readonly PodParts[];
  readonly morePods: readonly PodParts[];
  readonly latePods: readonly PodParts[];
  readonly others: readonly KubeObject[];
  /** Workloads and pods with a status, which arrive together with the pods. */
  readonly arriving: readonly KubeObject[];
  readonly soldOut: string | undefined;
  readonly disrupts: boolean;
  readonly leaving: readonly string[];
  readonly drained: readonly string[];
  readonly account: Account;
  readonly removedClasses: readonly string[];
}

/** Adds one feature to a cluster. */
export type Feature = (roll: Dice, cluster: ClusterParts) => ClusterParts;
