/** Clusters that a memory limit allows, from the memory that the main thread needs for a pod. */
import { memoryBudget, YOUNG_MB } from './memory-budget.ts';

const MIB = 2 ** 20;
/** Share of the main thread's old generation in use after a collection, above which memory is short. */
export const SHORT_SHARE = 0.75;
/** Old generation of the main thread without pods, with the instance types of a region. */
const BASE_MB = 47;
/** Memory for a pod with its share of nodes and NodeClaims, in bytes. */
const POD_BYTES = 1_700;
/** Further memory for a pod that is pending, or whose node is being launched, in bytes. */
const PENDING_BYTES = 5_300;
/** Maximum number of pods that are expected to be pending at the same time. */
const MOST_PENDING = 80_000;
/** Estimated memory for each node beyond one for ten pods, in bytes. */
const NODE_BYTES = 14_000;
const PODS_PER_NODE = 10;
/** Limits are multiples of this step. */
const STEP_MB = 128;

export interface ClusterSize {
  readonly pods: number;
  readonly nodes: number;
  /** Number of pods that are pending at the same time. Default: all. */
  readonly pending?: number;
}

/** Returns the memory of the main thread for a cluster, in bytes. */
const clusterBytes = ({ pods, nodes, pending = pods }: ClusterSize): number =>
  POD_BYTES * pods +
  PENDING_BYTES * Math.min(pending, MOST_PENDING) +
  NODE_BYTES * Math.max(0, nodes - pods / PODS_PER_NODE);

/** Returns the old generation of the main thread with a cluster, in bytes. */
export const heapBytes = (size: ClusterSize): number => BASE_MB * MIB + clusterBytes(size);

/** Returns the memory of the main thread that a limit leaves for a cluster before memory is short, in bytes. */
function roomFor(limitBytes: number): number {
  const { mainMb, excessMb } = memoryBudget(limitBytes);
  if (excessMb > 0) return 0;
  return Math.max(0, (mainMb - YOUNG_MB) * SHORT_SHARE - BASE_MB) * MIB;
}

/** Returns the number of pods that a limit allows with ten pods for each node, in two digits. */
export function allowedPods(limitBytes: number): number {
  const room = roomFor(limitBytes);
  const pods = Math.max(room / (POD_BYTES + PENDING_BYTES), (room - PENDING_BYTES * MOST_PENDING) / POD_BYTES);
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, pods))) - 1);
  return Math.floor(pods / unit) * unit;
}

/** Returns the lowest limit that is sufficient for a cluster, in MiB. */
export function neededLimitMb(size: ClusterSize): number {
  const bytes = clusterBytes(size);
  let limitMb = 2 * STEP_MB;
  while (roomFor(limitMb * MIB) < bytes) limitMb += STEP_MB;
  return limitMb;
}
