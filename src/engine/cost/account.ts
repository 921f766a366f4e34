/**
 * Computes the current cost of the nodes and its recipients. Collects amounts node by node, so that the work can be done in
 * steps.
 */
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL, type Pod, ZONE_LABEL } from '#api/objects';
import { own, timestamp, tryRun } from '#lib';
import { billedUsdPerHour } from '../billed-price.ts';
import type { Resources, StateNode } from '../model.ts';
import { chargesUsdPerHour, type NodeExtras } from '../node-extras.ts';
import { isOwnedByDaemonSet, isTerminal } from '../pods.ts';
import { amountIn, podRequests } from '../resources.ts';
import { workloadOf } from '../workloads.ts';
import type { CostDimension, CostGroup, CostReport, CostSums, NodeCost } from './report.ts';

/** Price of a node with all its parts, in USD per hour. {@link billedPriceOf} adds up the parts that AWS bills. */
export interface NodePrice {
  /** Price of the instance, including discounts. */
  readonly usdPerHour: number;
  /** AWS list price, if it differs. */
  readonly listUsdPerHour?: number | undefined;
  /** Expected price of the surplus CPU of its pods. */
  readonly surplusUsdPerHour?: number | undefined;
  readonly extras?: NodeExtras | undefined;
  /** Part of this price that a commitment covers. At most the price of the instance. */
  readonly coveredUsdPerHour?: number | undefined;
}

/** Returns the billed price of a node, in USD per hour. Commitments cover at most the price of the instance. */
export const billedPriceOf = ({ usdPerHour, coveredUsdPerHour = 0, extras }: NodePrice): number =>
  billedUsdPerHour({
    usdPerHour,
    coveredUsdPerHour: Math.min(usdPerHour, coveredUsdPerHour),
    chargesUsdPerHour: chargesUsdPerHour(extras),
  });

/** Name of the row for the cost that no pod requests, the same name as in OpenCost. No Kubernetes object can have this name. */
export const IDLE = '__idle__';
/** Maximum number of nodes in the list, which contains the nodes with the highest idle cost. */
const MOST_NODES = 100;
/** Maximum number of names of nodes with an unknown price. */
const MOST_UNPRICED = 20;

interface Sums {
  nodes: number;
  pods: number;
  list: NanoUsd;
  workloads: NanoUsd;
  daemonSets: NanoUsd;
  idle: NanoUsd;
  surplusCredits: NanoUsd;
}

/** Amounts to add to a group. */
type Entry = Partial<Sums>;

const EMPTY: Sums = { nodes: 0, pods: 0, list: 0, workloads: 0, daemonSets: 0, idle: 0, surplusCredits: 0 };
const KEYS = ['nodes', 'pods', 'list', 'workloads', 'daemonSets', 'idle', 'surplusCredits'] as const;

const NODE_LABELS = {
  nodePool: NODEPOOL_LABEL,
  zone: ZONE_LABEL,
  capacityType: CAPACITY_TYPE_LABEL,
  instanceType: INSTANCE_TYPE_LABEL,
} as const;

const DIMENSIONS: readonly CostDimension[] = [
  'nodePool',
  'zone',
  'capacityType',
  'instanceType',
  'namespace',
  'workload',
];

class Groups {
  readonly #sums = new Map<string, Sums>();

  add(name: string, entry: Entry): void {
    const sums = this.#sums.get(name) ?? { ...EMPTY };
    for (const key of KEYS) sums[key] += entry[key] ?? 0;
    this.#sums.set(name, sums);
  }

  /** Groups, highest cost first. */
  get list(): readonly CostGroup[] {
    return [...this.#sums]
      .map(([name, sums]) => ({ name, ...written(sums) }))
      .sort((a, b) => b.usdPerHour - a.usdPerHour || (a.name < b.name ? -1 : 1));
  }
}

const written = ({ nodes, pods, list, workloads, daemonSets, idle, surplusCredits }: Sums): CostSums => ({
  nodes,
  pods,
  usdPerHour: usdOf(workloads + daemonSets + idle),
  listUsdPerHour: usdOf(list),
  workloadsUsdPerHour: usdOf(workloads),
  daemonSetsUsdPerHour: usdOf(daemonSets),
  idleUsdPerHour: usdOf(idle),
  surplusCreditsUsdPerHour: usdOf(surplusCredits),
});

/**
 * Returns the requests of a pod. If the pod is not valid, returns no requests, because kube-scheduler would not have placed it.
 */
export const requestsOf = (pod: Pod): Resources => tryRun(() => podRequests(pod)) ?? {};

/** Pods that pay for a node, with their shares. */
interface Payers {
  readonly pods: readonly Pod[];
  /** Shares in the order of the pods. */
  readonly shares: readonly number[];
}

/**
 * Cached shares. Cluster state replaces a node object if the node or its pods change, so the shares of an unchanged object stay
 * valid.
 */
const known = new WeakMap<StateNode, Payers>();

function paidBy(node: StateNode): Payers {
  let payers = known.get(node);
  if (payers === undefined) {
    const pods = node.pods.filter((pod) => !isTerminal(pod));
    payers = { pods, shares: sharesOf(node.allocatable, pods.map(requestsOf)) };
    known.set(node, payers);
  }
  return payers;
}

/** Returns the part of a node's cost that no pod requests, from 0 to 1. */
export const idleShare = (node: StateNode): number =>
  Math.max(0, 1 - paidBy(node).shares.reduce((sum, share) => sum + share, 0));

export class CostAccount {
  readonly #groups = Object.fromEntries(DIMENSIONS.map((each) => [each, new Groups()])) as Readonly<
    Record<CostDimension, Groups>
  >;
  readonly #total = new Groups();
  readonly #price = { instances: 0, volumes: 0, publicIpv4: 0, covered: 0 };
  readonly #planning = { surplusCredits: 0, fees: 0 };
  readonly #nodes: NodeCost[] = [];
  readonly #unpriced: string[] = [];
  #others = 0;

  /** Adds a node. Nodes without a NodePool are only counted, because their cost is unknown. */
  add(node: StateNode, price: NodePrice | undefined): void {
    if (own(node.labels, NODEPOOL_LABEL) === undefined) this.#others += 1;
    else if (price === undefined) this.#unpriced.push(node.name);
    else this.#enter(node, price);
  }

  /** @param nowMs milliseconds since the epoch */
  report(nowMs: number): CostReport {
    const [total] = this.#total.list;
    const { name: _, ...sums } = total ?? { name: '', ...written(EMPTY) };
    const { instances, volumes, publicIpv4, covered } = this.#price;
    const { surplusCredits, fees } = this.#planning;
    return {
      at: timestamp(nowMs),
      total: sums,
      price: {
        instancesUsdPerHour: usdOf(instances),
        volumesUsdPerHour: usdOf(volumes),
        publicIpv4UsdPerHour: usdOf(publicIpv4),
        coveredUsdPerHour: usdOf(covered),
      },
      planning: { surplusCreditsUsdPerHour: usdOf(surplusCredits), feesUsdPerHour: usdOf(fees) },
      groups: Object.fromEntries(DIMENSIONS.map((each) => [each, this.#groups[each].list])) as CostReport['groups'],
      nodes: this.#nodes
        .toSorted((a, b) => b.idleUsdPerHour - a.idleUsdPerHour || (a.node < b.node ? -1 : 1))
        .slice(0, MOST_NODES),
      unpriced: { nodes: this.#unpriced.length, names: this.#unpriced.toSorted().slice(0, MOST_UNPRICED) },
      otherNodes: this.#others,
    };
  }

  #enter(node: StateNode, price: NodePrice): void {
    const { effective, list, surplusCredits } = this.#enterPrice(price);
    const { pods, shares } = paidBy(node);
    const paid = divided(effective, shares);
    const listed = divided(list, shares);
    const credits = divided(surplusCredits, shares);
    const sums: Sums = { ...EMPTY, nodes: 1, pods: pods.length, list, idle: paid.rest, surplusCredits };
    pods.forEach((pod, at) => {
      const part = isOwnedByDaemonSet(pod) ? 'daemonSets' : 'workloads';
      const amount = paid.paid[at] ?? 0;
      sums[part] += amount;
      const [listPart, surplusPart] = [listed.paid[at], credits.paid[at]];
      const entry: Entry = { pods: 1, list: listPart ?? 0, [part]: amount, surplusCredits: surplusPart ?? 0 };
      this.#groups.namespace.add(pod.metadata.namespace ?? 'default', entry);
      this.#groups.workload.add(workloadOf(pod), entry);
    });
    const idle: Entry = { list: listed.rest, idle: paid.rest, surplusCredits: credits.rest };
    this.#groups.namespace.add(IDLE, idle);
    this.#groups.workload.add(IDLE, idle);
    this.#total.add('', sums);
    for (const [dimension, label] of Object.entries(NODE_LABELS))
      this.#groups[dimension as keyof typeof NODE_LABELS].add(own(node.labels, label) ?? 'unknown', sums);
    this.#nodes.push(nodeCost(node, sums));
  }

  /** Adds the parts of a price. Returns the billed price, the same at list prices, and the planning figure of its pods. */
  #enterPrice(price: NodePrice): {
    readonly effective: NanoUsd;
    readonly list: NanoUsd;
    readonly surplusCredits: NanoUsd;
  } {
    const { usdPerHour, listUsdPerHour = usdPerHour, surplusUsdPerHour = 0, extras, coveredUsdPerHour = 0 } = price;
    const parts = {
      instances: nanoUsd(usdPerHour),
      volumes: nanoUsd(extras?.volumesUsdPerHour ?? 0),
      publicIpv4: nanoUsd(extras?.publicIpv4UsdPerHour ?? 0),
      covered: nanoUsd(Math.min(usdPerHour, coveredUsdPerHour)),
    };
    for (const [part, amount] of Object.entries(parts)) this.#price[part as keyof typeof parts] += amount;
    const surplusCredits = nanoUsd(surplusUsdPerHour);
    this.#planning.surplusCredits += surplusCredits;
    this.#planning.fees += nanoUsd(extras?.feeUsdPerHour ?? 0);
    const charges = parts.volumes + parts.publicIpv4;
    return {
      effective: parts.instances - parts.covered + charges,
      list: nanoUsd(listUsdPerHour) + charges,
      surplusCredits,
    };
  }
}

function nodeCost({ name, labels, nodeClaim }: StateNode, sums: Sums): NodeCost {
  const label = (key: keyof typeof NODE_LABELS): string => own(labels, NODE_LABELS[key]) ?? 'unknown';
  const { usdPerHour, idleUsdPerHour, surplusCreditsUsdPerHour } = written(sums);
  return {
    node: name,
    ...(nodeClaim === undefined ? {} : { nodeClaim: nodeClaim.metadata.name }),
    nodePool: label('nodePool'),
    instanceType: label('instanceType'),
    zone: label('zone'),
    capacityType: label('capacityType'),
    pods: sums.pods,
    usdPerHour,
    idleUsdPerHour,
    surplusCreditsUsdPerHour,
  };
}

/** Billionths of a USD per hour. Integers, so that the sum of shares is exactly the amount. */
type NanoUsd = number;

const nanoUsd = (usdPerHour: number): NanoUsd => Math.round(usdPerHour * 1e9);
const usdOf = (nano: NanoUsd): number => nano / 1e9;

/** Default prices of OpenCost, in USD per hour. Only their ratio matters. */
const UNIT_PRICES = { vcpu: 0.031611, gibibyte: 0.004237, accelerator: 0.95 };

const GIBIBYTE = 2 ** 30;
const ACCELERATORS: readonly string[] = [
  'nvidia.com/gpu',
  'amd.com/gpu',
  'habana.ai/gaudi',
  'aws.amazon.com/neuron',
  'aws.amazon.com/neuroncore',
];

/** Resource over which a node's price is split. */
export interface Part {
  readonly resource: string;
  readonly capacity: number;
  /** Share of the price. The sum over all parts is 1. */
  readonly weight: number;
}

/**
 * Returns the resources over which a node's price is split. If pods request more than the node has, the requests determine the
 * capacity.
 */
export function partsOf(allocatable: Resources, requests: readonly Resources[]): readonly Part[] {
  const capacityOf = (resource: string): number =>
    Math.max(
      amountIn(allocatable, resource),
      requests.reduce((sum, each) => sum + amountIn(each, resource), 0),
    );
  // devices and their cores are two names of the same hardware, so the price is split over the name that is in use
  const [accelerator] = ACCELERATORS.map((resource) => ({
    resource,
    capacity: capacityOf(resource),
    requested: requests.reduce((sum, each) => sum + amountIn(each, resource), 0),
  }))
    .filter(({ capacity }) => capacity > 0)
    .sort((a, b) => b.requested / b.capacity - a.requested / a.capacity);
  const devices = Math.min(...ACCELERATORS.map(capacityOf).filter((capacity) => capacity > 0));
  const priced = [
    { resource: 'cpu', capacity: capacityOf('cpu'), usd: (capacityOf('cpu') / 1_000) * UNIT_PRICES.vcpu },
    {
      resource: 'memory',
      capacity: capacityOf('memory'),
      usd: (capacityOf('memory') / GIBIBYTE) * UNIT_PRICES.gibibyte,
    },
    ...(accelerator === undefined ? [] : [{ ...accelerator, usd: devices * UNIT_PRICES.accelerator }]),
  ].filter(({ capacity }) => capacity > 0);
  const total = priced.reduce((sum, { usd }) => sum + usd, 0);
  return priced.map(({ resource, capacity, usd }) => ({ resource, capacity, weight: usd / total }));
}

/**
 * Returns the share of a node's cost for each request, from 0 to 1, in the given order. The sum is at most 1, and the rest is
 * idle. By OpenCost's rule for known node prices, the price is split over the node's CPU, memory and accelerators in the ratio of
 * their usual prices, and each pod pays its requested part of each resource.
 */
function sharesOf(allocatable: Resources, requests: readonly Resources[]): readonly number[] {
  const parts = partsOf(allocatable, requests);
  return requests.map((each) => shareIn(parts, each));
}

/** Returns the share of amounts in the parts of a node. */
export const shareIn = (parts: readonly Part[], amounts: Resources): number =>
  parts.reduce((sum, { resource, capacity, weight }) => sum + (weight * amountIn(amounts, resource)) / capacity, 0);

/** Divides an amount by shares. Returns the parts and the rest, which are integers with exactly the amount as their sum. */
function divided(
  amount: NanoUsd,
  shares: readonly number[],
): { readonly paid: readonly NanoUsd[]; readonly rest: NanoUsd } {
  let sum = 0;
  let given = 0;
  const paid = shares.map((share) => {
    sum = Math.min(1, sum + share);
    const before = given;
    given = Math.round(amount * sum);
    return given - before;
  });
  return { paid, rest: amount - given };
}
