/**
 * Publishes an event on each Node with the reason why disruption does not disrupt it, unless an event of Karpenter has the
 * same reason. Publishes the next event only after another reason has settled.
 */
import type { Verdict, VerdictCode, VerdictHistory } from '#engine/disruption';
import type { StateNode } from '#engine/model';
import { after, type Singleton } from '#kube/reconcilers';
import { monotonicMs } from '#lib/clock';
import { DISRUPTION_VERDICT, eventOf } from '#observe/events';
import type { Deps } from '../deps.ts';
import { capitalize } from '../text.ts';

const INTERVAL_MS = 10_000;
/** Minimum duration of a reported reason. Shorter reasons are transient, for example because a pass is not finished. */
const SETTLED_MS = 10_000;
/** Maximum number of events per interval, so that events about every node of a large cluster are published gradually. */
const AT_ONCE = 100;

/** Verdicts with their own events, or that do not last. */
const UNREPORTED: ReadonlySet<VerdictCode> = new Set(['chosen', 'next', 'in-progress', 'deleting', 'unmanaged']);

/** State of the reports on a node. */
interface NodeReport {
  /** Reason of the last check. `sinceMs` is the time since which it applies, by `monotonicMs`. */
  reason: string;
  sinceMs: number;
  /** The reason of the last event. */
  published?: string;
}

type Wanted = Pick<Deps, 'clock' | 'events'> & { readonly cluster: Pick<Deps['cluster'], 'nodes'> };

export function verdictEvents({ clock, cluster, events }: Wanted, history: VerdictHistory): Singleton {
  const known = new Map<string, NodeReport>();

  /** Returns true if the verdict is due to be published. */
  function isDue(verdict: Verdict): boolean {
    const reason = reasonOf(verdict);
    const lookedMs = monotonicMs(clock);
    const last = known.get(verdict.node) ?? { reason, sinceMs: lookedMs };
    if (last.reason !== reason) Object.assign(last, { reason, sinceMs: lookedMs });
    known.set(verdict.node, last);
    const isReviewed = verdict.methods.length > 0;
    return (
      isReviewed && !UNREPORTED.has(verdict.code) && last.published !== reason && lookedMs - last.sinceMs >= SETTLED_MS
    );
  }

  function publish(verdict: Verdict, node: StateNode): void {
    const last = known.get(verdict.node);
    if (last) last.published = last.reason;
    const object = node.node ?? node.nodeClaim;
    if (object === undefined || history.isReported(node, verdict.text)) return;
    events.publish(eventOf(DISRUPTION_VERDICT, object, { message: textOf(verdict) }));
  }

  return {
    name: 'disruption.verdicts',
    singleton: true,
    async reconcile() {
      const nodes = new Map(cluster.nodes().map((node) => [node.name, node]));
      for (const name of known.keys()) if (!nodes.has(name)) known.delete(name);
      const due = history.verdicts([...nodes.values()], clock.now()).filter(isDue);
      for (const verdict of due.slice(0, AT_ONCE)) {
        const node = nodes.get(verdict.node);
        if (node) publish(verdict, node);
      }
      return after(INTERVAL_MS);
    },
  };
}

/** Returns the identity of a verdict. Verdicts with different near misses have the same identity. */
const reasonOf = ({ code, object }: Verdict): string =>
  object === undefined ? code : [code, object.kind, object.namespace ?? '', object.name].join('/');

const textOf = ({ code, text, nearestMiss }: Verdict): string =>
  `${capitalize(text)}${nearestMiss === undefined ? '' : ` (${nearestMiss})`} [${code}]`;
