/** Measures and reports the conditions of the objects of one kind: gauges, durations, and one event per transition. */

import type { Counter, Histogram } from 'prom-client';
import { type Condition, type Conditioned, type ConditionSet, initConditions, type Kind } from '#api/objects';
import { keyOf } from '#kube/client';
import { type Key, type Outcome, type Reconciler, settled } from '#kube/reconcilers';
import { own, timeOf } from '#lib';
import { conditionChanged, eventOf, FINALIZED } from '#observe/events';
import {
  differentSamples,
  type Labels,
  type Metrics,
  type Sample,
  SHARED_STATUS_PREFIX,
  type StatusFields,
  statusDeclarations,
  statusPrefix,
} from '#observe/metrics';
import type { Deps } from '../deps.ts';

interface StatusOptions {
  /** Conditions of every object of the kind, even if they are not written yet. Default: none. */
  readonly conditions?: ConditionSet;
  /** Object labels to add to the series. */
  readonly labels?: readonly string[];
  /** If true, also emits the older form, without the kind in the metric names. */
  readonly older?: boolean;
  readonly buckets?: StatusFields['buckets'];
  /** True if the operator works without the kind. */
  readonly optional?: boolean;
  /** True if the number of objects grows with the number of nodes. */
  readonly many?: boolean;
}

type StatusDeps = Pick<Deps, 'clock' | 'events' | 'metrics'>;

/** Last observed state of an object. */
interface Seen<T> {
  readonly object: T;
  readonly conditions: readonly Condition[];
}

export class StatusMetrics<T extends Conditioned> implements Reconciler<T> {
  readonly name: string;
  readonly watches: Kind<T>;
  readonly optional: boolean;
  readonly #deps: StatusDeps;
  /** Object labels to add to the series. */
  readonly #extra: readonly string[];
  readonly #forms: readonly ConditionMetrics[];
  readonly #set: ConditionSet | undefined;
  readonly #seen = new Map<string, Seen<T>>();

  constructor(deps: StatusDeps, kind: Kind<T>, options: StatusOptions = {}) {
    this.name = `operatorpkg.${kind.kind.toLowerCase()}.status`;
    this.watches = kind;
    this.optional = options.optional ?? false;
    this.#deps = deps;
    this.#extra = options.labels ?? [];
    this.#set = options.conditions;
    this.#forms = formsOf(deps.metrics, kind, options, this.#samples());
  }

  async reconcile(object: T): Promise<Outcome> {
    const key = keyOf(object.metadata);
    // state of this object only: the removal of an earlier object with the same name was reported before
    const known = this.#seen.get(key);
    const conditions = object.status?.conditions ?? [];
    this.#seen.set(key, { object, conditions });
    // a missing dependent condition counts as Unknown since the creation of the object
    const before = known && (this.#set === undefined ? known.object : initConditions(known.object, this.#set));
    for (const change of transitions(before?.status?.conditions ?? [], conditions)) this.#count(object, change);
    if (known && object.metadata.deletionTimestamp) {
      const left = object.metadata.finalizers ?? [];
      const before = known.object.metadata.finalizers ?? [];
      this.#publishFinalized(
        object,
        before.filter((finalizer) => !left.includes(finalizer)),
      );
    }
    return settled;
  }

  removed(ref: Key): void {
    const key = keyOf(ref);
    const last = this.#seen.get(key)?.object;
    this.#seen.delete(key);
    const deleted = last?.metadata.deletionTimestamp;
    if (last === undefined || !deleted) return;
    const seconds = secondsSince(deleted, this.#deps.clock.now());
    for (const { terminationSeconds, fixed } of this.#forms)
      terminationSeconds.observe(fixed ?? this.#ownLabels(last), seconds);
    this.#publishFinalized(last, last.metadata.finalizers ?? []);
  }

  #samples(): ConditionSamples {
    const { clock } = this.#deps;
    const age = (time: string | undefined): number => secondsSince(time, clock.now());
    return {
      count: (fixed) => this.#ofConditions(fixed, () => 1),
      seconds: (fixed) => this.#ofConditions(fixed, ({ lastTransitionTime }) => age(lastTransitionTime)),
      terminating: (fixed) =>
        this.#ofObjects(({ object }) => {
          const { deletionTimestamp } = object.metadata;
          return deletionTimestamp ? [{ labels: this.#base(object, fixed), value: age(deletionTimestamp) }] : [];
        }),
    };
  }

  #ofConditions(fixed: Labels | undefined, measure: (condition: Condition) => number): Iterable<readonly Sample[]> {
    return this.#ofObjects(({ object, conditions }) => {
      const labels = this.#base(object, fixed);
      return conditions.map((condition) => ({ labels, own: conditionLabels(condition), value: measure(condition) }));
    });
  }

  /** Reads a copy of the current objects, so objects that are added during the iteration are not included. */
  *#ofObjects(samplesOf: (seen: Seen<T>) => readonly Sample[]): Generator<readonly Sample[]> {
    for (const seen of [...this.#seen.values()]) yield samplesOf(seen);
  }

  #base(object: T, fixed: Labels | undefined): Labels {
    const { name, namespace = '' } = object.metadata;
    return { namespace, name, ...(fixed ?? this.#ownLabels(object)) };
  }

  #count(object: T, change: Transition): void {
    const { type, status } = change.condition;
    const lasted = lastedSeconds(change);
    for (const { fixed, transitions: counter, transitionSeconds } of this.#forms) {
      const labels = fixed ?? this.#ownLabels(object);
      counter.inc({ ...labels, ...conditionLabels(change.condition) });
      if (change.from && lasted !== undefined)
        transitionSeconds.observe({ ...labels, type, status: change.from.status }, lasted);
    }
    if (change.from === undefined || status === change.from.status) return;
    this.#deps.events.publish(eventOf(conditionChanged(type), object, { message: transitionText(change) }));
  }

  #publishFinalized(object: T, finalizers: readonly string[]): void {
    for (const finalizer of finalizers) {
      this.#deps.events.publish(eventOf(FINALIZED, object, { message: FINALIZED.message(finalizer) }));
    }
  }

  #ownLabels(object: T): Labels {
    const { labels } = object.metadata;
    return Object.fromEntries(this.#extra.map((label) => [labelName(label), own(labels, label) ?? '']));
  }
}

function formsOf(
  metrics: Metrics,
  { group, kind }: Pick<Kind, 'group' | 'kind'>,
  { labels = [], older, buckets = 'transition', many = false }: StatusOptions,
  samples: ConditionSamples,
): readonly ConditionMetrics[] {
  const prefix = statusPrefix(kind.toLowerCase());
  const shown = many ? 'together' : 'objects';
  const named = conditionMetrics({ metrics, extra: labels.map(labelName), buckets, prefix, shown, samples });
  if (!older) return [named];
  // all kinds share the label names of the older form, so it has no labels of the objects
  const shared = {
    metrics,
    samples,
    extra: [],
    buckets: 'transition',
    prefix: SHARED_STATUS_PREFIX,
    shown: 'nothing',
  } as const;
  return [named, conditionMetrics({ ...shared, fixed: { group, kind } })];
}

const conditionLabels = ({ type, status, reason = '' }: Condition): Labels => ({ type, status, reason });

const secondsSince = (time: string | undefined, nowMs: number): number =>
  time === undefined ? 0 : Math.max(0, nowMs - Date.parse(time)) / 1_000;

/** Converts the name of an object label to the name of a metric label. */
export const labelName = (label: string): string => label.replace(/[/.-]/g, '_');

/**
 * Samples of all objects, created during a scrape. The samples are not kept between scrapes, because there may be tens of
 * thousands.
 */
interface ConditionSamples {
  count(fixed: Labels | undefined): Iterable<readonly Sample[]>;
  seconds(fixed: Labels | undefined): Iterable<readonly Sample[]>;
  terminating(fixed: Labels | undefined): Iterable<readonly Sample[]>;
}

interface ConditionMetrics {
  readonly transitions: Pick<Counter, 'inc'>;
  readonly transitionSeconds: Pick<Histogram, 'observe'>;
  readonly terminationSeconds: Pick<Histogram, 'observe'>;
  /** Labels of every series of this form. They replace the labels of the object. */
  readonly fixed: Labels | undefined;
}

interface ConditionMetricsOptions extends Pick<StatusFields, 'prefix' | 'buckets' | 'shown'> {
  readonly metrics: Metrics;
  /** Names of labels that are read from the object. */
  readonly extra: readonly string[];
  /** Labels of every series of this form. They replace the labels of the object. */
  readonly fixed?: Labels;
  readonly samples: ConditionSamples;
}

/** Status-condition metrics of one kind, in the form with the kind in the name and in the older form with labels for the kind. */
function conditionMetrics({
  metrics,
  prefix,
  extra,
  fixed,
  buckets,
  shown,
  samples,
}: ConditionMetricsOptions): ConditionMetrics {
  const declared = statusDeclarations({ prefix, labels: [...Object.keys(fixed ?? {}), ...extra], buckets, shown });
  metrics.readAtScrape(declared.count, () => differentSamples(samples.count(fixed)));
  metrics.readAtScrape(declared.seconds, () => differentSamples(samples.seconds(fixed)));
  metrics.readAtScrape(declared.terminating, () => differentSamples(samples.terminating(fixed)));
  return {
    fixed,
    transitions: metrics.counter(declared.transitions),
    transitionSeconds: metrics.histogram(declared.transitionSeconds),
    terminationSeconds: metrics.histogram(declared.terminationSeconds),
  };
}

/** Computes the transitions of an object's conditions. Has no side effects. */
interface Transition {
  readonly condition: Condition;
  /** Earlier condition. Undefined if the object did not have a condition of this type. */
  readonly from: Condition | undefined;
}

/** Returns the conditions with a changed status or a new type. A new reason or message alone is not a transition. */
function transitions(before: readonly Condition[], now: readonly Condition[]): readonly Transition[] {
  return now.flatMap((condition): readonly Transition[] => {
    const from = before.find(({ type }) => type === condition.type);
    return from?.status === condition.status ? [] : [{ condition, from }];
  });
}

/** Returns the text of a transition's event. */
function transitionText({ condition, from }: Transition): string {
  const text =
    `Status condition transitioned, Type: ${condition.type}, Status: ${from?.status} -> ${condition.status}, ` +
    `Reason: ${condition.reason ?? ''}`;
  return condition.message ? `${text}, Message: ${condition.message}` : text;
}

/** Returns the duration of the earlier status in seconds, or undefined if a time is missing. */
function lastedSeconds({ condition, from }: Transition): number | undefined {
  const ms = timeOf(condition.lastTransitionTime) - timeOf(from?.lastTransitionTime);
  return Number.isNaN(ms) ? undefined : Math.max(0, ms) / 1_000;
}
