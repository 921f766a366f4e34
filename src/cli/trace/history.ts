/**
 * Makes a trace of what is seen of a cluster's objects: by watching it (`karpenter record`), or in its audit log
 * (`karpenter trace from-audit`). Workloads become `apply`, `scale` and `delete` events. Pods of workloads come from these;
 * all others, those of Jobs included, become single pods with the time for which they ran.
 */
import type { KubeObject, OwnerReference, Pod } from '../../api/kubernetes.ts';
import { uidOf } from '../../api/object-fields.ts';
import { FieldFault } from '../../lib/field.ts';
import { objectField } from '../../replay/trace/fields.ts';
import { SCALED_KINDS, TRACE_KINDS } from '../../replay/trace/kinds.ts';
import { readObject } from '../../replay/trace/objects.ts';
import type { ObjectRef, TraceEvent } from '../../replay/trace/trace.ts';
import { lifeOf, type PodLife } from './pod-life.ts';
import { traceObject } from './redacted.ts';
import { SelectorKeys } from './selector-keys.ts';

interface HistoryOptions {
  /** Milliseconds since the epoch: what existed before is at the start of the trace. */
  readonly startMs: number;
  /** Bytes of text that are held at most. */
  readonly limitBytes: number;
  /** Objects of others are left out; all are taken when undefined. */
  readonly namespaces?: readonly string[] | undefined;
}

/** Kinds whose pods come from their workload. */
const WORKLOADS: ReadonlySet<string> = new Set(['ReplicaSet', 'StatefulSet', 'DaemonSet', 'Deployment']);
/** What runs in their stead is written: pods with their times, and volumes that are made anew. */
const LEFT_OUT: ReadonlySet<string> = new Set(['Job', 'PersistentVolume', 'Service']);
const TAKEN: ReadonlySet<string> = new Set(TRACE_KINDS.map(({ kind }) => kind).filter((kind) => !LEFT_OUT.has(kind)));

interface Held {
  readonly at: number;
  /** An event as JSON. */
  readonly text: string;
}

/** What was seen last of an object that is there. */
interface Seen {
  readonly ref: ObjectRef;
  /** Its text without the number of replicas. */
  readonly text: string;
  readonly replicas: number | undefined;
}

interface SeenPod {
  /** As the trace has it. */
  readonly pod: KubeObject;
  /** Empty where an audit log does not say. */
  readonly uid: string;
  readonly life: PodLife;
}

export class AuditHistory {
  readonly #options: HistoryOptions;
  readonly #held: Held[] = [];
  readonly #seen = new Map<string, Seen>();
  readonly #pods = new Map<string, SeenPod>();
  /** Uids of pods that ended and are there still, by name. */
  readonly #ended = new Map<string, string>();
  readonly #keys = new SelectorKeys();
  readonly #leftOut = new Map<string, number>();
  #bytes = 0;
  #isFull = false;

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  /** Whether the limit is reached; nothing is taken from then on. */
  get isFull(): boolean {
    return this.#isFull;
  }

  get events(): number {
    return this.#held.length + this.#pods.size;
  }

  /** Objects that are not in the trace, by reason. */
  get leftOut(): ReadonlyMap<string, number> {
    return this.#leftOut;
  }

  /** Counts something that is not in the trace. */
  miss(reason: string): void {
    this.#leftOut.set(reason, (this.#leftOut.get(reason) ?? 0) + 1);
  }

  /** An object as it is since a moment, in milliseconds since the epoch. */
  put(object: KubeObject, ms: number): void {
    if (!this.#isTaken(object)) return;
    if (object.kind === 'Pod') this.#putPod(object as Pod, ms);
    else if (object.metadata.deletionTimestamp !== undefined) this.remove(object, ms);
    else if (controllerOf(object)?.kind !== 'Deployment') this.#putObject(object, ms);
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

  /** A change of replicas alone, of an object that was seen before; answers whether it was. */
  scale(object: Pick<KubeObject, 'kind' | 'metadata'>, replicas: number, ms: number): boolean {
    const key = keyOf(object);
    const seen = this.#seen.get(key);
    if (seen === undefined) return false;
    if (seen.replicas === replicas) return true;
    this.#seen.set(key, { ...seen, replicas });
    this.#hold({ at: this.#at(ms), scale: seen.ref, replicas });
    return true;
  }

  /** All events until a moment, in order; can be called several times. */
  *until(endMs: number): Generator<TraceEvent> {
    const end = this.#at(endMs);
    const running = [...this.#pods.values()].map(({ pod, life }) =>
      heldOf({ at: this.#at(life.createdMs), apply: pod }),
    );
    const sorted = [...this.#held, ...running].sort((a, b) => a.at - b.at);
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
    const { name, namespace } = apply.metadata;
    const ref = {
      apiVersion: apply.apiVersion,
      kind: apply.kind,
      ...(namespace === undefined ? {} : { namespace }),
      name,
    };
    const replicas = replicasOf(apply);
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
    // an end of the one before that was not seen
    if ((this.#pods.get(key)?.uid ?? uid) !== uid) this.#removePod(pod, ms);
    const known = this.#pods.get(key);
    const life = lifeOf(pod, known?.life, ms);
    const apply = known?.pod ?? this.#newPod(pod, life);
    if (apply === undefined) return;
    this.#pods.set(key, { pod: apply, life, uid });
    if (pod.metadata.deletionTimestamp !== undefined && life.endedMs === undefined) {
      // what becomes of it until it is gone is the deletion's doing
      this.#removePod(pod, ms);
      this.#ended.set(key, uid);
      return;
    }
    const { endedMs, startedMs } = life;
    if (endedMs === undefined) return;
    this.#ended.set(key, uid);
    // what ran before the start of the trace is not played
    const fromMs = Math.max(startedMs ?? life.createdMs, this.#options.startMs);
    this.#settle(key, { runsFor: Math.max(0, Math.round((endedMs - fromMs) / 100) / 10) });
  }

  /** Undefined for what was over before the trace begins. */
  #newPod(pod: Pod, { createdMs, endedMs }: PodLife): KubeObject | undefined {
    const isOver = (endedMs ?? pod.metadata.deletionTimestamp) !== undefined;
    return isOver && createdMs < this.#options.startMs ? undefined : this.#readable(pod);
  }

  #removePod(pod: Pick<KubeObject, 'kind' | 'metadata'>, ms: number): void {
    const key = keyOf(pod);
    this.#ended.delete(key);
    const known = this.#pods.get(key);
    if (known === undefined) return;
    const { name, namespace = 'default' } = known.pod.metadata;
    this.#settle(key, {});
    this.#hold({ at: this.#at(ms), delete: { apiVersion: 'v1', kind: 'Pod', namespace, name } });
  }

  /** Writes a pod whose end is known. */
  #settle(key: string, rest: { readonly runsFor?: number }): void {
    const known = this.#pods.get(key);
    this.#pods.delete(key);
    if (known !== undefined) this.#hold({ at: this.#at(known.life.createdMs), apply: known.pod, ...rest });
  }

  /** The object as the trace has it; undefined when the trace's reader would refuse it. */
  #readable(object: KubeObject): KubeObject | undefined {
    try {
      const found = readObject(objectField(traceObject(object), object.kind));
      this.#keys.add(found);
      return found;
    } catch (error) {
      if (!(error instanceof FieldFault)) throw error;
      this.miss(error.message);
      return undefined;
    }
  }

  #hold(event: TraceEvent): void {
    const held = heldOf(event);
    this.#bytes += held.text.length;
    if (this.#bytes > this.#options.limitBytes) this.#isFull = true;
    if (!this.#isFull) this.#held.push(held);
  }
}

const heldOf = (event: TraceEvent): Held => ({ at: event.at, text: JSON.stringify(event) });

const keyOf = ({ kind, metadata }: Pick<KubeObject, 'kind' | 'metadata'>): string =>
  `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;

const controllerOf = ({ metadata }: KubeObject): OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true);

type Replicated = KubeObject & { readonly spec: { readonly replicas?: number } };

const replicasOf = (object: KubeObject): number | undefined =>
  SCALED_KINDS.has(object.kind) ? ((object as Replicated).spec.replicas ?? 1) : undefined;

const withReplicas = (object: KubeObject, replicas: number): KubeObject =>
  ({ ...object, spec: { ...(object as Replicated).spec, replicas } }) as KubeObject;
