/** The course of a cluster under the disruption methods until no command is found. */
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL, type Pod, ZONE_LABEL } from '#api/objects';
import {
  type Command,
  methodsOf,
  type PassInput,
  passCluster,
  passInput,
  review,
  Simulator,
  simulateOn,
} from '#engine/disruption';
import { type PlannedClaim, podKey, Requirements, type StateNode } from '#engine/model';
import { cheapestOffering } from '#engine/testing';
import { daemonPod, nodeNameOf, nodeOf, priceOf } from './cluster-objects.ts';
import type { Cluster } from './clusters.ts';

const SOLVING = {
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
  reservedMode: 'fallback',
  ignoreDraRequests: true,
} as const;

/** Returns the input of the disruption methods for a cluster without commands in progress. */
export function passOn(
  { snapshot, pools }: Pick<Cluster, 'snapshot' | 'pools'>,
  more: Partial<PassInput> = {},
): PassInput {
  const all = [...pools.values()];
  const nodePools = all.map(({ nodePool }) => nodePool);
  const { consolidation = 'thorough' } = more;
  return passInput(passCluster(snapshot, all, { inProgress: new Set(), consolidation }), {
    nowMs: snapshot.nowMs,
    spotToSpot: true,
    simulate: simulateOn(new Simulator(snapshot, { nodePools, solve: SOLVING })),
    elapsedMs: () => 0,
    ...more,
  });
}

export const costOf = ({ snapshot, pools }: Cluster): number =>
  snapshot.nodes.reduce((sum, { labels }) => {
    const types = pools.get(labels[NODEPOOL_LABEL] ?? '')?.instanceTypes ?? [];
    const type = types.find(({ name }) => name === labels[INSTANCE_TYPE_LABEL]);
    const place = { zone: labels[ZONE_LABEL] ?? '', capacityType: labels[CAPACITY_TYPE_LABEL] ?? '' };
    return sum + (type === undefined ? 0 : priceOf(type, place));
  }, 0);

/** Returns the node of a claim, with its cheapest type in the cheapest zone. */
function bought(claim: PlannedClaim, index: number, { pools }: Cluster, pods: readonly Pod[]): StateNode {
  const pool = pools.get(claim.nodePool);
  const type = pool?.instanceTypes.find(({ name }) => name === claim.cheapest);
  const requirements = Requirements.fromRequirements(claim.requirements);
  const offering = type && cheapestOffering(type, requirements);
  if (pool === undefined || type === undefined || offering === undefined)
    throw new Error(`Cannot buy ${claim.cheapest} for NodePool ${claim.nodePool}: it is not for sale`);
  const valueFor = (key: string): string => offering.requirements.find((each) => each.key === key)?.values?.[0] ?? '';
  const place = { zone: valueFor(ZONE_LABEL), capacityType: valueFor(CAPACITY_TYPE_LABEL) };
  return nodeOf({ index, type, pool: pool.nodePool, ...place, pods, isQuiet: false });
}

/** Returns the cluster after a command and all its effects. */
export function after(cluster: Cluster, { candidates, replacements, plan }: Command): Cluster {
  const gone = new Set(candidates.map(({ providerId }) => providerId));
  const moving = new Map(
    candidates.flatMap(({ reschedulablePods }) => reschedulablePods).map((pod) => [podKey(pod), pod]),
  );
  const arriving = new Map(plan?.placements.map(({ providerId, pods }) => [providerId, pods]));
  const boundTo = (keys: readonly string[], nodeName: string): readonly Pod[] =>
    keys.map((key) => {
      const pod = moving.get(key);
      if (pod === undefined) throw new Error(`Pod ${key} is put somewhere, but does not move`);
      moving.delete(key);
      return { ...pod, spec: { ...pod.spec, nodeName } };
    });
  const stayed = cluster.snapshot.nodes
    .filter(({ providerId }) => !gone.has(providerId))
    .map((node) => {
      const more = boundTo(arriving.get(node.providerId) ?? [], node.name);
      return more.length === 0 ? node : { ...node, pods: [...node.pods, ...more] };
    });
  const names = cluster.snapshot.nodes.map(({ name }) => Number(name.slice('node-'.length)));
  const firstFree = Math.max(0, ...names) + 1;
  const fresh = replacements.map((claim, at) => {
    const name = nodeNameOf(firstFree + at);
    return bought(claim, firstFree + at, cluster, [daemonPod(name), ...boundTo(claim.pods, name)]);
  });
  if (moving.size > 0) throw new Error(`Pods without a place: ${[...moving.keys()].join(', ')}`);
  return { ...cluster, snapshot: { ...cluster.snapshot, nodes: [...stayed, ...fresh] } };
}

/** One command of a course. */
export interface Step {
  readonly method: string;
  readonly command: Command;
  readonly before: Cluster;
  readonly after: Cluster;
}

/** Runs the methods and applies their commands until no command is found. */
export async function* untilAtRest(cluster: Cluster, more: Partial<PassInput> = {}): AsyncGenerator<Step> {
  for (let now = cluster; ; ) {
    const step = await nextStep(now, more);
    if (step === undefined) return;
    now = step.after;
    yield step;
  }
}

async function nextStep(cluster: Cluster, more: Partial<PassInput>): Promise<Step | undefined> {
  const pass = passOn(cluster, more);
  for (const method of methodsOf(pass.consolidation)) {
    const [command] = (await review(method, pass)).result.commands;
    if (command !== undefined) return { method: method.name, command, before: cluster, after: after(cluster, command) };
  }
  return undefined;
}
