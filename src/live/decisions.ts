/** Last decisions of the operator, from its events and from created and deleted NodeClaims. */
import type { EventNote } from '../observe/events/declaration.ts';
import type { LiveDecision } from './model.ts';

const MOST = 500;
/**
 * Within this time, a repeated decision increases a count instead of adding a line. The operator repeats events about a lasting
 * problem every ten minutes or later.
 */
const SAME_MS = 60 * 60_000;
/** Ids of requests and instances, which differ between repetitions of the same problem. */
const IDS = /\b(?:[0-9a-f]{8}-[0-9a-f-]{27}|(?:i|fleet)-[0-9a-f]{8,})\b/g;

/** Reasons of events that every node receives repeatedly. The rows of the nodes show the same information. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'DisruptionVerdict',
  'Unconsolidatable',
  'DisruptionBlocked',
  'Finalized',
]);
const INTERRUPTIONS: ReadonlySet<string> = new Set([
  'SpotInterrupted',
  'SpotRebalanceRecommendation',
  'CapacityReservationInstanceInterrupted',
  'InstanceUnhealthy',
  'InstanceStopping',
  'InstanceTerminating',
  'TerminatingOnInterruption',
]);
const DISRUPTIONS = /^(Disruption|Consolidation|Expired$)/;
const DEADLINE = 'TerminationGracePeriodExpiring';
/** Message of condition changes. They have separate events. */
const CONDITION_CHANGE = /^Status condition transitioned/;

/** Kinds of objects with decisions about nodes. Events of pods are shown with the pods. */
const KINDS: ReadonlySet<string> = new Set([
  'NodeClaim',
  'Node',
  'NodePool',
  'EC2NodeClass',
  'NodeOverlay',
  'CapacityBuffer',
]);

export class LiveDecisions {
  readonly #decisions: LiveDecision[] = [];
  #lastId = 0;

  /** Oldest decision first. */
  list(): readonly LiveDecision[] {
    return this.#decisions;
  }

  /** Returns the decisions that were added or repeated after the decision with this id. */
  since(id: number): readonly LiveDecision[] {
    return this.#decisions.filter((decision) => decision.id > id);
  }

  /** Returns the decisions about an object, such as `NodePool/default`. */
  about(...objects: readonly string[]): readonly LiveDecision[] {
    return this.#decisions.filter(({ object }) => objects.includes(object));
  }

  get lastId(): number {
    return this.#lastId;
  }

  add(decision: Omit<LiveDecision, 'id' | 'times' | 'firstId'>): void {
    this.#lastId += 1;
    const text = decision.text.replaceAll(IDS, '');
    const same = this.#decisions.findIndex(
      (other) =>
        other.object === decision.object &&
        decision.atMs - other.atMs < SAME_MS &&
        other.text.replaceAll(IDS, '') === text,
    );
    const [before] = same === -1 ? [] : this.#decisions.splice(same, 1);
    const repeated = before && { firstId: before.firstId ?? before.id };
    this.#decisions.push({ ...decision, id: this.#lastId, ...repeated, times: (before?.times ?? 0) + 1 });
    if (this.#decisions.length > MOST) this.#decisions.shift();
  }

  /** Records a published event if it is about a decision. */
  note({ object, type, reason, message }: EventNote, atMs: number): void {
    if (!KINDS.has(object.kind) || LEFT_OUT.has(reason) || CONDITION_CHANGE.test(message)) return;
    // the NodeClaim has the same event
    if (object.kind === 'Node' && (INTERRUPTIONS.has(reason) || DISRUPTIONS.test(reason) || reason === DEADLINE))
      return;
    this.add({ atMs, topic: topicOf(type, reason), object: `${object.kind}/${object.metadata.name}`, text: message });
  }
}

function topicOf(type: EventNote['type'], reason: string): LiveDecision['topic'] {
  if (INTERRUPTIONS.has(reason)) return 'interruption';
  if (DISRUPTIONS.test(reason)) return 'disruption';
  return type === 'Warning' ? 'problem' : 'other';
}
