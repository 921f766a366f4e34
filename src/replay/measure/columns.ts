/** Time series of a run, and the values that are computed from them. */
import type { Pod } from '#api/objects';
import { amountIn, isTerminal, podRequests, type Resources, type StateNode } from '#engine/model';
import { remembering } from '#lib';
import type { ReplayRun, ReplaySeries } from '../result.ts';

/** Counts at one moment, in addition to the resources of nodes. */
interface Counts {
  readonly usdPerHour: number;
  readonly nodes: number;
  readonly spotNodes: number;
  readonly runningPods: number;
  readonly waitingPods: number;
}

const MILLI = 1_000;
const GIB = 2 ** 30;

export class Columns {
  readonly #stepSeconds: number;
  readonly #columns = {
    usdPerHour: [] as number[],
    nodes: [] as number[],
    spotNodes: [] as number[],
    runningPods: [] as number[],
    waitingPods: [] as number[],
    cpuRequested: [] as number[],
    cpuAllocatable: [] as number[],
    memoryRequested: [] as number[],
    memoryAllocatable: [] as number[],
  };

  constructor(stepSeconds: number) {
    this.#stepSeconds = stepSeconds;
  }

  add(counts: Counts, nodes: readonly StateNode[]): void {
    const columns = this.#columns;
    columns.usdPerHour.push(round(counts.usdPerHour));
    columns.nodes.push(counts.nodes);
    columns.spotNodes.push(counts.spotNodes);
    columns.runningPods.push(counts.runningPods);
    columns.waitingPods.push(counts.waitingPods);
    const sums = { cpu: 0, memory: 0, cpuOf: 0, memoryOf: 0 };
    for (const { allocatable, pods, registered } of nodes) {
      if (!registered) continue;
      sums.cpuOf += amountIn(allocatable, 'cpu');
      sums.memoryOf += amountIn(allocatable, 'memory');
      const { cpu, memory } = requestedBy(pods);
      sums.cpu += cpu;
      sums.memory += memory;
    }
    columns.cpuRequested.push(round(sums.cpu / MILLI));
    columns.cpuAllocatable.push(round(sums.cpuOf / MILLI));
    columns.memoryRequested.push(round(sums.memory / GIB));
    columns.memoryAllocatable.push(round(sums.memoryOf / GIB));
  }

  get series(): ReplaySeries {
    return { stepSeconds: this.#stepSeconds, ...this.#columns };
  }

  /** Idle shares over the whole run. */
  get idle(): ReplayRun['idle'] {
    const { cpuRequested, cpuAllocatable, memoryRequested, memoryAllocatable } = this.#columns;
    return { cpu: idleShare(cpuRequested, cpuAllocatable), memory: idleShare(memoryRequested, memoryAllocatable) };
  }
}

const requestsOf = remembering((pod: Pod): Resources => podRequests(pod));

/**
 * Sums the requests of all pods of a node. The result is cached by the list of pods, because each change creates a new
 * list.
 */
const requestedBy = remembering((pods: readonly Pod[]): { readonly cpu: number; readonly memory: number } => {
  const sums = { cpu: 0, memory: 0 };
  for (const pod of pods) {
    if (isTerminal(pod)) continue;
    const requests = requestsOf(pod);
    sums.cpu += amountIn(requests, 'cpu');
    sums.memory += amountIn(requests, 'memory');
  }
  return sums;
});

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function idleShare(requested: readonly number[], offered: readonly number[]): number {
  const total = sum(offered);
  return total === 0 ? 0 : Math.max(0, 1 - sum(requested) / total);
}

/** Limits a value to six significant digits. This is enough for every report. */
const round = (value: number): number => Number(value.toPrecision(6));
