/** Simulates a snapshot without some of its nodes with the solver. */

import { NODEPOOL_LABEL, type NodePool } from '#api/objects';
import type { EnginePod } from '../../input.ts';
import type { EngineNode, EngineSnapshot, Plan, Quiet, SolveOptions } from '../../model.ts';
import { isHeavy } from '../../pod-bounds.ts';
import { isUnschedulable, podKey } from '../../pods.ts';
import { type Prepared, prepare } from '../../solve.ts';
import type { RankedNode } from '../../solver/emptiable.ts';
import { isUnderConsolidateAfter } from '../candidates/consolidate-after.ts';
import { currentlyReschedulable } from '../candidates/pod-blocks.ts';
import type { Simulation, SimulationOptions } from './simulation.ts';

interface SimulatorOptions {
  /** All NodePools that nodes may belong to, including NodePools that do not launch nodes for pods. */
  readonly nodePools: readonly NodePool[];
  readonly solve: SolveOptions;
  /** Pods that no simulation moves, by namespaced name, with the reason. Their nodes stay. */
  readonly untouched?: ReadonlyMap<string, string>;
}

const MOST_ANSWERS = 200;

/**
 * Simulator for one snapshot. Computes data that does not depend on the removed nodes once, in the first simulation that needs
 * it.
 */
export class Simulator {
  readonly #base: EngineSnapshot;
  readonly #options: SimulatorOptions;
  readonly #leaving: readonly EngineNode[];
  /** Pending pods, except for heavy pods, which would slow down every simulation. */
  readonly #waiting: readonly EnginePod[];
  readonly #byId: ReadonlyMap<string, EngineNode>;
  readonly #untouched: ReadonlyMap<string, string>;
  #prepared: Prepared | undefined;
  #displaced: readonly EnginePod[] | undefined;
  #displacedKeys: ReadonlySet<string> | undefined;
  #quiet: Quiet | undefined;
  /** Cached results, because an idle cluster runs the same simulations every few minutes. */
  readonly #answers = new Map<string, Simulation>();

  /** Creates a simulator. The pending pods of `base` are the pods that are pending now. */
  constructor(base: EngineSnapshot, options: SimulatorOptions) {
    this.#base = base;
    this.#untouched = options.untouched ?? new Map();
    this.#options = options;
    this.#leaving = base.nodes.filter(({ markedForDeletion }) => markedForDeletion);
    this.#waiting = base.pendingPods.filter((pod) => !isHeavy(pod) && !this.#untouched.has(podKey(pod)));
    this.#byId = new Map(base.nodes.map((node) => [node.providerId, node]));
  }

  /**
   * Simulates the pods of some nodes, given by provider id, without these nodes. Returns undefined if one of the nodes is
   * already being deleted.
   */
  without(providerIds: Iterable<string>, options: SimulationOptions): Simulation | undefined {
    const question = JSON.stringify([options, ...providerIds]);
    const known = this.#answers.get(question);
    if (known !== undefined) return known;
    const { elapsedMs = () => 0, deadlineMs = Number.POSITIVE_INFINITY } = this.#options.solve;
    const startedMs = elapsedMs();
    const answer = this.#answer(providerIds, options);
    const isWhole = elapsedMs() - startedMs < deadlineMs;
    if (answer !== undefined && isWhole && this.#answers.size < MOST_ANSWERS) this.#answers.set(question, answer);
    return answer;
  }

  /**
   * Returns the nodes whose pods would all find a place on the remaining nodes, worst first, by provider id. Pods that wait for a
   * node take their places first.
   */
  emptiable(worstFirst: readonly RankedNode[]): readonly string[] {
    this.#prepared ??= prepare(this.#base, this.#options.solve);
    const ranked = worstFirst.map((node) => ({
      ...node,
      mayEmpty: node.mayEmpty && !this.#hasUntouched(node.providerId),
    }));
    const fitting = this.#prepared.emptiable(ranked);
    if (fitting.length === 0) return fitting;
    const { plan } = this.#answer(fitting, { sparesQuietNodes: false }) ?? {};
    if (plan === undefined) return [];
    const placed = new Set(plan.placements.flatMap(({ pods }) => pods));
    const stays = (id: string): boolean =>
      this.#byId.get(id)?.pods.some((pod) => this.#isMovable(pod) && !placed.has(podKey(pod))) ?? true;
    return fitting.filter((id) => !stays(id));
  }

  #hasUntouched(providerId: string): boolean {
    return (
      this.#untouched.size > 0 &&
      this.#byId.get(providerId)?.pods.some((pod) => this.#untouched.has(podKey(pod))) === true
    );
  }

  #answer(providerIds: Iterable<string>, options: SimulationOptions): Simulation | undefined {
    const gone = new Set(providerIds);
    if (this.#leaving.some(({ providerId }) => gone.has(providerId))) return undefined;
    const moved = [...gone].flatMap((id) => this.#byId.get(id)?.pods.filter(this.#isMovable) ?? []);
    const stay = this.#untouched.size === 0 ? [] : moved.filter((pod) => this.#untouched.has(podKey(pod)));
    if (stay.length > 0) return this.#refused(stay);
    const pendingPods = [...this.#waiting, ...moved, ...this.#displacedPods];
    const { sparesQuietNodes, packing = 'compatible', ...limits } = options;
    this.#prepared ??= prepare(this.#base, this.#options.solve);
    const plan = this.#prepared.solve(
      // still present for the pods that stay on them to the end
      { leaving: gone, pendingPods, ...(sparesQuietNodes ? { quiet: this.#quietFor(moved) } : {}) },
      { ...this.#limits(), ...limits, packing },
    );
    return this.#interpret(plan, moved);
  }

  /** Returns a result in which the pods find no node, without a simulation. */
  #refused(pods: readonly EnginePod[]): Simulation {
    const stranded = new Map(pods.map((pod) => [podKey(pod), this.#untouched.get(podKey(pod)) ?? '']));
    const plan: Plan = { claims: [], placements: [], refusals: new Map(), notEvaluated: [], emptyPools: [] };
    return { claims: [], plan, pools: this.#base.pools, stranded };
  }

  /** Returns limits that give each simulation the whole deadline. */
  #limits(): Pick<SolveOptions, 'deadlineMs' | 'elapsedMs'> {
    const { deadlineMs, elapsedMs } = this.#options.solve;
    if (deadlineMs === undefined || elapsedMs === undefined) return {};
    const startedMs = elapsedMs();
    return { deadlineMs, elapsedMs: () => elapsedMs() - startedMs };
  }

  readonly #isMovable = (pod: EnginePod): boolean =>
    currentlyReschedulable(pod, this.#base.podDisruptionBudgets, this.#base.nowMs);

  /** Pods that lose their node in any case. */
  get #displacedPods(): readonly EnginePod[] {
    this.#displaced ??= this.#leaving
      .filter(({ node }) => node !== undefined)
      .flatMap(({ pods }) => pods.filter(this.#isMovable))
      .filter((pod) => !this.#untouched.has(podKey(pod)));
    return this.#displaced;
  }

  get #isDisplaced(): ReadonlySet<string> {
    this.#displacedKeys ??= new Set(this.#displacedPods.map(podKey));
    return this.#displacedKeys;
  }

  /**
   * Returns the nodes within the `consolidateAfter` window of their NodePool. They accept only pods that need a node in any
   * case.
   */
  #quietFor(moved: readonly EnginePod[]): Quiet {
    this.#quiet ??= {
      nodes: quietNodes(this.#base, this.#options.nodePools),
      exempt: new Set([...this.#base.pendingPods.filter(isPending).map(podKey), ...this.#isDisplaced]),
    };
    const waiting = moved.filter(isPending);
    if (waiting.length === 0) return this.#quiet;
    return { nodes: this.#quiet.nodes, exempt: new Set([...this.#quiet.exempt, ...waiting.map(podKey)]) };
  }

  /** Treats pods on uninitialized nodes as stranded, because such nodes may never become initialized. */
  #interpret(plan: Plan, moved: readonly EnginePod[]): Simulation {
    const problems = new Map([...plan.refusals].map(([key, { text }]) => [key, text]));
    for (const key of plan.notEvaluated) problems.set(key, 'the time limit was reached before the pod was evaluated');
    for (const { providerId, pods: placed } of plan.placements) {
      const node = this.#byId.get(providerId);
      if (node === undefined || node.initialized || node.nodeClaim === undefined) continue;
      for (const key of placed) if (!this.#isDisplaced.has(key)) problems.set(key, uninitializedText(node));
    }
    const { claims } = plan;
    return { claims, plan, pools: this.#base.pools, stranded: this.#stranded(problems, moved) };
  }

  /** Returns the problems of pods that are running now. */
  #stranded(problems: ReadonlyMap<string, string>, moved: readonly EnginePod[]): ReadonlyMap<string, string> {
    if (problems.size === 0) return problems;
    const pods = [...this.#base.pendingPods, ...moved, ...this.#displacedPods];
    const running = new Set(pods.filter((pod) => !isUnschedulable(pod)).map(podKey));
    return new Map([...problems].filter(([key]) => running.has(key)));
  }
}

const isPending = ({ status }: EnginePod): boolean => status?.phase === 'Pending';

/** Returns the provider ids of the nodes within the `consolidateAfter` window of their NodePool. */
function quietNodes({ nodes, nowMs }: EngineSnapshot, nodePools: readonly NodePool[]): ReadonlySet<string> {
  const byName = new Map(nodePools.map((pool) => [pool.metadata.name, pool]));
  const quiet = nodes.filter(({ nodeClaim, labels }) => {
    const pool = byName.get(labels[NODEPOOL_LABEL] ?? '');
    return pool !== undefined && nodeClaim !== undefined && isUnderConsolidateAfter(nodeClaim, pool, nowMs);
  });
  return new Set(quiet.map(({ providerId }) => providerId));
}

function uninitializedText({ node, nodeClaim }: EngineNode): string {
  const parts = [
    ...(nodeClaim ? [`nodeclaim/${nodeClaim.metadata.name}`] : []),
    ...(node ? [`node/${node.metadata.name}`] : []),
  ];
  return `would schedule against uninitialized ${parts.join(', ')}`;
}
