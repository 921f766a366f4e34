/**
 * Summary of a trace in numbers. It assumes that each pod starts immediately and ends as the trace defines. A replay
 * shows the effects of nodes and waiting times.
 */
import type { KubeObject, Pod, PodSpec, Workload } from '#api/objects';
import { amountIn, podRequests } from '#engine/model';
import { EarliestFirst } from '#lib';
import { ENDING_KINDS, TEMPLATE_KINDS } from './kinds.ts';
import type { Apply, ObjectRef, Trace, TraceEvent } from './trace.ts';

export interface TraceSummary {
  readonly name: string;
  readonly start: string;
  readonly seconds: number;
  readonly source?: string;
  readonly events: number;
  /** Applied objects by kind. Each object counts once. */
  readonly objects: Readonly<Record<string, number>>;
  /** Number of pods that start, without pods of DaemonSets. */
  readonly podStarts: number;
  /** Maximum and average number of running pods over the trace. */
  readonly pods: { readonly most: number; readonly average: number };
  /** Maximum and average requests of the running pods, in cores and GiB. */
  readonly cpu: { readonly most: number; readonly average: number };
  readonly memoryGib: { readonly most: number; readonly average: number };
  readonly gpus: { readonly most: number; readonly average: number };
  /** Events that a replay ignores, because they change objects that do not exist; at most ten. */
  readonly warnings: readonly string[];
}

const MOST_WARNINGS = 10;
const GIB = 2 ** 30;
const GPUS: readonly string[] = ['nvidia.com/gpu', 'amd.com/gpu', 'aws.amazon.com/neuron'];

/** Equal pods of one object. */
interface Running {
  readonly pods: number;
  readonly cpu: number;
  readonly memory: number;
  readonly gpus: number;
  /** Serialized pod template. */
  readonly likeness: string;
  readonly isEnding: boolean;
}

interface End {
  readonly at: number;
  readonly key: string;
  /** Pods that end, unless they were replaced in the meantime. */
  readonly running: Running;
}

/** Quantity over time. */
class Level {
  #level = 0;
  #since = 0;
  #sum = 0;
  #most = 0;

  add(amount: number, at: number): void {
    this.#sum += this.#level * (at - this.#since);
    this.#since = at;
    this.#level += amount;
    this.#most = Math.max(this.#most, this.#level);
  }

  over(seconds: number): { readonly most: number; readonly average: number } {
    this.add(0, seconds);
    return { most: round(this.#most), average: round(this.#sum / seconds) };
  }
}

const round = (value: number): number => Math.round(value * 100) / 100;

/** @throws InputError if the trace is read from a file that is invalid */
export async function summaryOf(trace: Trace): Promise<TraceSummary> {
  const counting = new Counting();
  for await (const event of trace.events()) counting.add(event);
  const { trace: _, ...header } = trace.header;
  return { ...header, ...counting.result(header.seconds) };
}

class Counting {
  readonly #running = new Map<string, Running>();
  readonly #known = new Set<string>();
  readonly #objects = new Map<string, number>();
  /** Ends of pods with a duration. Entries of pods that were deleted earlier have no effect. */
  readonly #ends = new EarliestFirst<End>((a, b) => a.at < b.at);
  readonly #pods = new Level();
  readonly #cpu = new Level();
  readonly #memory = new Level();
  readonly #gpus = new Level();
  readonly #warnings: string[] = [];
  #events = 0;
  #starts = 0;

  add(event: TraceEvent): void {
    this.#events += 1;
    this.#endUntil(event.at);
    if ('apply' in event) this.#apply(event);
    else if ('scale' in event) this.#scale(event.scale, event.replicas, event.at);
    else this.#delete(event.delete, event.at);
  }

  result(seconds: number): Omit<TraceSummary, 'name' | 'start' | 'seconds' | 'source'> {
    this.#endUntil(seconds);
    return {
      events: this.#events,
      objects: Object.fromEntries([...this.#objects].sort(([a], [b]) => (a < b ? -1 : 1))),
      podStarts: this.#starts,
      pods: this.#pods.over(seconds),
      cpu: this.#cpu.over(seconds),
      memoryGib: this.#memory.over(seconds),
      gpus: this.#gpus.over(seconds),
      warnings: this.#warnings,
    };
  }

  #apply(event: Apply): void {
    const { at, apply, runsFor } = event;
    const key = keyOf(apply);
    if (!this.#known.has(key)) this.#objects.set(apply.kind, (this.#objects.get(apply.kind) ?? 0) + 1);
    this.#known.add(key);
    const next = runningOf(event);
    if (next === undefined) return;
    const before = this.#running.get(key);
    // a Job or Pod that is applied again is unchanged, because its pods cannot change
    if (before?.isEnding) return;
    const isReplaced = before !== undefined && before.likeness !== next.likeness;
    this.#starts += isReplaced ? next.pods : Math.max(0, next.pods - (before?.pods ?? 0));
    this.#set(key, next, at);
    if (runsFor !== undefined) this.#ends.push({ at: at + runsFor, key, running: next });
  }

  #scale(ref: ObjectRef, replicas: number, at: number): void {
    const key = keyOf(ref);
    const before = this.#running.get(key);
    if (before === undefined) {
      this.#warn(`${textOf(ref)} is scaled at ${at}, but does not exist`);
      return;
    }
    this.#starts += Math.max(0, replicas - before.pods);
    this.#set(key, { ...before, pods: replicas }, at);
  }

  #delete(ref: ObjectRef, at: number): void {
    const key = keyOf(ref);
    // a trace may delete objects that ended by themselves
    if (!this.#known.delete(key) && !ENDING_KINDS.has(ref.kind))
      this.#warn(`${textOf(ref)} is deleted at ${at}, but does not exist`);
    this.#set(key, undefined, at);
  }

  #endUntil(at: number): void {
    for (let end = this.#ends.first; end !== undefined && end.at <= at; end = this.#ends.first) {
      this.#ends.pop();
      if (this.#running.get(end.key) !== end.running) continue;
      this.#known.delete(end.key);
      this.#set(end.key, undefined, end.at);
    }
  }

  #set(key: string, next: Running | undefined, at: number): void {
    const before = this.#running.get(key);
    const change = (field: 'cpu' | 'memory' | 'gpus'): number =>
      (next?.pods ?? 0) * (next?.[field] ?? 0) - (before?.pods ?? 0) * (before?.[field] ?? 0);
    this.#pods.add((next?.pods ?? 0) - (before?.pods ?? 0), at);
    this.#cpu.add(change('cpu'), at);
    this.#memory.add(change('memory'), at);
    this.#gpus.add(change('gpus'), at);
    if (next === undefined) this.#running.delete(key);
    else this.#running.set(key, next);
  }

  #warn(text: string): void {
    if (this.#warnings.length < MOST_WARNINGS) this.#warnings.push(text);
  }
}

const keyOf = (of: KubeObject | ObjectRef): string => {
  const { namespace = '', name } = 'metadata' in of ? of.metadata : of;
  return `${of.kind}/${namespace}/${name}`;
};

const textOf = ({ kind, namespace, name }: ObjectRef): string =>
  `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;

/** Returns undefined for objects without pods and for DaemonSets. */
function runningOf({ apply, runsFor, count = 1 }: Apply): Running | undefined {
  const isPod = apply.kind === 'Pod';
  if (!isPod && (!TEMPLATE_KINDS.has(apply.kind) || apply.kind === 'DaemonSet')) return undefined;
  const template = isPod ? (apply as Pod).spec : (apply as Workload).spec.template;
  const requests = requestsOf(isPod ? (apply as Pod).spec : (apply as Workload).spec.template.spec);
  return {
    ...requests,
    pods: isPod ? count : podsOf(apply as Workload),
    likeness: JSON.stringify(template),
    isEnding: runsFor !== undefined,
  };
}

/** Returns the number of pods that run at the same time. The pods of a Job count as if they all ran in parallel. */
function podsOf({ kind, spec }: Workload): number {
  if (kind !== 'Job') return spec.replicas ?? 1;
  return Math.min(spec.parallelism ?? 1, spec.completions ?? Number.POSITIVE_INFINITY);
}

function requestsOf(spec: PodSpec): Pick<Running, 'cpu' | 'memory' | 'gpus'> {
  const amounts = podRequests({ apiVersion: 'v1', kind: 'Pod', metadata: { name: '' }, spec });
  return {
    cpu: amountIn(amounts, 'cpu') / 1000,
    memory: amountIn(amounts, 'memory') / GIB,
    gpus: GPUS.reduce((sum, name) => sum + amountIn(amounts, name), 0),
  };
}
