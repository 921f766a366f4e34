/** Evidence about launches before they are judged: nodes that show a cause, and pods of which similar pods run on the nodes. */
import { type Pod, poolNameOf } from '#api/objects';
import { namespaceOf } from '#engine/model';
import { causeKey } from '#engine/solve';
import { monotonicMs, type Timepiece } from '#lib/clock';
import { likenessOf } from '#state';
import type { Deps } from '../deps.ts';
import { suitability } from './lacks.ts';
import type { Launch } from './launches.ts';
import type { Unproductive } from './pool-budget.ts';
import { volumeReader } from './volume-reader.ts';

/** A taint that is removed within this time after the initialization holds back pods of the same likeness alone. */
const MATURE_MS = 10_000;
const NONE: ReadonlySet<string> = new Set();
/** Pods whose likeness is compared in one run. Further pods count as unproven. */
const MOST_COMPARED = 10_000;

/** Nodes that show a cause and are not judged yet. */
export interface SuspectNodes extends Pick<Unproductive, 'cause' | 'text'> {
  readonly count: number;
  /** Number of the nodes that have been initialized for some time, or are gone. */
  readonly mature: number;
  /** Likeness and namespaces of the pods that the nodes are for. */
  readonly likenesses: ReadonlySet<string>;
  readonly namespaces: ReadonlySet<string>;
}

/** Reports whether the node has been initialized for some time, or is gone. */
export const isMature = ({ initializedMs, departedMs }: Launch, clock: Timepiece): boolean =>
  departedMs !== undefined || (initializedMs !== undefined && monotonicMs(clock) - initializedMs >= MATURE_MS);

/** Returns the suspects among open launches, by key of the cause. */
export function suspectsAmong(
  { cluster, clock }: Pick<Deps, 'cluster' | 'clock'>,
  launches: Iterable<Launch>,
): ReadonlyMap<string, SuspectNodes> {
  const volumes = volumeReader(cluster);
  const found = new Map<string, SuspectNodes>();
  for (const launch of launches) {
    const node = cluster.nodeOfClaim(launch.claim) ?? launch.node;
    if (node === undefined) continue;
    const isLasting = isMature(launch, clock);
    const counted = new Set<string>();
    for (const [likeness, pod] of launch.pods) {
      const fit = suitability(pod, node, volumes);
      if (fit.kind !== 'lacking') continue;
      const { cause, text } = fit;
      const key = causeKey(cause);
      const known = found.get(key) ?? { cause, text, count: 0, mature: 0, likenesses: NONE, namespaces: NONE };
      const more = counted.has(key) ? 0 : 1;
      counted.add(key);
      found.set(key, {
        ...known,
        count: known.count + more,
        mature: known.mature + (isLasting ? more : 0),
        likenesses: new Set([...known.likenesses, likeness]),
        namespaces: new Set([...known.namespaces, namespaceOf(pod)]),
      });
    }
  }
  return found;
}

/** Returns which of the pods have their like on initialized nodes of a NodePool, by likeness. */
export function provenAmong(
  { cluster, log }: Pick<Deps, 'cluster' | 'log'>,
  nodePool: string,
  pods: readonly Pod[],
): ReadonlySet<string> {
  const wanted = new Set(pods.map(likenessOf));
  const namespaces = new Set(pods.map(({ metadata }) => metadata.namespace));
  const proven = new Set<string>();
  let compared = 0;
  for (const { initialized, nodeClaim, pods: running } of cluster.nodes()) {
    if (!initialized || nodeClaim === undefined || poolNameOf(nodeClaim) !== nodePool) continue;
    for (const pod of running) {
      if (!namespaces.has(pod.metadata.namespace)) continue;
      if (proven.size === wanted.size) return proven;
      compared += 1;
      if (compared > MOST_COMPARED) {
        log.info('treating pods as unproven, there are too many to compare', { NodePool: { name: nodePool } });
        return proven;
      }
      const likeness = likenessOf(pod);
      if (wanted.has(likeness)) proven.add(likeness);
    }
  }
  return proven;
}
