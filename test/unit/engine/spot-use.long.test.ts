/** Laws of the share of replicas on spot, on random clusters. */
import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, NODEPOOL_LABEL, type Pod, SPOT_SHARE_ANNOTATION } from '#api/objects';
import type { Plan, Snapshot, SolveOptions, StateNode } from '../../../src/engine/model.ts';
import { podKey } from '../../../src/engine/pods.ts';
import { prepare, solve } from '../../../src/engine/solve.ts';
import { mostOnSpot } from '../../../src/engine/spot-use.ts';
import { OPTIONS } from './build.ts';
import { Draw, drawnSnapshot } from './scenarios.ts';

const CLUSTERS = 150;
const SHARES = [0, 0.3, 0.5, 0.7, 1];
const COMPATIBLE: SolveOptions = { ...OPTIONS, packing: 'compatible' };
const LAUNCHES: readonly SolveOptions[] = [COMPATIBLE, { ...OPTIONS, packing: 'cheapest', preferencePolicy: 'Priced' }];
const SIMULATION: SolveOptions = { ...OPTIONS, reservedMode: 'fallback' };

interface Cluster {
  readonly snapshot: Snapshot;
  readonly share: number;
}

/** Running and pending pods of an app are replicas of one StatefulSet. Half of the NodePools have a share. */
function drawn(seed: number): Cluster {
  const draw = new Draw(seed);
  const share = draw.of(SHARES);
  const found = drawnSnapshot(seed, { nodes: 6, workloads: 6 });
  const owned = (pod: Pod): Pod => {
    if (pod.metadata.ownerReferences !== undefined) return pod;
    const uid = pod.metadata.labels?.app ?? 'none';
    const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: uid, uid, controller: true };
    const annotations = uid === 'db' ? { [SPOT_SHARE_ANNOTATION]: '25%' } : {};
    return { ...pod, metadata: { ...pod.metadata, annotations, ownerReferences: [owner] } };
  };
  const nodes = found.nodes.map((node): StateNode => {
    const labels = { ...node.labels, [CAPACITY_TYPE_LABEL]: draw.of(['spot', 'on-demand']) };
    return { ...node, labels, pods: node.pods.map(owned) };
  });
  const [first] = found.pools;
  const pools = found.pools.map((pool) =>
    pool === first || draw.chance(0.5) ? { ...pool, spot: { policy: 'spot', share } } : pool,
  );
  return { share, snapshot: { ...found, nodes, pools, pendingPods: found.pendingPods.map(owned) } };
}

const uidOfOwner = ({ metadata }: Pod): string => metadata.ownerReferences?.[0]?.uid ?? '';
const isCounted = (pod: Pod): boolean =>
  pod.metadata.ownerReferences?.[0]?.kind === 'StatefulSet' && pod.status?.phase !== 'Succeeded';

const ruledPools = ({ snapshot }: Cluster): ReadonlySet<string> =>
  new Set(snapshot.pools.flatMap(({ nodePool, spot }) => (spot ? [nodePool.metadata.name] : [])));

/** Returns the names of pods that a plan puts on spot of NodePools with a share, or on nodes that can be spot nodes. */
function plannedOnSpot(cluster: Cluster, { placements, claims }: Plan): readonly string[] {
  const ruled = ruledPools(cluster);
  const spotNodes = new Set(cluster.snapshot.nodes.filter(isSpotIn(ruled)).map(({ providerId }) => providerId));
  const onNodes = placements.filter(({ providerId }) => spotNodes.has(providerId));
  const onClaims = claims.filter(
    ({ nodePool, requirements }) =>
      ruled.has(nodePool) &&
      requirements.find(({ key }) => key === CAPACITY_TYPE_LABEL)?.values?.includes('spot') !== false,
  );
  return [...onNodes, ...onClaims].flatMap(({ pods }) => pods);
}

const isSpotIn =
  (ruled: ReadonlySet<string>) =>
  ({ labels }: StateNode): boolean =>
    labels[CAPACITY_TYPE_LABEL] === 'spot' && ruled.has(labels[NODEPOOL_LABEL] ?? '');

/** Returns the replicas on spot of NodePools with a share, and all replicas, by workload. */
function counts(cluster: Cluster, moved: readonly Pod[], plan?: Plan) {
  const { nodes } = cluster.snapshot;
  const movedKeys = plan === undefined ? new Set() : new Set(moved.map(podKey));
  const running = nodes.filter(isSpotIn(ruledPools(cluster))).flatMap(({ pods }) => pods.map(podKey));
  const planned = plan === undefined ? [] : plannedOnSpot(cluster, plan);
  const spot = new Set([...running.filter((key) => !movedKeys.has(key)), ...planned]);
  const pods = [...nodes.flatMap((node) => node.pods), ...moved].filter(isCounted);
  const all = new Map(pods.map((pod) => [podKey(pod), pod]));
  return [...Map.groupBy(all.values(), uidOfOwner)].map(([uid, own]) => ({
    uid,
    replicas: own.length,
    spot: own.filter((pod) => spot.has(podKey(pod))).length,
  }));
}

/** Checks that no workload has more replicas on spot than its share allows, or than before. Returns the number at the limit. */
function check(cluster: Cluster, moved: readonly Pod[], plan: Plan): number {
  const before = new Map(counts(cluster, moved).map(({ uid, spot }) => [uid, spot]));
  let atLimit = 0;
  for (const { uid, replicas, spot } of counts(cluster, moved, plan)) {
    const most = mostOnSpot(replicas, uid === 'db' ? Math.min(cluster.share, 0.25) : cluster.share);
    expect(spot).toBeLessThanOrEqual(Math.max(most, before.get(uid) ?? 0));
    if (spot === most && spot > 0) atLimit++;
  }
  return atLimit;
}

describe('the share of replicas on spot', () => {
  const seeds = Array.from({ length: CLUSTERS }, (_, seed) => seed + 1);

  it('is never exceeded by a launch', () => {
    let atLimit = 0;
    for (const seed of seeds) {
      const cluster = drawn(seed);
      for (const options of LAUNCHES)
        atLimit += check(cluster, cluster.snapshot.pendingPods, solve(cluster.snapshot, options));
    }
    expect(atLimit).toBeGreaterThan(CLUSTERS / 10);
  });

  it('is never exceeded by consolidation, drift and replacements of interrupted nodes', () => {
    let moves = 0;
    for (const seed of seeds) {
      const cluster = drawn(seed);
      const draw = new Draw(seed + CLUSTERS);
      const gone = cluster.snapshot.nodes.filter(() => draw.chance(0.4));
      const pods = gone.flatMap((node) =>
        node.pods.filter((pod) => pod.metadata.ownerReferences?.[0]?.kind !== 'DaemonSet'),
      );
      const pendingPods = [...cluster.snapshot.pendingPods, ...pods];
      const leaving = new Set(gone.map(({ providerId }) => providerId));
      for (const options of [SIMULATION, ...LAUNCHES])
        check(cluster, pendingPods, prepare(cluster.snapshot, options).solve({ leaving, pendingPods }));
      moves += pods.length;
    }
    expect(moves).toBeGreaterThan(CLUSTERS);
  });

  it('leaves no pods without a node that fit without the share, if pods have no topology constraints', () => {
    let compared = 0;
    for (const seed of seeds) {
      const { snapshot } = drawn(seed);
      if (snapshot.pools.some(({ nodePool }) => nodePool.spec.limits !== undefined)) continue;
      const pendingPods = snapshot.pendingPods.map(({ spec, ...pod }) => {
        const { affinity: _, topologySpreadConstraints: __, ...plain } = spec;
        return { ...pod, spec: plain };
      });
      const ruled = { ...snapshot, nodes: [], pendingPods };
      const free = { ...ruled, pools: snapshot.pools.map(({ spot: _, ...pool }) => pool) };
      const [plan, plain] = [solve(ruled, COMPATIBLE), solve(free, COMPATIBLE)];
      expect([...plan.refusals.keys()].sort()).toEqual([...plain.refusals.keys()].sort());
      compared++;
    }
    expect(compared).toBeGreaterThan(CLUSTERS / 10);
  });

  it('does not depend on the scale of prices', () => {
    for (const seed of seeds.slice(0, CLUSTERS / 4)) {
      const { snapshot } = drawn(seed);
      const pools = snapshot.pools.map((pool) => ({
        ...pool,
        instanceTypes: pool.instanceTypes.map((type) => ({
          ...type,
          offerings: type.offerings.map((each) => ({ ...each, usdPerHour: each.usdPerHour * 8 })),
        })),
      }));
      const [one, eight] = [snapshot, { ...snapshot, pools }].map((each) => solve(each, COMPATIBLE));
      expect(eight?.spot).toEqual(one?.spot);
      expect(eight?.claims.map(({ pods }) => pods)).toEqual(one?.claims.map(({ pods }) => pods));
    }
  });

  it('allows the same number of replicas in each copy of a cluster', () => {
    for (const seed of seeds.slice(0, CLUSTERS / 4)) {
      const { snapshot } = drawn(seed);
      const copy = (pod: Pod): Pod => ({
        ...pod,
        metadata: {
          ...pod.metadata,
          namespace: 'copy',
          uid: `copy-${pod.metadata.uid}`,
          ownerReferences: (pod.metadata.ownerReferences ?? []).map((owner) => ({
            ...owner,
            uid: `copy-${owner.uid}`,
          })),
        },
      });
      const twice = {
        ...snapshot,
        nodes: [],
        pendingPods: [...snapshot.pendingPods, ...snapshot.pendingPods.map(copy)],
      };
      const once = solve({ ...snapshot, nodes: [] }, COMPATIBLE).spot ?? [];
      expect(
        solve(twice, COMPATIBLE)
          .spot?.map(({ most }) => most)
          .sort(),
      ).toEqual([...once, ...once].map(({ most }) => most).sort());
    }
  });
});
