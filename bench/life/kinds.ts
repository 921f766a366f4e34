/** Kinds of clusters that `npm run bench -- life` plays, and the lives of each kind. */
import { basename } from 'node:path';
import type { KubeObject, PodSpec } from '#api/objects';
import { PARTS } from '#cli/testing';
import { hashText } from '#lib';
import { DEFAULT_START, type GeneratorKind, generateTrace, type Trace, type TraceEvent } from '#replay/trace';
import type { WorldModel } from '#replay/world-model';

export interface ClusterKind {
  readonly name: string;
  /** Kind of the generated trace. Default: the name. */
  readonly generator?: GeneratorKind;
  /** Average number of pods, without pods of DaemonSets. */
  readonly pods: number;
  /** Hour of a Monday at which the trace starts. */
  readonly startHour: number;
  readonly hours: number;
  /** Hours without events at the end. Otherwise, this cost would not include Jobs that a setting delays. */
  readonly drainHours?: number;
  /** Least and largest number of vCPUs of nodes without GPUs. Default: up to 32. */
  readonly cpus?: readonly [least: number, most: number];
  /** Parameters that differ from the default world. */
  readonly world?: Partial<WorldModel>;
}

/** Trace file of the user, which has neither seeds nor parameters. */
export interface TraceFile {
  readonly name: string;
  readonly file: string;
}

/** The traces cover the hours with the largest changes of load. */
export const KINDS: readonly ClusterKind[] = [
  { name: 'small-services', pods: 108, startHour: 15, hours: 9 },
  { name: 'leftovers', pods: 53, startHour: 15, hours: 9 },
  { name: 'hourly-spikes', pods: 40, startHour: 9, hours: 6 },
  { name: 'nightly-spikes', pods: 14, startHour: 0, hours: 6 },
  { name: 'ci-bursts', pods: 35, startHour: 8, hours: 5 },
  { name: 'spark', pods: 25, startHour: 9, hours: 5 },
  { name: 'rolling-updates', pods: 60, startHour: 12, hours: 6 },
  { name: 'one-per-node', pods: 14, startHour: 15, hours: 8 },
  { name: 'soft-spread', pods: 50, startHour: 15, hours: 6 },
  { name: 'large-pods', pods: 12, startHour: 15, hours: 8, cpus: [16, 32] },
  { name: 'zonal-state', pods: 40, startHour: 15, hours: 8 },
  { name: 'gpu-inference', pods: 10, startHour: 15, hours: 8 },
  { name: 'slow-start', pods: 50, startHour: 15, hours: 8, world: { bootSeconds: { p50: 90, p95: 150 } } },
  { name: 'scale-to-zero', pods: 30, startHour: 18, hours: 7 },
  { name: 'web-service', pods: 80, startHour: 16, hours: 8 },
  { name: 'batch', pods: 60, startHour: 8, hours: 5, drainHours: 2 },
  { name: 'pipeline', pods: 60, startHour: 0, hours: 7, drainHours: 3 },
  { name: 'machine-learning', pods: 30, startHour: 9, hours: 6 },
  { name: 'mix', pods: 80, startHour: 0, hours: 6 },
];

/** First seeds of lives. Results must not be reported with the seeds that parameters were tuned with. */
export const SEEDS = { tune: 1_000, report: 5_000 } as const;
export type SeedUse = keyof typeof SEEDS;

export const CAPACITIES = ['on-demand', 'spot', 'mixed'] as const;
export type Capacity = (typeof CAPACITIES)[number];
export const CONSOLIDATE_AFTER = ['1m', '0s', '5m', '30m'] as const;

/** One life of a kind. All settings play the same lives. */
export interface Life {
  /** From 1. */
  readonly number: number;
  readonly seed: number;
  /** `mixed`: spot and on-demand, and a third of the workloads require on-demand nodes. */
  readonly capacity: Capacity;
  readonly consolidateAfter: string;
  readonly hasDaemonSets: boolean;
}

export type FixedParameters = Partial<Pick<Life, 'capacity' | 'consolidateAfter' | 'hasDaemonSets'>>;

const nth = <T>(values: readonly T[], index: number): T => values[index % values.length] as T;

/** Returns a life with its parameters. Twelve lives have each pair of `capacity` and `consolidateAfter` once. */
export function lifeOf(number: number, seeds: SeedUse, fixed: FixedParameters = {}): Life {
  const index = number - 1;
  const isShifted = Math.floor(index / CONSOLIDATE_AFTER.length) % 2 === 1;
  return {
    number,
    seed: SEEDS[seeds] + number,
    capacity: nth(CAPACITIES, index),
    consolidateAfter: nth(CONSOLIDATE_AFTER, index),
    hasDaemonSets: (index % 2 === 0) !== isShifted,
    ...fixed,
  };
}

/** Parameters of files, because a recorded trace contains its DaemonSets. */
export const OF_FILES: FixedParameters = { capacity: 'on-demand', consolidateAfter: '1m', hasDaemonSets: true };

/** Returns the trace of a life. */
export async function traceOf(kind: ClusterKind | TraceFile, life: Life): Promise<Trace> {
  if ('file' in kind) return PARTS.openTrace(kind.file);
  const { generator = kind.name as GeneratorKind, pods, startHour, hours, drainHours = 0 } = kind;
  const startMs = Date.parse(DEFAULT_START) + startHour * 3_600_000;
  const trace = generateTrace(generator, { seed: life.seed, pods, startMs, seconds: hours * 3_600 });
  const header = { ...trace.header, seconds: (hours + drainHours) * 3_600 };
  return changed({ ...trace, header }, life);
}

export const fileNamed = (file: string): TraceFile => ({ name: basename(file).replace(/\.jsonl(\.gz)?$/, ''), file });

/** Removes DaemonSets, and adds node selectors to a part of the workloads, as the life requires. */
const changed = ({ header, events }: Trace, { hasDaemonSets, capacity }: Life): Trace => ({
  header,
  async *events() {
    for await (const event of events()) {
      if (!('apply' in event)) yield event;
      else if (event.apply.kind !== 'DaemonSet') yield capacity === 'mixed' ? withOnDemand(event) : event;
      else if (hasDaemonSets) yield event;
    }
  },
});

const ON_DEMAND = { 'karpenter.sh/capacity-type': 'on-demand' };
const ON_DEMAND_PART = 3n;

type Workload = KubeObject & {
  readonly spec?: PodSpec & { readonly template?: { readonly spec: PodSpec } & Readonly<Record<string, unknown>> };
};

function withOnDemand(event: Extract<TraceEvent, { readonly apply: unknown }>): TraceEvent {
  const apply = event.apply as Workload;
  const { template } = apply.spec ?? {};
  // equal names of versions and of numbered Jobs have equal hashes without their digits
  const face = apply.metadata.name.replaceAll(/\d+/g, '');
  if (template === undefined || hashText(face) % ON_DEMAND_PART !== 0n) return event;
  const nodeSelector = { ...template.spec.nodeSelector, ...ON_DEMAND };
  const changedTemplate = { ...template, spec: { ...template.spec, nodeSelector } };
  return { ...event, apply: { ...apply, spec: { ...apply.spec, template: changedTemplate } } as KubeObject };
}
