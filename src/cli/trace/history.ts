/**
 * Creates a trace from observed changes of a cluster's objects: from watches (`karpenter record`) or from an audit
 * log (`karpenter trace from-audit`). Workloads become `apply`, `scale` and `delete` events, from which a replay
 * creates their pods. A pod of a Job becomes a Job with one pod, and any other pod a single pod, both with their
 * duration.
 */
import { controllerOf, type KubeObject, type OwnerReference, type Pod, uidOf } from '#api/objects';
import { FieldFault } from '#lib';
import {
  type ObjectRef,
  objectField,
  readTraceObject,
  SCALED_KINDS,
  TRACE_KINDS,
  type TraceEvent,
} from '#replay/trace';
import { jobObject } from './job-object.ts';
import { InterruptedPods, isInterrupted, lifeOf, type PodLife } from './pod-life.ts';
import { traceObject } from './redacted.ts';
import { SelectorKeys } from './selector-keys.ts';

interface HistoryOptions {
  /** Start in milliseconds since the epoch. Older objects exist at the start of the trace. */
  readonly startMs: number;
  /** Maximum size of the events in bytes. */
  readonly limitBytes: number;
  /** Namespaces to record. All namespaces if undefined. */
  readonly namespaces?: readonly string[] | undefined;
}

/** Kinds with pods that a replay creates from the workload. */
const WORKLOADS: ReadonlySet<string> = new Set(['ReplicaSet', 'StatefulSet', 'DaemonSet', 'Deployment']);
/** Kinds that are not recorded. Pods of Jobs are recorded with their times, and a replay creates new volumes. */
const LEFT_OUT: ReadonlySet<string> = new Set(['Job', 'PersistentVolume', 'Service', 'ConfigMap']);
/** Kinds whose controllers create ReplicaSets, and ResourceClaims of pods. A replay creates these objects again. */
const CREATORS: ReadonlySet<string> = new Set(['Deployment', 'Pod']);
const TAKEN: ReadonlySet<string> = new Set(TRACE_KINDS.map(({ kind }) => kind).filter((kind) => !LEFT_OUT.has(kind)));

interface Held {
  readonly at: number;
  /** Event as JSON. */
  readonly text: string;
}

/** Last observed state of an existing object. */
interface Seen {
  readonly ref: ObjectRef;
  /** Object as text, without its number of replicas. */
  readonly text: string;
  readonly replicas: number | undefined;
}

interface SeenPod {
  /** Pod in the form of the trace, or its Job. */
  readonly object: KubeObject;
  /** UID of the Job to which this pod belongs. */
  readonly job: string | undefined;
  /** True if this pod is being evicted, or loses its node. */
  readonly isInterrupted: boolean;
  /** Empty if an audit log does not contain it. */
  readonly uid: string;
  readonly life: PodLife;
}

export class AuditHistory {
  readonly #options: HistoryOptions;
  readonly #held: Held[] = [];
  readonly #seen = new Map<string, Seen>();
  readonly #pods = new Map<string, SeenPod>();
  readonly #interrupted = new InterruptedPods();
  /** UIDs of ended pods that still exist, by name. */
  readonly #ended = new Map<string, string>();
  readonly #keys = new SelectorKeys();
  readonly #leftOut = new Map<string, number>();
  #bytes = 0;
  #isFull = false;

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  /** True if the limit is reached. No further events are recorded then. */
  get isFull(): boolean {
    return this.#isFull;
  }

  get events(): number {
    return this.#held.length + this.#pods.size;
  }

  /** Number of objects that are missing from the trace, by reason. */
  get leftOut(): ReadonlyMap<string, number> {
    return this.#leftOut;
  }

  /** Counts objects that are missing from the trace. */
  miss(reason: string, count = 1): void {
    this.#leftOut.set(reason, (this.#leftOut.get(reason) ?? 0) + count);
  }

  /** Records the state of an object at a time in milliseconds since the epoch. */
  put(object: KubeObject, ms: number): void {
    if (!this.#isTaken(object)) return;
    if (object.kind === 'Pod') this.#putPod(object as Pod, ms);
    else if (object.metadata.deletionTimestamp !== undefined) this.remove(object, ms);
    else if (!CREATORS.has(controllerOf(object)?.kind ?? '')) this.#putObject(object, ms);
  }

  remove(object: Pick<KubeObject, 'kind' | 'metadata'>, ms: number): void {
    if (object.kind === 'Pod') {
      this.#removePod(object, ms);
      return;
    }
    const key = keyOf(object);
    const seen = this.#seen.get(key);
    if (seen === undefined) return;
    this.#seen.delete(key);
    this.#hold({ at: this.#at(ms), delete: seen.ref });
  }

  /** Records the eviction of a pod. Its Job replaces it. */
  evicted(pod: Pick<KubeObject, 'kind' | 'metadata'>): void {
    const known = this.#pods.get(keyOf(pod));
    if (known !== undefined) this.#pods.set(keyOf(pod), { ...known, isInterrupted: true });
  }

  /** Records a change of replicas. Returns false if the object was not seen before. */
  scale(object: Pick<KubeObject, 'kind' | 'metadata'>, replicas: number, ms: number): boolean {
    const key = keyOf(object);
    const seen = this.#seen.get(key);
    if (seen === undefined) return false;
    if (seen.replicas === replicas) return true;
    this.#seen.set(key, { ...seen, replicas });
    this.#hold({ at: this.#at(ms), scale: seen.ref, replicas });
    return true;
  }

  /** Returns all events until a time, in order. Can be called several times. */
  *until(endMs: number): Generator<TraceEvent> {
    const end = this.#at(endMs);
    const running = [...this.#pods.values()].map(({ object, life }) =>
      toHeld({ at: this.#at(life.createdMs), apply: object }),
    );
    const interrupted = this.#interrupted.all.flatMap(({ object, createdMs, interruptedMs }) => [
      toHeld({ at: this.#at(createdMs), apply: object }),
      toHeld({ at: this.#at(interruptedMs), delete: refOf(object) }),
    ]);
    const sorted = [...this.#held, ...running, ...interrupted].sort((a, b) => a.at - b.at);
    for (const { at, text } of sorted) {
      if (at > end) return;
      const event = JSON.parse(text) as TraceEvent;
      yield 'apply' in event ? { ...event, apply: this.#keys.kept(event.apply) } : event;
    }
  }

  #isTaken({ kind, metadata }: KubeObject): boolean {
    const { namespaces } = this.#options;
    const isHere =
      metadata.namespace === undefined || namespaces === undefined || namespaces.includes(metadata.namespace);
    const isNamespaceHere = kind !== 'Namespace' || namespaces === undefined || namespaces.includes(metadata.name);
    return !this.#isFull && TAKEN.has(kind) && isHere && isNamespaceHere;
  }

  #at(ms: number): number {
    return Math.max(0, Math.round((ms - this.#options.startMs) / 100) / 10);
  }

  #putObject(object: KubeObject, ms: number): void {
    const apply = this.#readable(object);
    if (apply === undefined) return;
    const ref = refOf(apply);
    const replicas = SCALED_KINDS.has(apply.kind) ? ((apply as Replicated).spec.replicas ?? 1) : undefined;
    const text = JSON.stringify(replicas === undefined ? apply : withReplicas(apply, 0));
    const key = keyOf(object);
    const before = this.#seen.get(key);
    if (before?.text === text && before.replicas === replicas) return;
    this.#seen.set(key, { ref, text, replicas });
    if (before?.text === text && replicas !== undefined) this.#hold({ at: this.#at(ms), scale: ref, replicas });
    else this.#hold({ at: this.#at(ms), apply });
  }

  #putPod(pod: Pod, ms: number): void {
    const owner = controllerOf(pod);
    if (owner !== undefined && (WORKLOADS.has(owner.kind) || owner.kind === 'Node')) return;
    const [key, uid] = [keyOf(pod), uidOf(pod)];
    if (this.#ended.get(key) === uid) return;
    // the end of the previous pod with this name was not observed
    if ((this.#pods.get(key)?.uid ?? uid) !== uid) this.#removePod(pod, ms);
    const known = this.#pods.get(key);
    const life = lifeOf(pod, known?.life, ms);
    const seen = known ?? this.#newPod(pod, life, owner);
    if (seen === undefined) return;
    const now = { ...seen, isInterrupted: seen.isInterrupted || isInterrupted(pod) };
    this.#pods.set(key, known === undefined ? now : { ...now, life });
    if (pod.metadata.deletionTimestamp !== undefined && life.endedMs === undefined) {
      // later changes are results of the deletion
      this.#removePod(pod, ms);
      this.#ended.set(key, uid);
      return;
    }
    const { endedMs, startedMs } = life;
    if (endedMs === undefined) return;
    this.#ended.set(key, uid);
    if (this.#interrupt(key, ms)) return;
    // a replay does not include the time before the start of the trace
    const fromMs = Math.max(startedMs ?? life.createdMs, this.#options.startMs);
    this.#settle(key, { runsFor: Math.max(0, Math.round((endedMs - fromMs) / 100) / 10) });
  }

  /** Returns undefined for a pod that ended before the trace starts. */
  #newPod(pod: Pod, life: PodLife, owner: OwnerReference | undefined): SeenPod | undefined {
    const isOver = (life.endedMs ?? pod.metadata.deletionTimestamp) !== undefined;
    if (isOver && life.createdMs < this.#options.startMs) return undefined;
    const job = owner?.kind === 'Job' ? owner.uid : undefined;
    const seen = { life, job, uid: uidOf(pod), isInterrupted: false };
    const replaced = job === undefined ? undefined : this.#interrupted.take(job);
    if (replaced !== undefined)
      return { ...seen, object: replaced.object, life: { ...life, createdMs: replaced.createdMs } };
    const object = this.#readable(pod, job === undefined ? undefined : jobOf);
    return object && { ...seen, object };
  }

  /** Keeps a pod of a Job that lost its node, until another pod replaces it. Returns false for all other pods. */
  #interrupt(key: string, ms: number): boolean {
    const known = this.#pods.get(key);
    if (known?.job === undefined || !known.isInterrupted) return false;
    this.#pods.delete(key);
    const { object, life } = known;
    this.#interrupted.put(known.job, { object, createdMs: life.createdMs, interruptedMs: ms });
    return true;
  }

  #removePod(pod: Pick<KubeObject, 'kind' | 'metadata'>, ms: number): void {
    const key = keyOf(pod);
    this.#ended.delete(key);
    const known = this.#pods.get(key);
    if (known === undefined || this.#interrupt(key, ms)) return;
    this.#settle(key, {});
    this.#hold({ at: this.#at(ms), delete: refOf(known.object) });
  }

  /** Records a pod with a known end. */
  #settle(key: string, rest: { readonly runsFor?: number }): void {
    const known = this.#pods.get(key);
    this.#pods.delete(key);
    if (known !== undefined) this.#hold({ at: this.#at(known.life.createdMs), apply: known.object, ...rest });
  }

  /**
   * Converts an object to the form of a trace. Returns undefined if the reader of traces would reject it.
   * @param formOf returns the object that the trace contains instead
   */
  #readable(object: KubeObject, formOf: (object: KubeObject) => KubeObject = (found) => found): KubeObject | undefined {
    try {
      const found = readTraceObject(objectField(formOf(traceObject(object)), object.kind));
      this.#keys.add(found);
      return found;
    } catch (error) {
      if (!(error instanceof FieldFault)) throw error;
      this.miss(error.message);
      return undefined;
    }
  }

  #hold(event: TraceEvent): void {
    const held = toHeld(event);
    this.#bytes += held.text.length;
    if (this.#bytes > this.#options.limitBytes) this.#isFull = true;
    if (!this.#isFull) this.#held.push(held);
  }
}

const toHeld = (event: TraceEvent): Held => ({ at: event.at, text: JSON.stringify(event) });

const refOf = ({ apiVersion, kind, metadata: { namespace, name } }: KubeObject): ObjectRef => ({
  apiVersion,
  kind,
  ...(namespace === undefined ? {} : { namespace }),
  name,
});

const jobOf = (pod: KubeObject): KubeObject => jobObject({ metadata: pod.metadata, spec: (pod as Pod).spec, pods: 1 });

const keyOf = ({ kind, metadata }: Pick<KubeObject, 'kind' | 'metadata'>): string =>
  `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;

type Replicated = KubeObject & { readonly spec: { readonly replicas?: number } };

const withReplicas = (object: KubeObject, replicas: number): KubeObject =>
  ({ ...object, spec: { ...(object as Replicated).spec, replicas } }) as KubeObject;
