/** Measures and reports the conditions of one kind's objects: gauges, durations, and an event per transition. */

import type { Conditioned } from '../../api/conditions.ts';
import type { Kind } from '../../api/kinds.ts';
import type { Condition } from '../../api/kubernetes.ts';
import { own } from '../../api/own.ts';
import { after, type Reconciler } from '../../kube/reconciler.ts';
import { keyOf } from '../../kube/store.ts';
import { eventOf } from '../../observe/events/declaration.ts';
import { conditionChanged, FINALIZED } from '../../observe/events/objects.ts';
import { SHARED_STATUS_PREFIX, type StatusFields, statusPrefix } from '../../observe/metrics/status.ts';
import type { Deps } from '../deps.ts';
import { conditionMetrics } from './conditionmetrics.ts';
import { lastedSeconds, type Transition, transitions, transitionText } from './conditions.ts';
import type { Labels } from './series.ts';

const INTERVAL_MS = 10_000;

export interface StatusOptions {
  /** Labels of the objects that become labels of their series. */
  readonly labels?: readonly string[];
  /** Also emits the older form without the kind in the metrics' names. */
  readonly older?: boolean;
  readonly buckets?: StatusFields['buckets'];
}

/** What was last seen of an object. */
interface Seen<T> {
  readonly object: T;
  readonly conditions: readonly Condition[];
}

export function statusMetrics<T extends Conditioned>(
  { clock, events, metrics }: Pick<Deps, 'clock' | 'events' | 'metrics'>,
  kind: Kind<T>,
  options: StatusOptions = {},
): Reconciler<T> {
  const name = kind.kind.toLowerCase();
  const extra = options.labels ?? [];
  const form = { metrics, extra: extra.map(labelName), buckets: options.buckets ?? 'transition' };
  const forms = [
    conditionMetrics({ ...form, prefix: statusPrefix(name), fixed: {} }),
    // the label names of the older form are those of all kinds together, so it carries none of the objects' own
    ...(options.older
      ? [
          conditionMetrics({
            metrics,
            buckets: 'transition',
            extra: [],
            prefix: SHARED_STATUS_PREFIX,
            fixed: { group: kind.group, kind: kind.kind },
          }),
        ]
      : []),
  ];
  const seen = new Map<string, Seen<T>>();

  const ownLabels = (object: T, index: number): Labels =>
    index > 0
      ? (forms[index]?.fixed ?? {})
      : Object.fromEntries(extra.map((label) => [labelName(label), own(object.metadata.labels, label) ?? '']));

  /** Series of different kinds share the older form's metrics. */
  const owner = (key: string): string => `${kind.kind}/${key}`;

  function measure(key: string, object: T, conditions: readonly Condition[]): void {
    const nowMs = clock.now();
    const { name: objectName, namespace = '', deletionTimestamp } = object.metadata;
    forms.forEach((each, index) => {
      const base = { namespace, name: objectName, ...ownLabels(object, index) };
      const labelled = conditions.map((condition) => ({
        condition,
        labels: { ...base, ...conditionLabels(condition) },
      }));
      each.count.set(
        owner(key),
        labelled.map(({ labels }) => ({ labels, value: 1 })),
      );
      each.seconds.set(
        owner(key),
        labelled.map(({ labels, condition }) => ({ labels, value: secondsSince(condition.lastTransitionTime, nowMs) })),
      );
      const terminating = deletionTimestamp && { labels: base, value: secondsSince(deletionTimestamp, nowMs) };
      each.terminating.set(owner(key), terminating ? [terminating] : []);
    });
  }

  function count(object: T, change: Transition): void {
    const { type, status } = change.condition;
    const lasted = lastedSeconds(change);
    forms.forEach((each, index) => {
      const own = ownLabels(object, index);
      each.transitions.inc({ ...own, ...conditionLabels(change.condition) });
      if (change.from && lasted !== undefined) {
        each.transitionSeconds.observe({ ...own, type, status: change.from.status }, lasted);
      }
    });
    if (change.from === undefined || status === change.from.status) return;
    events.publish(eventOf(conditionChanged(type), object, { message: transitionText(change) }));
  }

  const tellFinalized = (object: T, finalizers: readonly string[]): void => {
    for (const finalizer of finalizers) {
      events.publish(eventOf(FINALIZED, object, { message: FINALIZED.message(finalizer) }));
    }
  };

  return {
    name: `operatorpkg.${name}.status`,
    watches: kind,

    removed: (ref) => {
      const key = keyOf(ref);
      const last = seen.get(key);
      seen.delete(key);
      forms.forEach((each, index) => {
        each.count.remove(owner(key));
        each.seconds.remove(owner(key));
        each.terminating.remove(owner(key));
        const deleted = last?.object.metadata.deletionTimestamp;
        if (last && deleted) {
          each.terminationSeconds.observe(ownLabels(last.object, index), secondsSince(deleted, clock.now()));
        }
      });
      if (last?.object.metadata.deletionTimestamp) tellFinalized(last.object, last.object.metadata.finalizers ?? []);
    },

    async reconcile(object) {
      const key = keyOf(object.metadata);
      // of this object and of no namesake before it, whose removal was told first
      const known = seen.get(key);
      const conditions = object.status?.conditions ?? [];
      seen.set(key, { object, conditions });
      for (const change of transitions(known?.conditions ?? [], conditions)) count(object, change);
      if (known && object.metadata.deletionTimestamp) {
        const left = object.metadata.finalizers ?? [];
        tellFinalized(
          object,
          (known.object.metadata.finalizers ?? []).filter((finalizer) => !left.includes(finalizer)),
        );
      }
      measure(key, object, conditions);
      return after(INTERVAL_MS);
    },
  };
}

const conditionLabels = ({ type, status, reason = '' }: Condition): Labels => ({ type, status, reason });

const secondsSince = (time: string | undefined, nowMs: number): number =>
  time === undefined ? 0 : Math.max(0, nowMs - Date.parse(time)) / 1_000;

const labelName = (label: string): string => label.replace(/[/.-]/g, '_');
