/** Passes the operator's events to the view of `karpenter top`. */
import type { KubeEvent, Pod } from '../../api/kubernetes.ts';
import type { Verdict, VerdictCode } from '../../engine/disruption/verdicts.ts';
import type { Store } from '../../kube/client.ts';
import { timeOf } from '../../lib/times.ts';
import type { LiveView } from '../../live/view.ts';

/** End of a `DisruptionVerdict` event. */
const CODE = / \[([a-z-]+)\]$/;

type NotedView = Pick<LiveView, 'note'> & { readonly decisions: Pick<LiveView['decisions'], 'note'> };

/** Returns false for events of an earlier pod with the same name, such as a pod of a StatefulSet. */
function isCurrent(
  { involvedObject: { kind, name, namespace, uid } }: KubeEvent,
  pods: Pick<Store<Pod>, 'get'>,
): boolean {
  return kind !== 'Pod' || uid === undefined || pods.get({ name, namespace })?.metadata.uid === uid;
}

/** Passes new and repeated events of the operator to the view, oldest first. */
export class EventReader {
  verdicts: ReadonlyMap<string, Verdict> = new Map();
  readonly #view: NotedView;
  readonly #pods: Pick<Store<Pod>, 'get'>;
  /** Counts of the events of the last list, by UID. */
  #counts = new Map<string, number>();

  constructor(view: NotedView, pods: Pick<Store<Pod>, 'get'>) {
    this.#view = view;
    this.#pods = pods;
  }

  read(events: readonly KubeEvent[]): void {
    const inOrder = events.filter((event) => isCurrent(event, this.#pods)).sort((a, b) => atMs(a) - atMs(b));
    const counts = new Map<string, number>();
    for (const event of inOrder) {
      const [uid, count] = [event.metadata.uid ?? event.metadata.name, event.count ?? 1];
      counts.set(uid, count);
      if (this.#counts.get(uid) !== count) this.#note(event);
    }
    this.#counts = counts;
    this.verdicts = new Map(inOrder.flatMap(verdictIn));
  }

  #note({ involvedObject, ...event }: KubeEvent): void {
    const { kind, name, namespace = 'default' } = involvedObject;
    const { type, reason, message } = event;
    const note = { object: { apiVersion: '', kind, metadata: { name, namespace } }, type, reason, message };
    if (kind === 'Pod') this.#view.note(note);
    else this.#view.decisions.note(note, atMs(event));
  }
}

const atMs = ({ lastTimestamp, metadata }: Pick<KubeEvent, 'lastTimestamp' | 'metadata'>): number =>
  timeOf(lastTimestamp ?? metadata.creationTimestamp) || 0;

/** Returns the verdict in a `DisruptionVerdict` event. The event has no results of single methods. */
function verdictIn({ reason, message, involvedObject }: KubeEvent): readonly (readonly [string, Verdict])[] {
  const [end, code] = (reason === 'DisruptionVerdict' && CODE.exec(message)) || [];
  if (end === undefined) return [];
  const { name: node } = involvedObject;
  return [[node, { node, code: code as VerdictCode, text: message.slice(0, -end.length), methods: [] }]];
}
