/**
 * Skips decisions of disruption methods that would find no command. A method does not decide again on a snapshot if its last
 * run on this snapshot found no command. A consolidation method does not search again until the cluster changes in a way that
 * can make a consolidation possible, which is Karpenter's rule, or until five minutes have passed.
 */
import type { Method, MethodInput, MethodResult } from '../../engine/disruption/method.ts';
import type { ClusterState } from '../../state/cluster.ts';
import type { DisruptionSnapshot } from './snapshots.ts';

/** `more to see`: no command was started, but the next run on the same snapshot may find one. */
export type RunOutcome = 'started' | 'nothing' | 'more to see';

const NO_POOLS: ReadonlySet<string> = new Set();

interface Search {
  /** `consolidationState` of the cluster. */
  readonly state: number;
  /** Returns true if a search with this input would find no command. */
  readonly covers: (input: MethodInput) => boolean;
}

/** Results of a method's last run. */
interface Entry {
  /** The snapshot if the run found nothing. */
  snapshot?: DisruptionSnapshot | undefined;
  /** The search if it found nothing. */
  search?: Search | undefined;
  /** NodePools that the last search did not reach before its time limit. */
  unseenPools: ReadonlySet<string>;
}

export class DecisionMemo {
  readonly #cluster: Pick<ClusterState, 'consolidationState'>;
  readonly #entries = new Map<string, Entry>();

  constructor(cluster: Pick<ClusterState, 'consolidationState'>) {
    this.#cluster = cluster;
  }

  /** Returns the methods that must still run on this snapshot, because no run on it has finished without a command. */
  due(methods: readonly Method[], snapshot: DisruptionSnapshot): readonly Method[] {
    return methods.filter((method) => this.#entry(method).snapshot !== snapshot);
  }

  /**
   * Records the outcomes of a pass.
   * @param snapshot of the beginning of the pass
   */
  passed(outcomes: ReadonlyMap<Method, RunOutcome>, snapshot: DisruptionSnapshot): void {
    for (const [method, outcome] of outcomes)
      this.#entry(method).snapshot = outcome === 'nothing' ? snapshot : undefined;
  }

  /** Returns true if a search of a consolidation method would find no command. */
  isCovered(method: Method, input: MethodInput): boolean {
    const { search } = this.#entry(method);
    if (method.consolidationType === '' || search?.state !== this.#cluster.consolidationState()) return false;
    return search.covers(input);
  }

  searched(method: Method, input: MethodInput, result: MethodResult): void {
    const { commands, exhausted, timeout, failures = [], unseenPools = NO_POOLS } = result;
    const entry = this.#entry(method);
    // a search that finds a command stops before it has reached all NodePools
    if (timeout || commands.length === 0) entry.unseenPools = timeout ? unseenPools : NO_POOLS;
    const isWhole = commands.length === 0 && !timeout && failures.length === 0;
    const covers = exhausted ? coversNoMoreThan(input) : isWhole ? coversTheSame(input) : undefined;
    entry.search = covers && { state: this.#cluster.consolidationState(), covers };
  }

  /** NodePools that the next search considers first, because the last search timed out before it reached them. */
  unseenPools(method: Method): ReadonlySet<string> {
    return this.#entry(method).unseenPools;
  }

  #entry({ name }: Method): Entry {
    let entry = this.#entries.get(name);
    if (entry === undefined) {
      entry = { unseenPools: NO_POOLS };
      this.#entries.set(name, entry);
    }
    return entry;
  }
}

/**
 * A complete search covers every subset of its candidates. In Karpenter it also covers candidates that become consolidatable,
 * or that a PodDisruptionBudget allows, after the search. Such candidates wait for the next change of the cluster.
 */
function coversNoMoreThan({ candidates, consolidation }: MethodInput): Search['covers'] {
  if (consolidation === 'compatible') return () => true;
  const seen = new Set(candidates.map(({ providerId }) => providerId));
  return (input) => input.candidates.every(({ providerId }) => seen.has(providerId));
}

/** A search that budgets limited covers the same choice only. */
function coversTheSame(input: MethodInput): Search['covers'] {
  const choice = choiceOf(input);
  return (other) => choiceOf(other) === choice;
}

/** The candidates, the number that each NodePool allows, and the NodePools that come first. */
const choiceOf = ({ candidates, budgets, unseenPools }: MethodInput): string =>
  JSON.stringify([[...budgets], [...unseenPools], candidates.map(({ providerId }) => providerId)]);
