/**
 * Events of the tasks of a CSV file. Each row becomes a Job or pods. Rows of a Deployment, ReplicaSet or StatefulSet
 * become replicas of their workload, which grows and shrinks as tasks start and end.
 */
import type { KubeObject, Pod, PodSpec } from '#api/objects';
import { defined } from '#lib';
import type { ObjectRef, TraceEvent } from '#replay/trace';
import { type CsvKind, GPU, type Row, type Task } from './csv-rows.ts';
import { gpuObjects, gpuTemplateName } from './driver-objects.ts';
import { jobObject } from './job-object.ts';

const NAMESPACE = 'default';
/** Label of pods with the name of their owner. */
const OWNER_LABEL = 'owner';
/** Label of the pods of workloads with replicas, which the workload selects by. */
const WORKLOAD_LABEL = 'workload';
/** Maximum length of the name of an owner, so that numbers fit behind it. */
const LONGEST_OWNER = 50;

const isScaled = (kind: CsvKind): boolean => kind !== 'Job' && kind !== 'Pod';

/** Rounds to tenths of a second. */
const tenths = (seconds: number): number => Math.round(seconds * 10) / 10;

interface EventOptions {
  /** End of the trace, in seconds since its start. */
  readonly lastAt: number;
  /** True if pods claim GPUs by ResourceClaims. */
  readonly claimsGpus?: boolean | undefined;
}

/**
 * Returns the events in order of time.
 * @param given in order of their submit time
 */
export function* eventsOf(given: readonly Row[], { lastAt, claimsGpus = false }: EventOptions): Generator<TraceEvent> {
  const rows = claimsGpus ? claimingRows(given) : given;
  const counts = [...new Set(rows.flatMap(({ task }) => task.claimedGpus ?? []))].sort((a, b) => a - b);
  if (counts.length > 0) for (const apply of gpuObjects(counts, NAMESPACE)) yield { at: 0, apply };
  const firstAt = rows[0]?.at ?? 0;
  const scaled = scaledEvents(rows, firstAt).filter(({ at }) => at <= lastAt);
  let next = 0;
  for (const [index, row] of rows.entries()) {
    if (isScaled(row.task.kind)) continue;
    const event = rowEvent(row, index + 1, tenths(row.at - firstAt));
    for (; (scaled[next]?.at ?? Number.POSITIVE_INFINITY) <= event.at; next += 1) yield scaled[next] as TraceEvent;
    yield event;
  }
  yield* scaled.slice(next);
}

/** Returns rows whose tasks claim GPUs. Equal tasks stay one object. */
function claimingRows(rows: readonly Row[]): readonly Row[] {
  const claiming = new Map<Task, Task>();
  return rows.map((row) => {
    const { [GPU]: claimedGpus, ...extended } = row.task.extended;
    if (claimedGpus === undefined) return row;
    const task = claiming.get(row.task) ?? { ...row.task, extended, claimedGpus };
    claiming.set(row.task, task);
    return { ...row, task };
  });
}

/** Returns the event of a row that is a Job or pods. */
function rowEvent({ runsFor, count, task }: Row, number: number, at: number): TraceEvent {
  const name = `${nameOf(task.owner) ?? 'task'}-${number}`;
  const { labels, annotations, spec } = podOf(task);
  const ends = { runsFor: tenths(runsFor) };
  const metadata = { name, namespace: NAMESPACE, ...defined({ labels, annotations }) };
  if (task.kind === 'Job') return { at, apply: jobObject({ metadata, spec, pods: count }), ...ends };
  const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec };
  return { at, apply: pod, ...ends, ...(count === 1 ? {} : { count }) };
}

/** Returns the name of a workload for an owner, or undefined if there is no owner. */
function nameOf(owner: string): string | undefined {
  const words = owner.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const name = words.join('-').slice(0, LONGEST_OWNER);
  if (name === '') return undefined;
  return name.endsWith('-') ? name.slice(0, -1) : name;
}

interface PodParts {
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly annotations: Readonly<Record<string, string>> | undefined;
  readonly spec: PodSpec;
}

/** @param workload name of a workload with replicas */
function podOf({ kind, cpuMilli, memoryMi, extended, claimedGpus, ...task }: Task, workload?: string): PodParts {
  const limits = Object.fromEntries(Object.entries(extended).map(([name, amount]) => [name, String(amount)]));
  const requests = { cpu: `${cpuMilli}m`, memory: `${memoryMi}Mi`, ...limits };
  // Kubernetes requires limits for extended resources
  const resources = {
    requests,
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(claimedGpus !== undefined && { claims: [{ name: 'gpu' }] }),
  };
  const labels = {
    ...defined({ [OWNER_LABEL]: nameOf(task.owner) }),
    ...task.labels,
    ...defined({ [WORKLOAD_LABEL]: workload }),
  };
  const given = <T extends object>(texts: T): T | undefined => (Object.keys(texts).length > 0 ? texts : undefined);
  return {
    labels: given(labels),
    annotations: given(task.annotations),
    spec: {
      ...(isScaled(kind) ? {} : { restartPolicy: 'Never' as const }),
      ...(claimedGpus !== undefined && {
        resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: gpuTemplateName(claimedGpus) }],
      }),
      containers: [{ name: 'task', image: 'pause', resources }],
    },
  };
}

/** Returns the events of all workloads with replicas, in order of time. */
function scaledEvents(rows: readonly Row[], firstAt: number): readonly TraceEvent[] {
  const byTask = new Map<Task, { readonly at: number; readonly by: number }[]>();
  for (const { at, runsFor, count, task } of rows) {
    if (!isScaled(task.kind)) continue;
    const changes = byTask.get(task) ?? [];
    if (changes.length === 0) byTask.set(task, changes);
    const from = at - firstAt;
    changes.push({ at: tenths(from), by: count }, { at: tenths(from + runsFor), by: -count });
  }
  const names = new Map<string, number>();
  const events = [...byTask].flatMap(([task, changes]) => {
    const base = nameOf(task.owner) ?? 'workload';
    const number = (names.get(base) ?? 0) + 1;
    names.set(base, number);
    return workloadEvents(task, number === 1 ? base : `${base}-${number}`, changes);
  });
  return events.sort((a, b) => a.at - b.at);
}

function workloadEvents(
  task: Task,
  name: string,
  changes: { readonly at: number; readonly by: number }[],
): readonly TraceEvent[] {
  const ref: ObjectRef = { apiVersion: 'apps/v1', kind: task.kind, namespace: NAMESPACE, name };
  const sorted = changes.sort((a, b) => a.at - b.at);
  const events: TraceEvent[] = [];
  let [replicas, written] = [0, 0];
  for (const [index, { at, by }] of sorted.entries()) {
    replicas += by;
    // changes at the same time are one event
    if (sorted[index + 1]?.at === at || replicas === written) continue;
    written = replicas;
    if (events.length === 0) events.push({ at, apply: workloadObject(task, ref, replicas) });
    else if (index === sorted.length - 1) events.push({ at, delete: ref });
    else events.push({ at, scale: ref, replicas });
  }
  return events;
}

function workloadObject(task: Task, { kind, name, namespace }: ObjectRef, replicas: number): KubeObject {
  const { labels, annotations, spec } = podOf(task, name);
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, ...defined({ namespace }) },
    spec: {
      replicas,
      selector: { matchLabels: { [WORKLOAD_LABEL]: name } },
      ...(kind === 'StatefulSet' && { serviceName: name }),
      template: { metadata: defined({ labels, annotations }), spec },
    },
  } as unknown as KubeObject;
}
