/**
 * Packs pods with known ends on nodes, without moves: greedy insertion, improved by removing some pods and inserting them
 * again, with simulated annealing. The result can be built, so it is an upper bound of the optimum.
 */
import { pseudoRandom } from '#engine/model';
import type { FixedPod, Size } from './demand.ts';
import type { Offer } from './offers.ts';

/** Times of a node in seconds. */
export interface BootTimes {
  /** From the launch until the node is Ready. No pod waits longer. */
  readonly boot: number;
  /** From the launch until the instance is paid. */
  readonly unpaid: number;
}

/** Nodes of one type, one after the other. */
export interface Chain {
  readonly offer: Offer;
  /** Pods in the order of their creation. */
  readonly pods: readonly FixedPod[];
  readonly usd: number;
}

/** Highest use of a chain of nodes that are not limited, and its paid seconds. */
interface Course extends Size {
  readonly seconds: number;
}

interface Running extends Size {
  readonly end: number;
}

export interface PackingOptions extends BootTimes {
  readonly seconds: number;
  readonly offers: readonly Offer[];
  readonly iterations: number;
  /** Ends the search early. */
  readonly cpuSeconds?: number;
  readonly seed?: number;
}

const UNLIMITED: Size = { cpu: Number.POSITIVE_INFINITY, memory: Number.POSITIVE_INFINITY };

/**
 * Runs pods on one node after another. A pod waits for the node and for room in the order of creation. A node that
 * becomes empty ends, unless the next pod arrives before a new node would cost less than the idle one.
 * Returns undefined if a pod would wait for longer than a node boots.
 */
export function courseOf(
  pods: readonly FixedPod[],
  limit: Size,
  { boot, unpaid, seconds }: BootTimes & { readonly seconds: number },
): Course | undefined {
  let running: Running[] = [];
  let [cpu, memory, mostCpu, mostMemory] = [0, 0, 0, 0];
  let [paid, launch, end, now] = [0, 0, Number.NEGATIVE_INFINITY, 0];
  const release = (): void => {
    const left = running.filter((one) => one.end > now);
    if (left.length === running.length) return;
    running = left;
    cpu = left.reduce((sum, one) => sum + one.cpu, 0);
    memory = left.reduce((sum, one) => sum + one.memory, 0);
  };
  for (const pod of pods) {
    if (pod.at - end > boot - unpaid) {
      paid += Math.max(0, end - launch - unpaid);
      launch = pod.at;
      end = launch + unpaid;
      now = launch + boot;
    }
    now = Math.max(now, pod.at);
    release();
    while (cpu + pod.cpu > limit.cpu || memory + pod.memory > limit.memory) {
      if (running.length === 0) return undefined;
      now = running.reduce((first, one) => Math.min(first, one.end), Number.POSITIVE_INFINITY);
      release();
    }
    if (now > pod.at + boot) return undefined;
    const until = Math.min(now + pod.runs, pod.until, seconds);
    if (until <= now) continue;
    running.push({ cpu: pod.cpu, memory: pod.memory, end: until });
    cpu += pod.cpu;
    memory += pod.memory;
    mostCpu = Math.max(mostCpu, cpu);
    mostMemory = Math.max(mostMemory, memory);
    end = Math.max(end, until);
  }
  paid += Math.max(0, end - launch - unpaid);
  return { cpu: mostCpu, memory: mostMemory, seconds: paid };
}

/** Returns the pods with one more pod, in the order of creation. */
function withPod(pods: readonly FixedPod[], pod: FixedPod): readonly FixedPod[] {
  let at = pods.length;
  while (at > 0 && (pods[at - 1]?.at ?? 0) > pod.at) at -= 1;
  return [...pods.slice(0, at), pod, ...pods.slice(at)];
}

/** Packs the pods. */
export function packClairvoyantly(pods: readonly FixedPod[], options: PackingOptions): readonly Chain[] {
  return new Packing(options).search(pods);
}

export const priceOfChains = (chains: readonly Chain[]): number => chains.reduce((sum, { usd }) => sum + usd, 0);

const HOT = 0.02;
const COLD = 0.00002;
const MOST_REMOVED = 30;
/** Probability that an insertion leaves out a chain, so that it does not always find the same place. */
const BLINK = 0.02;

class Packing {
  readonly #options: PackingOptions;
  readonly #random: () => number;

  constructor(options: PackingOptions) {
    this.#options = options;
    this.#random = pseudoRandom(options.seed ?? 1);
  }

  search(pods: readonly FixedPod[]): readonly Chain[] {
    const { iterations, cpuSeconds = Number.POSITIVE_INFINITY } = this.#options;
    const startMs = process.cpuUsage().user / 1000;
    const inOrder = [...pods].sort((a, b) => a.at - b.at || endOf(b) - endOf(a));
    const starts = [undefined, ...this.#options.offers].map((offer) => this.#insert([], inOrder, offer));
    let chains = starts.reduce((least, other) => (priceOfChains(other) < priceOfChains(least) ? other : least));
    let [usd, best] = [priceOfChains(chains), chains];
    let bestUsd = usd;
    for (let iteration = 0; iteration < iterations; iteration += 1) {
      const spent = (process.cpuUsage().user / 1000 - startMs) / 1000 / cpuSeconds;
      const share = Math.max(iteration / iterations, spent);
      if (share >= 1) break;
      const next = this.#change(chains);
      const price = priceOfChains(next);
      const temperature = HOT * (COLD / HOT) ** share;
      if (price < usd - temperature * Math.log(this.#random())) [chains, usd] = [next, price];
      if (price < bestUsd - 1e-9) [best, bestUsd] = [next, price];
    }
    return best;
  }

  /** Removes pods of chains that run at the same time, and inserts them again. */
  #change(chains: readonly Chain[]): readonly Chain[] {
    const random = this.#random;
    const one = chains[Math.floor(random() * chains.length)];
    const middle = one?.pods[Math.floor(random() * one.pods.length)];
    if (one === undefined || middle === undefined) return chains;
    const few = 1 + Math.floor(random() * 4);
    const size = 1 + Math.floor((random() * MOST_REMOVED) / few);
    const near = chains.filter((chain) => chain !== one && runsAt(chain, middle.at)).sort(() => random() - 0.5);
    const affected = new Set([one, ...near.slice(0, few - 1)]);
    const removed: FixedPod[] = [];
    const kept: Chain[] = [];
    for (const chain of chains) {
      if (!affected.has(chain)) {
        kept.push(chain);
        continue;
      }
      const center = chain.pods.findIndex(({ at }) => at >= middle.at);
      const whole = random() < 0.2 && chain.pods.length <= 2 * MOST_REMOVED;
      const from = whole ? 0 : Math.max(0, center - Math.floor(random() * size));
      const to = whole ? chain.pods.length : from + size;
      removed.push(...chain.pods.slice(from, to));
      const left = this.#chain([...chain.pods.slice(0, from), ...chain.pods.slice(to)], chain.offer);
      if (left === undefined) return chains;
      if (left.pods.length > 0) kept.push(left);
    }
    const { offers } = this.#options;
    const opening = random() < 0.5 ? undefined : offers[Math.floor(random() * offers.length)];
    return this.#insert(kept, this.#order(removed), opening);
  }

  #order(pods: readonly FixedPod[]): readonly FixedPod[] {
    const shuffled = pods.map((pod) => ({ pod, rank: this.#random() }));
    const kind = Math.floor(this.#random() * 4);
    const length = ({ runs, at, until }: FixedPod): number => Math.min(runs, until - at);
    const rank = ({ pod, rank: chance }: { readonly pod: FixedPod; readonly rank: number }): number =>
      [chance, -pod.cpu, -length(pod), pod.at][kind] ?? 0;
    return shuffled.sort((a, b) => rank(a) - rank(b)).map(({ pod }) => pod);
  }

  /**
   * Inserts each pod where it costs least.
   * @param opening type of new nodes, which is kept until all pods are inserted, so that large nodes can fill up;
   *   undefined to open the cheapest nodes
   */
  #insert(chains: readonly Chain[], pods: readonly FixedPod[], opening?: Offer): readonly Chain[] {
    const result = [...chains];
    for (const pod of pods) {
      const alone = this.#chain([pod], undefined);
      if (alone === undefined) throw new Error('a pod is larger than every instance type');
      const opened = opening && this.#chain([pod], opening, true);
      let best = { chain: opened ?? alone, at: result.length, usd: alone.usd };
      for (const [at, chain] of result.entries()) {
        if (!runsNear(chain, pod) || this.#random() < BLINK) continue;
        const isOpened = at >= chains.length && chain.offer === opening;
        const next = this.#join(chain, pod, isOpened);
        if (next !== undefined && next.usd - chain.usd < best.usd - 1e-12)
          best = { chain: next, at, usd: next.usd - chain.usd };
      }
      result[best.at] = best.chain;
    }
    if (opening === undefined) return result;
    return result.map((chain, at) => (at < chains.length ? chain : (this.#chain(chain.pods, chain.offer) ?? chain)));
  }

  /** Returns the cheapest chain with one more pod, on the same type or on a type with room for all. */
  #join({ pods, offer }: Chain, pod: FixedPod, isKept: boolean): Chain | undefined {
    const joined = withPod(pods, pod);
    const same = this.#chain(joined, offer, isKept);
    if (isKept) return same;
    const other = this.#chain(joined, undefined);
    return same === undefined || (other !== undefined && other.usd < same.usd) ? other : same;
  }

  /**
   * @param offer undefined to use the cheapest type on which no pod waits for room
   * @param isKept true to use this type even if a cheaper one suffices
   */
  #chain(pods: readonly FixedPod[], offer: Offer | undefined, isKept = false): Chain | undefined {
    const course = courseOf(pods, offer ?? UNLIMITED, this.#options);
    if (course === undefined) return undefined;
    const chosen = isKept
      ? offer
      : this.#options.offers.find(({ cpu, memory }) => cpu >= course.cpu && memory >= course.memory);
    return chosen && { offer: chosen, pods, usd: (chosen.usd * course.seconds) / 3600 };
  }
}

const endOf = ({ at, runs, until }: FixedPod): number => Math.min(at + runs, until);

const runsAt = ({ pods }: Chain, time: number): boolean => pods.some((pod) => pod.at <= time && endOf(pod) >= time);

/** Reports whether the pod may share a node with the chain. */
const runsNear = ({ pods }: Chain, pod: FixedPod): boolean =>
  pods.some((other) => other.at - 60 <= endOf(pod) && endOf(other) + 60 >= pod.at);
