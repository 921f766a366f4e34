/**
 * Estimates the cost of planned nodes after kube-scheduler has bound the pods. kube-scheduler does not know the plan: it binds
 * pods in the order of their creation to the nodes that have joined, and prefers nodes with free and balanced resources. Pods
 * that find no room need further nodes.
 */
import { timeOf } from '../../lib/times.ts';
import { podKey } from '../pods.ts';
import { pseudoRandom } from '../pseudo-random.ts';
import { Requirements } from '../requirements.ts';
import { type Claim, Refusal } from '../solver/claim.ts';
import { type Amounts, type Dimensions, sum } from '../solver/dimensions.ts';
import type { PodClass } from '../solver/pod-class.ts';
import { floorOf, type Positions, positionsIn } from '../solver/price-floor.ts';
import type { Template } from '../solver/template.ts';
import { capacitiesOf } from './template-rows.ts';

/** Orders in which the nodes join. The estimate is the average. */
const ORDERS = 4;
/** Maximum number of comparisons of a pod with a node. Larger plans have no estimate, because a solve must be quick. */
const MOST_WORK = 1_000_000;

/**
 * Returns the expected cost in USD per hour, or undefined if the plan is too large for an estimate. Remaining pods cost as much
 * as fractions of the best nodes. Topology rules are ignored.
 */
export function expectedUsdPerHour(claims: readonly Claim[], dimensions: Dimensions): number | undefined {
  const pods = claims.reduce((count, claim) => count + claim.pods.length, 0);
  if (pods * claims.length * ORDERS > MOST_WORK) return undefined;
  const positions = positionsIn(dimensions);
  if (positions === undefined) return undefined;
  let usdPerHour = 0;
  for (const [template, own] of Map.groupBy(claims, ({ state }) => state.template)) {
    for (const claim of own) usdPerHour += claim.usdPerHour + template.extrasUsdPerHour;
    const waiting = podsOf(own);
    for (let order = 0; order < ORDERS; order++) {
      const left = unboundAfter(joined(own, template, order), waiting, positions);
      if (left.length > 0)
        usdPerHour += floorOf(template, left.map(({ amounts }) => amounts).reduce(sum), positions) / ORDERS;
    }
  }
  return usdPerHour;
}

/** Returns the classes of all pods, in the order of the pods' creation. */
function podsOf(claims: readonly Claim[]): readonly PodClass[] {
  const all = claims.flatMap(({ pods, classes }) =>
    pods.map((pod, at) => ({
      podClass: classes[at] as PodClass,
      createdMs: timeOf(pod.metadata.creationTimestamp) || 0,
      key: podKey(pod),
    })),
  );
  return all.sort((a, b) => a.createdMs - b.createdMs || (a.key < b.key ? -1 : 1)).map(({ podClass }) => podClass);
}

interface JoinedNode {
  readonly claim: Claim;
  readonly whole: Amounts;
  readonly rest: Amounts;
}

/** Returns empty nodes of the cheapest type of each claim, in a pseudo-random order. */
function joined(claims: readonly Claim[], template: Template, order: number): readonly JoinedNode[] {
  const capacities = capacitiesOf(template);
  const random = pseudoRandom(order);
  return claims
    .flatMap((claim) => {
      const { type } = claim.state.cheapest;
      const row = claim.state.rows.members.find((member) => template.catalogue.typeAt(member) === type) ?? -1;
      const whole = capacities[row];
      return whole === undefined ? [] : [{ claim, whole, rest: whole.slice(), rank: random() }];
    })
    .sort((a, b) => a.rank - b.rank);
}

/** Binds pods after each node that joins. Returns the pods that find no room on any node. */
function unboundAfter(
  nodes: readonly JoinedNode[],
  pods: readonly PodClass[],
  positions: Positions,
): readonly PodClass[] {
  let waiting = pods;
  for (let count = 1; count <= nodes.length && waiting.length > 0; count++) {
    const there = nodes.slice(0, count);
    waiting = waiting.filter((podClass) => !isBound(there, podClass, positions));
  }
  return waiting;
}

function isBound(nodes: readonly JoinedNode[], podClass: PodClass, positions: Positions): boolean {
  let best: JoinedNode | undefined;
  let highest = Number.NEGATIVE_INFINITY;
  for (const node of nodes) {
    if (!hasRoom(node, podClass)) continue;
    const score = scoreOf(node, podClass, positions);
    if (score <= highest) continue;
    best = node;
    highest = score;
  }
  if (best === undefined) return false;
  for (let at = 0; at < best.rest.length; at++) best.rest[at] = (best.rest[at] ?? 0) - (podClass.amounts[at] ?? 0);
  return true;
}

function hasRoom({ claim, rest }: JoinedNode, podClass: PodClass): boolean {
  for (let at = 0; at < rest.length; at++) if ((podClass.amounts[at] ?? 0) > (rest[at] ?? 0)) return false;
  return !(claim.state.narrowed(podClass, Requirements.EMPTY) instanceof Refusal);
}

/** Returns the score of kube-scheduler's default profile for resources, which counts CPU and memory. */
function scoreOf({ whole, rest }: JoinedNode, { amounts }: PodClass, positions: Positions): number {
  const { cpuAt, memoryAt } = positions;
  const free = (at: number): number => ((rest[at] ?? 0) - (amounts[at] ?? 0)) / Math.max(1, whole[at] ?? 0);
  const freeBefore = (at: number): number => (rest[at] ?? 0) / Math.max(1, whole[at] ?? 0);
  const imbalance = Math.abs(free(cpuAt) - free(memoryAt)) - Math.abs(freeBefore(cpuAt) - freeBefore(memoryAt));
  return (free(cpuAt) + free(memoryAt)) / 2 - imbalance / 4;
}
