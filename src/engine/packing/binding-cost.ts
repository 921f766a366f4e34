/**
 * Estimates the cost of planned nodes after kube-scheduler has bound the pods. kube-scheduler does not know the plan: it binds
 * pods in the order of their creation to the nodes that have joined. Pods that find no room need further nodes.
 */
import { timeOf } from '#lib';
import { podKey } from '../pods.ts';
import { pseudoRandom } from '../pseudo-random.ts';
import { Requirements } from '../requirements.ts';
import { type Claim, Refusal } from '../solver/claim.ts';
import { type Amounts, type Dimensions, sum } from '../solver/dimensions.ts';
import type { PodClass } from '../solver/pod-class.ts';
import { floorOf, positionsIn } from '../solver/price-floor.ts';
import type { Template } from '../solver/template.ts';
import { capacitiesOf } from './template-rows.ts';

/** Number of orders in which the nodes join. The estimate is the average. Larger plans have fewer orders, which differ less. */
const MOST_ORDERS = 64;
const LEAST_ORDERS = 4;
/** Maximum number of comparisons of a pod with a node. Larger plans have no estimate, because a solve must be quick. */
const MOST_WORK = 1_000_000;

/**
 * Returns the expected cost in USD per hour, or undefined if the plan is too large for an estimate. Remaining pods cost as much
 * as fractions of the best nodes. Topology rules are ignored. The result does not depend on the order of the claims.
 */
export function expectedUsdPerHour(claims: readonly Claim[], dimensions: Dimensions): number | undefined {
  const pods = claims.reduce((count, claim) => count + claim.pods.length, 0);
  const orders = Math.min(MOST_ORDERS, Math.floor(MOST_WORK / (pods * claims.length)));
  if (orders < LEAST_ORDERS) return undefined;
  const positions = positionsIn(dimensions);
  if (positions === undefined) return undefined;
  let usdPerHour = 0;
  for (const [template, own] of Map.groupBy(claims, ({ state }) => state.template)) {
    for (const claim of own) usdPerHour += claim.usdPerHour + template.extrasUsdPerHour;
    const waiting = podsOf(own);
    const sorted = inOwnOrder(own);
    for (let order = 0; order < orders; order++) {
      const left = unboundAfter(joined(sorted, template, order), waiting);
      if (left.length > 0)
        usdPerHour += floorOf(template, left.map(({ amounts }) => amounts).reduce(sum), positions) / orders;
    }
  }
  return usdPerHour;
}

/** Sorts claims by instance type and pods. */
function inOwnOrder(claims: readonly Claim[]): readonly Claim[] {
  return claims
    .map((claim) => ({ claim, type: claim.state.cheapest.type, key: claim.pods.map(podKey).sort()[0] ?? '' }))
    .sort((a, b) => a.type - b.type || (a.key < b.key ? -1 : 1))
    .map(({ claim }) => claim);
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
      return whole === undefined ? [] : [{ claim, rest: whole.slice(), rank: random() }];
    })
    .sort((a, b) => a.rank - b.rank);
}

/**
 * Binds pods after each node that joins. Returns the pods that find no room on any node. A waiting pod had no room on the earlier
 * nodes, so only the last node that joined can have room, and kube-scheduler has no choice among nodes.
 */
function unboundAfter(nodes: readonly JoinedNode[], pods: readonly PodClass[]): readonly PodClass[] {
  let waiting = pods;
  for (const node of nodes) {
    if (waiting.length === 0) break;
    waiting = waiting.filter((podClass) => !isBound(node, podClass));
  }
  return waiting;
}

function isBound({ claim, rest }: JoinedNode, podClass: PodClass): boolean {
  for (let at = 0; at < rest.length; at++) if ((podClass.amounts[at] ?? 0) > (rest[at] ?? 0)) return false;
  if (claim.state.narrowed(podClass, Requirements.EMPTY) instanceof Refusal) return false;
  for (let at = 0; at < rest.length; at++) rest[at] = (rest[at] ?? 0) - (podClass.amounts[at] ?? 0);
  return true;
}
