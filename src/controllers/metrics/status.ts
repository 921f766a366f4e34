/** Measures and reports the conditions of one kind's objects: gauges, durations, and an event per transition. */

import type { Conditioned } from '../../api/conditions.ts';
import type { Kind } from '../../api/kinds.ts';
import type { Condition } from '../../api/kubernetes.ts';
import { own } from '../../api/own.ts';
import { after, type Key, type Outcome, type Reconciler } from '../../kube/reconciler.ts';
import { keyOf } from '../../kube/store.ts';
import { eventOf } from '../../observe/events/declaration.ts';
import { conditionChanged, FINALIZED } from '../../observe/events/objects.ts';
import { SHARED_STATUS_PREFIX, type StatusFields, statusPrefix } from '../../observe/metrics/status.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { Labels } from '../../observe/owned-series.ts';
import type { Deps } from '../deps.ts';
import { type ConditionMetrics, conditionMetrics } from './condition-metrics.ts';
import { lastedSeconds, type Transition, transitions, transitionText } from './conditions.ts';

const INTERVAL_MS = 10_000;

export interface StatusOptions {
  /** Labels of the objects that become labels of their series. */
  readonly labels?: readonly string[];
  /** Also emits the older form without the kind in the metrics' names. */
  readonly older?: boolean;
  readonly buckets?: StatusFields['buckets'];
  /** There are as many as nodes. */
  readonly many?: boolean;
}

type StatusDeps = Pick<Deps, 'clock' | 'events' | 'metrics'>;

/** What was last seen of an object. */
interface Seen<T> {
  readonly object: T;
  readonly conditions: readonly Condition[];
}

export class StatusMetrics<T extends Conditioned> implements Reconciler<T> {
  readonly name: string;
  readonly watches: Kind<T>;
  readonly #deps: StatusDeps;
  /** Labels of the objects that become labels of their series. */
  readonly #extra: readonly string[];
  readonly #forms: readonly ConditionMetrics[];
  readonly #seen = new Map<string, Seen<T>>();

  constructor(deps: StatusDeps, kind: Kind<T>, options: StatusOptions = {}) {
    this.name = `operatorpkg.${kind.kind.toLowerCase()}.status`;
    this.watches = kind;
    this.#deps = deps;
    this.#extra = options.labels ?? [];
    this.#forms = formsOf(deps.metrics, kind, options);
  }

  async reconcile(object: T): Promise<Outcome> {
    const key = keyOf(object.metadata);
    // of this object and of no namesake before it, whose removal was reported first
    const known = this.#seen.get(key);
    const conditions = object.status?.conditions ?? [];
    this.#seen.set(key, { object, conditions });
    for (const change of transitions(known?.conditions ?? [], conditions)) this.#count(object, change);
    if (known && object.metadata.deletionTimestamp) {
      const left = object.metadata.finalizers ?? [];
      const before = known.object.metadata.finalizers ?? [];
      this.#publishFinalized(
        object,
        before.filter((finalizer) => !left.includes(finalizer)),
      );
    }
    this.#measure(key, object, conditions);
    return after(INTERVAL_MS);
  }

  removed(ref: Key): void {
    const key = keyOf(ref);
    const last = this.#seen.get(key)?.object;
    this.#seen.delete(key);
    const deleted = last?.metadata.deletionTimestamp;
    this.#forms.forEach((form, index) => {
      form.count.remove(this.#owner(key));
      form.seconds.remove(this.#owner(key));
      form.terminating.remove(this.#owner(key));
      if (last && deleted) {
        const seconds = secondsSince(deleted, this.#deps.clock.now());
        form.terminationSeconds.observe(this.#ownLabels(last, index), seconds);
      }
    });
    if (last && deleted) this.#publishFinalized(last, last.metadata.finalizers ?? []);
  }

  #measure(key: string, object: T, conditions: readonly Condition[]): void {
    const nowMs = this.#deps.clock.now();
    const owner = this.#owner(key);
    const { name, namespace = '', deletionTimestamp } = object.metadata;
    this.#forms.forEach((form, index) => {
      const base = { namespace, name, ...this.#ownLabels(object, index) };
      const counts = conditions.map((condition) => ({ labels: { ...base, ...conditionLabels(condition) }, value: 1 }));
      const seconds = conditions.map((condition) => ({
        labels: { ...base, ...conditionLabels(condition) },
        value: secondsSince(condition.lastTransitionTime, nowMs),
      }));
      form.count.set(owner, counts);
      form.seconds.set(owner, seconds);
      const terminating = deletionTimestamp && { labels: base, value: secondsSince(deletionTimestamp, nowMs) };
      form.terminating.set(owner, terminating ? [terminating] : []);
    });
  }

  #count(object: T, change: Transition): void {
    const { type, status } = change.condition;
    const lasted = lastedSeconds(change);
    this.#forms.forEach((form, index) => {
      const labels = this.#ownLabels(object, index);
      form.transitions.inc({ ...labels, ...conditionLabels(change.condition) });
      if (change.from && lasted !== undefined) {
        form.transitionSeconds.observe({ ...labels, type, status: change.from.status }, lasted);
      }
    });
    if (change.from === undefined || status === change.from.status) return;
    this.#deps.events.publish(eventOf(conditionChanged(type), object, { message: transitionText(change) }));
  }

  #publishFinalized(object: T, finalizers: readonly string[]): void {
    for (const finalizer of finalizers) {
      this.#deps.events.publish(eventOf(FINALIZED, object, { message: FINALIZED.message(finalizer) }));
    }
  }

  #ownLabels(object: T, index: number): Labels {
    if (index > 0) return this.#forms[index]?.fixed ?? {};
    const { labels } = object.metadata;
    return Object.fromEntries(this.#extra.map((label) => [labelName(label), own(labels, label) ?? '']));
  }

  /** Series of different kinds share the older form's metrics. */
  #owner(key: string): string {
    return `${this.watches.kind}/${key}`;
  }
}

function formsOf(
  metrics: Metrics,
  { group, kind }: Pick<Kind, 'group' | 'kind'>,
  { labels = [], older, buckets = 'transition', many = false }: StatusOptions,
): readonly ConditionMetrics[] {
  const prefix = statusPrefix(kind.toLowerCase());
  const shown = many ? 'together' : 'objects';
  const named = conditionMetrics({ metrics, extra: labels.map(labelName), buckets, prefix, shown, fixed: {} });
  if (!older) return [named];
  // the label names of the older form are those of all kinds together, so it carries none of the objects' own
  const shared = { metrics, extra: [], buckets: 'transition', prefix: SHARED_STATUS_PREFIX, shown: 'nothing' } as const;
  return [named, conditionMetrics({ ...shared, fixed: { group, kind } })];
}

const conditionLabels = ({ type, status, reason = '' }: Condition): Labels => ({ type, status, reason });

const secondsSince = (time: string | undefined, nowMs: number): number =>
  time === undefined ? 0 : Math.max(0, nowMs - Date.parse(time)) / 1_000;

const labelName = (label: string): string => label.replace(/[/.-]/g, '_');
