/** Demand of a trace: pods of Jobs with their running times, and replicas of workloads over time. */
import type { Container, KubeObject, PodSpec } from '#api/objects';
import { milliValue, parseQuantity } from '#api/values';
import type { ObjectRef, Trace } from '#replay/trace';

/** CPU in millicores and memory in MiB. */
export interface Size {
  readonly cpu: number;
  readonly memory: number;
}

export interface DemandedPod extends Size {
  /** Creation, in seconds since the start of the trace. */
  readonly at: number;
  /** Seconds from the binding until the end of a pod of a Job. Infinity for other pods. */
  readonly runs: number;
  /** Workload that creates and deletes the pod, or -1 for a pod of a Job. */
  readonly workload: number;
}

/** Change of the number of replicas. The pods that a scale-up creates are in `Demand.pods`. */
export interface Scale {
  readonly at: number;
  readonly workload: number;
  readonly replicas: number;
}

export interface Demand {
  readonly seconds: number;
  /** Pods in the order of their creation. */
  readonly pods: readonly DemandedPod[];
  readonly scales: readonly Scale[];
  readonly workloads: number;
  /** Requests of the DaemonSets on each node. */
  readonly daemons: Size;
}

/** Pod with a known end. */
export interface FixedPod extends DemandedPod {
  /** Deletion of a pod of a workload. Infinity for pods of Jobs, which end after `runs`. */
  readonly until: number;
}

interface WorkloadSpec {
  readonly replicas?: number;
  readonly parallelism?: number;
  readonly completions?: number;
  readonly template: { readonly spec: PodSpec };
}

const SCALED = ['Deployment', 'ReplicaSet', 'StatefulSet'];
/** Objects that do not affect the demand. */
const IGNORED = ['PodDisruptionBudget', 'PriorityClass', 'Namespace', 'Service'];
const MIB = 2 ** 20;

interface DemandOptions {
  /** Ignores constraints of pods, and requests besides CPU and memory. */
  readonly isRelaxed?: boolean;
}

function sizeOf({ spec }: WorkloadSpec['template'], name: string, isRelaxed: boolean): Size {
  const limits = [
    'affinity',
    'nodeSelector',
    'topologySpreadConstraints',
    'volumes',
    'initContainers',
    'resourceClaims',
  ];
  const limit = limits.find((field) => Object.hasOwn(spec, field));
  if (limit !== undefined && !isRelaxed) throw new Error(`${name}: pods with ${limit} are not supported`);
  const sum = (resource: string, value: (quantity: string) => number): number =>
    spec.containers.reduce((total, { resources }: Container) => {
      const other = Object.keys(resources?.requests ?? {}).find((one) => one !== 'cpu' && one !== 'memory');
      if (other !== undefined && !isRelaxed) throw new Error(`${name}: requests of ${other} are not supported`);
      return total + value(String(resources?.requests?.[resource] ?? 0));
    }, 0);
  return { cpu: sum('cpu', milliValue), memory: sum('memory', parseQuantity) / MIB };
}

/**
 * Reads the demand of a trace.
 * @param podStartSeconds time from the binding of a pod until its containers run
 * @throws Error if the trace has pods that choose their nodes, or objects other than workloads
 */
export async function readDemand(
  trace: Trace,
  podStartSeconds: number,
  { isRelaxed = false }: DemandOptions = {},
): Promise<Demand> {
  const reader = new Reader(podStartSeconds, isRelaxed);
  for await (const event of trace.events()) {
    if ('apply' in event) reader.apply(event.at, event.apply, event.runsFor);
    else if ('scale' in event) reader.scale(event.at, event.scale, event.replicas);
    else reader.scale(event.at, event.delete, 0);
  }
  const { scales, daemons, workloads } = reader;
  const pods = reader.pods.sort((a, b) => a.at - b.at);
  return { seconds: trace.header.seconds, pods, scales, daemons, workloads };
}

class Reader {
  readonly pods: DemandedPod[] = [];
  readonly scales: Scale[] = [];
  daemons: Size = { cpu: 0, memory: 0 };
  readonly #known = new Map<string, { readonly workload: number; readonly size: Size; replicas: number }>();
  readonly #podStartSeconds: number;
  readonly #isRelaxed: boolean;

  constructor(podStartSeconds: number, isRelaxed: boolean) {
    this.#podStartSeconds = podStartSeconds;
    this.#isRelaxed = isRelaxed;
  }

  get workloads(): number {
    return this.#known.size;
  }

  apply(at: number, object: KubeObject, runsFor?: number): void {
    const { kind, metadata } = object;
    if (IGNORED.includes(kind)) return;
    const name = `${kind} ${JSON.stringify(metadata.name)}`;
    const {
      template,
      replicas = 1,
      completions = 1,
      parallelism = 1,
    } = (object as KubeObject & { readonly spec: WorkloadSpec }).spec;
    if (template === undefined) throw new Error(`${name}: this kind is not supported`);
    const size = sizeOf(template, name, this.#isRelaxed);
    if (kind === 'DaemonSet')
      this.daemons = { cpu: this.daemons.cpu + size.cpu, memory: this.daemons.memory + size.memory };
    else if (kind === 'Job' && runsFor !== undefined) {
      const runs = runsFor + this.#podStartSeconds;
      for (let index = 0; index < completions; index += 1)
        this.pods.push({ ...size, at: at + Math.floor(index / parallelism) * runs, runs, workload: -1 });
    } else if (SCALED.includes(kind)) {
      const key = keyOf(object.metadata.namespace, kind, metadata.name);
      const before = this.#known.get(key);
      if (before !== undefined && (before.size.cpu !== size.cpu || before.size.memory !== size.memory))
        throw new Error(`${name}: changes of requests are not supported`);
      if (before === undefined) this.#known.set(key, { workload: this.#known.size, size, replicas: 0 });
      this.#resize(at, key, replicas);
    } else throw new Error(`${name}: this kind is not supported`);
  }

  scale(at: number, { namespace, kind, name }: ObjectRef, replicas: number): void {
    this.#resize(at, keyOf(namespace, kind, name), replicas);
  }

  #resize(at: number, key: string, replicas: number): void {
    const found = this.#known.get(key);
    if (found === undefined) return;
    const { workload, size } = found;
    for (let index = found.replicas; index < replicas; index += 1)
      this.pods.push({ ...size, at, runs: Number.POSITIVE_INFINITY, workload });
    found.replicas = replicas;
    this.scales.push({ at, workload, replicas });
  }
}

const keyOf = (namespace = 'default', kind = '', name = ''): string => `${namespace}/${kind}/${name}`;

/** Returns the pods with their ends if every scale-down deletes the youngest pods. */
export function fixedPods({ pods, scales, workloads, seconds }: Demand): readonly FixedPod[] {
  const until = pods.map(({ workload }) => (workload < 0 ? Number.POSITIVE_INFINITY : seconds));
  const alive = Array.from({ length: workloads }, (): number[] => []);
  const waiting = Array.from({ length: workloads }, (): number[] => []);
  for (const [id, { workload }] of pods.entries()) waiting[workload]?.push(id);
  for (const { at, workload, replicas } of scales) {
    const running = alive[workload] ?? [];
    while (running.length < replicas) running.push(waiting[workload]?.shift() ?? -1);
    while (running.length > replicas) until[running.pop() ?? -1] = at;
  }
  return pods.map((pod, id) => ({ ...pod, until: until[id] ?? seconds }));
}
