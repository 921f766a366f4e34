/** Work that pods lose with their nodes and that must be done again. */
import type { Pod } from '../../api/kubernetes.ts';
import type { Resources } from '../../engine/model.ts';
import { isOwnedByDaemonSet } from '../../engine/pods.ts';
import { amountIn, podRequests } from '../../engine/resources.ts';
import type { RedoneWork } from '../result.ts';
import { hasLostNode, phaseOf } from './pod-lives.ts';

const HOUR_MS = 3_600_000;

/** Price and resources of a node at a moment. */
export interface PricedNode {
  readonly usdPerHour: number;
  readonly allocatable: Resources;
}

interface Running {
  readonly sinceMs: number;
  /** Share of the price of this node. */
  readonly usdPerHour: number;
}

/** Returns true for pods that end by themselves. All other pods serve requests, and lose no work with their node. */
const endsByItself = (pod: Pod): boolean =>
  (pod.spec.restartPolicy ?? 'Always') !== 'Always' && !isOwnedByDaemonSet(pod);

export class RedoneMeter {
  readonly #nodeOf: (name: string) => PricedNode | undefined;
  /** Running pods by uid. */
  readonly #running = new Map<string, Running>();
  #pods = 0;
  #podHours = 0;
  #usd = 0;

  /** @param nodeOf returns a node by its name, or undefined if it no longer exists */
  constructor(nodeOf: (name: string) => PricedNode | undefined) {
    this.#nodeOf = nodeOf;
  }

  changed(pod: Pod, nowMs: number): void {
    if (!endsByItself(pod)) return;
    const uid = pod.metadata.uid ?? '';
    const phase = phaseOf(pod);
    if (phase === 'Failed') this.gone(pod, nowMs);
    else if (phase === 'Succeeded') this.#running.delete(uid);
    else if (phase === 'Running' && !this.#running.has(uid))
      this.#running.set(uid, { sinceMs: nowMs, usdPerHour: this.#usdPerHourOf(pod) });
  }

  /** @param pod last state of a pod that failed or was deleted */
  gone(pod: Pod, nowMs: number): void {
    const uid = pod.metadata.uid ?? '';
    const running = this.#running.get(uid);
    if (running === undefined) return;
    this.#running.delete(uid);
    if (!hasLostNode(pod)) return;
    const hours = (nowMs - running.sinceMs) / HOUR_MS;
    this.#pods += 1;
    this.#podHours += hours;
    this.#usd += hours * running.usdPerHour;
  }

  get total(): RedoneWork {
    return { pods: this.#pods, podHours: this.#podHours, usd: this.#usd };
  }

  #usdPerHourOf(pod: Pod): number {
    const node = this.#nodeOf(pod.spec.nodeName ?? '');
    return node === undefined ? 0 : node.usdPerHour * shareOf(podRequests(pod), node.allocatable);
  }
}

/** Prefix of network resources. They do not affect the choice of instance types. */
const NETWORK = 'vpc.amazonaws.com/';

/** Returns true for CPU, memory and devices. They determine the price of an instance type. */
const isPriced = (name: string): boolean =>
  name === 'cpu' || name === 'memory' || (name.includes('/') && !name.startsWith(NETWORK));

/** Returns the mean share of the node's CPU, memory and devices. The shares of all pods add up to at most 1. */
export function shareOf(requests: Resources, allocatable: Resources): number {
  const offered = Object.entries(allocatable).filter(([name, amount]) => isPriced(name) && amount > 0);
  const shares = offered.map(([name, amount]) => amountIn(requests, name) / amount);
  return shares.length === 0 ? 0 : shares.reduce((sum, share) => sum + share, 0) / shares.length;
}
