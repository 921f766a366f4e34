/** Every node that the operator of a replay launched or lost, with the reason. */
import {
  CAPACITY_TYPE_LABEL,
  getCondition,
  INSTANCE_TYPE_LABEL,
  labelOf,
  type NodeClaim,
  poolNameOf,
  ZONE_LABEL,
} from '#api/objects';
import { DecisionLog, type FleetChange, type LoggedDecision } from '#observe/history';
import type { InterruptionSummary, NodeEvent, NodeSummary } from '../result.ts';

type Facts = Omit<NodeEvent, 'at' | 'what' | 'reason'>;

/** Maximum number of entries. An entry takes a few hundred bytes. */
const MOST_ENTRIES = 200_000;
const INTERRUPTED = 'Interrupted';

interface NodeLogOptions {
  /** Returns the seconds since the start of the trace. */
  readonly now: () => number;
  /** Returns the price of the instance at its launch, in USD per hour. */
  readonly priceOf: (providerId: string) => number;
}

export class NodeLog {
  readonly entries: NodeEvent[] = [];
  readonly #options: NodeLogOptions;
  /** NodeClaims with an instance, by name. */
  readonly #bought = new Map<string, Facts>();
  /** Reasons for the removal of NodeClaims, by name, from the operator's decisions. */
  readonly #reasons = new Map<string, string>();
  readonly #byReason = new Map<string, number>();
  #nodesBought = 0;
  #nodesGivenBack = 0;
  #interrupted = 0;
  #survived = 0;
  #failed = 0;

  constructor(options: NodeLogOptions) {
    this.#options = options;
  }

  /** Log to which the operator writes its decisions. */
  readonly decisions: DecisionLog = new TappedLog((entry) => this.#decided(entry));

  changed(claim: NodeClaim): void {
    const { name } = claim.metadata;
    const providerId = claim.status?.providerID;
    if (providerId === undefined || providerId === '' || this.#bought.has(name)) return;
    const facts: Facts = {
      nodePool: poolNameOf(claim),
      name,
      instanceType: labelOf(claim, INSTANCE_TYPE_LABEL),
      zone: labelOf(claim, ZONE_LABEL),
      capacityType: labelOf(claim, CAPACITY_TYPE_LABEL),
      usdPerHour: this.#options.priceOf(providerId),
    };
    this.#bought.set(name, facts);
    this.#nodesBought += 1;
    this.#enter('bought', facts);
  }

  gone(claim: NodeClaim): void {
    const { name } = claim.metadata;
    const facts = this.#bought.get(name);
    const reason = this.#reasons.get(name) ?? getCondition(claim, 'DisruptionReason')?.reason ?? 'Deleted';
    this.#reasons.delete(name);
    if (facts === undefined) {
      this.#failed += 1;
      const unknown = { instanceType: '', zone: '', capacityType: '', usdPerHour: 0 };
      this.#enter('launch failed', { nodePool: poolNameOf(claim), name, ...unknown }, reason);
      return;
    }
    this.#bought.delete(name);
    this.#nodesGivenBack += 1;
    this.#byReason.set(reason, (this.#byReason.get(reason) ?? 0) + 1);
    this.#enter('given back', facts, reason);
  }

  /** Records an interruption. `isEmpty` is true if every pod had left the node before the instance was reclaimed. */
  takenBack(isEmpty: boolean): void {
    this.#interrupted += 1;
    if (isEmpty) this.#survived += 1;
  }

  summary(): Pick<NodeSummary, 'bought' | 'givenBack' | 'byReason'> {
    const byReason = Object.fromEntries([...this.#byReason].sort(([, a], [, b]) => b - a));
    return { bought: this.#nodesBought, givenBack: this.#nodesGivenBack, byReason };
  }

  interruptions(): InterruptionSummary {
    return { count: this.#interrupted, survived: this.#survived, capacityErrors: this.#failed };
  }

  #decided(entry: LoggedDecision): void {
    if (entry.kind === 'deleted') this.#reasons.set(entry.nodeClaim, camelCase(entry.reason));
    if (entry.kind !== 'interrupted') return;
    this.#reasons.set(entry.nodeClaim, INTERRUPTED);
    const facts = this.#bought.get(entry.nodeClaim);
    if (facts !== undefined) this.#enter('interrupted', facts, camelCase(entry.reason));
  }

  #enter(what: NodeEvent['what'], facts: Facts, reason?: string): void {
    if (this.entries.length >= MOST_ENTRIES) return;
    this.entries.push({ at: this.#options.now(), what, ...facts, ...(reason === undefined ? {} : { reason }) });
  }
}

/** Decision log that passes each entry to a listener. */
class TappedLog extends DecisionLog {
  readonly #tap: (entry: LoggedDecision) => void;

  constructor(tap: (entry: LoggedDecision) => void) {
    super();
    this.#tap = tap;
  }

  override record(entry: LoggedDecision, change?: FleetChange): void {
    super.record(entry, change);
    this.#tap(entry);
  }
}

/** Converts a reason such as `insufficient_capacity` to the form of condition reasons. */
const camelCase = (reason: string): string =>
  reason.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
