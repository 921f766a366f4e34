/** Solves manifests, and compares the results with and without a change. */

import type { Pod, VolumeAttachment } from '#api/objects';
import { billedPriceOf, HOURS_PER_MONTH, nodePrices } from '#engine/costs';
import { annotationNotes, type RemedyProof } from '#engine/explanations';
import type { Plan, SolveOptions } from '#engine/model';
import { bufferPrices, checkRemedies, isVirtual, provePodRemedy, solve } from '#engine/solve';
import {
  type ChangeEffect,
  type ClusterTotals,
  effectOf,
  podsToSolve,
  type Situation,
  totalsOf,
} from '#engine/what-if';
import { defined } from '#lib';
import { launchOptions } from '#planner';
import { CORE_GATES, parseGates, unknownGates } from '#process/settings';
import { holdsFor } from './holds.ts';
import { InputError } from './objects/errors.ts';
import type { Manifest } from './objects/read.ts';
import { type World, worldOf } from './objects/snapshot.ts';
import {
  decisionSettings,
  defaultConstraintsOf,
  driversFor,
  type ManifestChange,
  type ScenarioOptions,
  typesNoting,
} from './scenario.ts';

export interface ManifestSolveOptions extends Omit<ScenarioOptions, 'filename'> {
  readonly preferencePolicy?: SolveOptions['preferencePolicy'];
  readonly minValuesPolicy?: SolveOptions['minValuesPolicy'];
  readonly packing?: SolveOptions['packing'];
  /** Operator setting, such as `Name=true,Other=false`. */
  readonly featureGates?: string;
}

export interface SolvedManifests {
  readonly world: World;
  readonly plan: Plan;
  /** Checks the remedy of a refused pod. @param pod `namespace/name` */
  readonly proveRemedy: (pod: string) => Promise<RemedyProof | undefined>;
  readonly notes: readonly string[];
  /** Unknown facts that affect the plan. */
  readonly unknown: readonly string[];
}

const NONE: ReadonlySet<string> = new Set();

/**
 * @param drained provider ids of nodes whose drain is assumed to finish
 * @throws InputError with the document and the field
 */
export async function solveManifests(
  manifests: readonly Manifest[],
  options: ManifestSolveOptions,
  drained: ReadonlySet<string> = NONE,
): Promise<SolvedManifests> {
  const { nowMs = Date.now(), preferencePolicy, minValuesPolicy, packing, priceBook } = options;
  const { types, notes: ofTypes, unknown } = typesNoting(options);
  const gates = parseGates('--feature-gates', options.featureGates ?? '');
  const featureGates = Object.fromEntries(gates);
  const drivers = driversFor(options);
  const settings = decisionSettings({
    drivers,
    featureGates,
    ...defined({ preferencePolicy, minValuesPolicy, packing }),
  });
  const world = await worldOf(manifests, {
    instanceTypes: await types(manifests, nowMs),
    defaultConstraints: defaultConstraintsOf(options),
    held: await holdsFor(options.instanceTypes),
    nowMs,
    featureGates,
    priceBook,
    drivers,
    settings: { packing, nodeHourlyFee: options.nodeHourlyFee },
  });
  const snapshot = { ...world.snapshot, pendingPods: podsToSolve(situationOf(world), drained) };
  const solving = { ...launchOptions(settings), explain: true };
  const unchecked = { snapshot, options: solving, plan: solve(snapshot, solving), solve };
  const plan = { ...unchecked.plan, refusals: await checkRemedies(unchecked) };
  return {
    world,
    plan,
    proveRemedy: (pod) => provePodRemedy(pod, { ...unchecked, plan }),
    notes: [
      ...unknownGates('--feature-gates', CORE_GATES, gates.keys()),
      ...ofTypes,
      ...world.notes,
      ...annotationNotes([...snapshot.pendingPods, ...snapshot.nodes.flatMap(({ pods }) => pods)]),
      ...bufferNotes(world, snapshot.pendingPods, plan),
    ],
    unknown: [...world.unknown, ...unknown],
  };
}

/** Returns a note on the price of the room of each CapacityBuffer. */
function bufferNotes({ snapshot, allPools }: World, pods: readonly Pod[], plan: Plan): readonly string[] {
  if (!pods.some(isVirtual)) return [];
  const prices = nodePrices(snapshot.nodes, allPools, snapshot.commitments);
  const existing = new Map(
    snapshot.nodes.map(({ providerId, allocatable }) => {
      const price = prices.get(providerId);
      return [providerId, { allocatable, usdPerHour: price === undefined ? 0 : billedPriceOf(price) }];
    }),
  );
  return [...bufferPrices(plan, pods, existing)].map(
    ([name, usdPerHour]) =>
      `CapacityBuffer ${name}: its room costs $${(usdPerHour * HOURS_PER_MONTH).toFixed(2)} a month (730 hours)`,
  );
}

const situationOf = ({ snapshot, leaving, allPools: pools }: World): Situation => ({ snapshot, leaving, pools });

/** Returns the nodes and the cost of the cluster after the plan. */
export const totalsAfter = ({ world, plan }: SolvedManifests): ClusterTotals =>
  totalsOf({ situation: situationOf(world), plan }, NONE);

interface Comparison {
  /** Undefined if the manifests are complete only with the change. */
  readonly effect: ChangeEffect | undefined;
  readonly after: SolvedManifests;
}

/**
 * Solves manifests with and without a change.
 *
 * @param options changes of prices in `whatIf` count only after the change
 * @throws InputError with the document and the field
 */
export async function compareManifests(
  { before, manifests, drained }: ManifestChange,
  { whatIf = [], ...options }: ManifestSolveOptions,
): Promise<Comparison> {
  const after = await solveManifests(manifests, { ...options, whatIf }, drained);
  const base = await solveManifests(before, options).catch((error: unknown) => {
    if (error instanceof InputError) return undefined;
    throw error;
  });
  if (base === undefined) return { effect: undefined, after };
  const effect = effectOf({
    before: { situation: situationOf(base.world), plan: base.plan },
    after: { situation: situationOf(after.world), plan: after.plan },
    drained,
    volumeAttachments: manifests.flatMap(({ object }) =>
      object.kind === 'VolumeAttachment' ? [object as VolumeAttachment] : [],
    ),
  });
  return { effect, after };
}
