/** Tracks the remaining limits of a NodePool, and the ceilings that it shares with other NodePools, during a solve. */
import { CAPACITY_TYPE_LABEL, ZONE_LABEL } from '#api/objects';
import { remembering } from '#lib';
import { type CountedLaunch, countedLaunches, largestLaunch, launchAmount, USD } from '../ceilings.ts';
import { requirementsOf } from '../instance-types.ts';
import type { Ceiling, EngineNode, InstanceType, Misfit, Offering, Resources } from '../model.ts';
import { NODES, nodeCapacities, withNode } from '../pool-usage.ts';
import { alwaysSelects, maySelect } from '../possible-labels.ts';
import { Requirements } from '../requirements.ts';
import { addResources, amountIn, resourcesOf } from '../resources.ts';
import { selectorIdentity } from '../selectors.ts';
import { ValueSet } from '../value-set.ts';
import type { BitSet } from './bitset.ts';
import type { Choice } from './choice.ts';
import type { CompiledPool } from './compiled-pool.ts';
import type { Shape } from './shape.ts';

/** Remaining amounts of the limits of one NodePool, or of one ceiling. */
class Budget {
  /** Version that changes whenever the remaining amounts change. */
  version = 0;
  /** Undefined for the limits of a NodePool. */
  readonly ceiling: Ceiling | undefined;
  readonly remaining: Record<string, number>;
  /** Text that is the same for ceilings that count the same launches. */
  readonly #counting: string;
  #isExceeded = false;

  constructor(limits: Resources, used: Resources, ceiling?: Ceiling) {
    this.ceiling = ceiling;
    this.remaining = Object.fromEntries(
      Object.entries(limits).map(([name, limit]) => [name, limit - amountIn(used, name)]),
    );
    this.#counting = selectorIdentity(ceiling?.selector);
  }

  /** Returns true if no further node is possible, whatever its instance type. */
  get isOutOfNodes(): boolean {
    return Object.hasOwn(this.remaining, NODES) && amountIn(this.remaining, NODES) < 1;
  }

  /** Returns true if all launches under the requirements count, and their amounts depend on the instance type only. */
  isUniform(requirements: Requirements): boolean {
    const { ceiling } = this;
    return (
      ceiling === undefined || (!Object.hasOwn(ceiling.limits, USD) && alwaysSelects(ceiling.selector, requirements))
    );
  }

  /** Returns the launches of a type under the requirements of a shape, for a ceiling. */
  #launchesOf(pool: CompiledPool, shape: Shape, { selector }: Ceiling) {
    const { chargesUsdPerHour = 0 } = pool.claimExtras;
    const node = { requirements: shape.requirements, chargesUsdPerHour };
    return shape.computeOnce(`launches for ${chargesUsdPerHour} ${this.#counting}`, () =>
      remembering((type: InstanceType) => {
        const all = countedLaunches(selector, type, node);
        return { all, largest: largestLaunch(all) };
      }),
    );
  }

  /** Returns the largest amount of a launch of the type under the requirements of a shape. */
  amountOn(pool: CompiledPool, shape: Shape, type: InstanceType, name: string): number {
    return this.ceiling === undefined
      ? amountIn(withNode(type.capacity), name)
      : launchAmount(type, this.#launchesOf(pool, shape, this.ceiling)(type).largest, name);
  }

  /** Returns the largest amount of a launch under the requirements of a shape, of any type. */
  largestOn(pool: CompiledPool, shape: Shape, name: string): number {
    const id = `largest ${name} for ${pool.claimExtras.chargesUsdPerHour ?? 0} ${this.#counting}`;
    return shape.computeOnce(id, () => this.#largestAmong(pool, shape, pool.catalogue.types, name));
  }

  #largestAmong(pool: CompiledPool, shape: Shape, types: readonly InstanceType[], name: string): number {
    return types.reduce((most, type) => Math.max(most, this.amountOn(pool, shape, type, name)), 0);
  }

  /** Returns the largest amount of a claim. */
  amountOf(pool: CompiledPool, choice: Choice, name: string): number {
    const { shape } = choice;
    if (this.isUniform(shape.requirements)) return name === NODES ? 1 : choice.largest(name);
    const id = `${name} for ${this.#counting}`;
    return choice.computeOnce(id, () => this.#largestAmong(pool, shape, choice.types, name));
  }

  /** Reports for each offering of a type if it has room. Undefined if the type decides alone. */
  roomByOffering(pool: CompiledPool, shape: Shape, type: InstanceType): ReadonlyMap<Offering, boolean> | undefined {
    if (this.ceiling === undefined) return undefined;
    const { all } = this.#launchesOf(pool, shape, this.ceiling)(type);
    return new Map(all.map((launch) => [launch.offering, this.#hasRoomFor(type, launch)]));
  }

  /** True if the spent amounts are larger than the room. */
  get isExceeded(): boolean {
    return this.#isExceeded;
  }

  #hasRoomFor(type: InstanceType, launch: Omit<CountedLaunch, 'offering'>): boolean {
    return Object.entries(this.remaining).every(([name, rest]) => {
      const amount = launchAmount(type, launch, name);
      return amount === 0 || amount <= rest;
    });
  }

  /** Returns a function that restores the remaining amounts. */
  restorePoint(): () => void {
    const { version } = this;
    const remaining = { ...this.remaining };
    return () => {
      if (this.version === version) return;
      Object.assign(this.remaining, remaining);
      this.version++;
    };
  }

  spend(amountOf: (name: string) => number): void {
    for (const name of Object.keys(this.remaining)) {
      const amount = amountOf(name);
      if (amount === 0) continue;
      const rest = amountIn(this.remaining, name) - amount;
      this.remaining[name] = rest;
      this.#isExceeded ||= rest < 0;
      this.version++;
    }
  }
}

/** Remaining amounts of ceilings, which all NodePools of an attempt share. */
export class SharedLimits {
  readonly #ceilings: readonly Ceiling[];
  readonly #budgets: readonly (readonly [ceiling: Ceiling, budget: Budget])[];

  constructor(ceilings: readonly Ceiling[]) {
    this.#ceilings = ceilings;
    this.#budgets = ceilings.map((ceiling) => [ceiling, new Budget(ceiling.limits, ceiling.used, ceiling)]);
  }

  get isUnlimited(): boolean {
    return this.#budgets.length === 0;
  }

  /** True if this solve spent more than the room of a ceiling. */
  get isExceeded(): boolean {
    return this.#budgets.some(([, budget]) => budget.isExceeded);
  }

  /** Returns the budgets of the ceilings that can count nodes with these requirements. */
  budgetsFor(requirements: Requirements): readonly Budget[] {
    return this.#budgets.flatMap(([{ selector }, budget]) => (maySelect(selector, requirements) ? [budget] : []));
  }

  /** Returns the ceilings before the first launch. */
  fresh(): SharedLimits {
    return new SharedLimits(this.#ceilings);
  }
}

/** Start of a new claim: the requirements of the NodePool, possibly narrowed, and the rows of the types within the limits. */
export interface ClaimStart {
  readonly shape: Shape;
  readonly rows: BitSet;
}

/** Remaining amount of a resource in one budget. */
interface LimitedAmount {
  readonly budget: Budget;
  readonly name: string;
  readonly rest: number;
}

/** Maximum number of narrowed starts for a pod. Further ones would admit few other instance types. */
const MOST_STARTS = 32;

interface Starts {
  readonly version: number;
  readonly widest: BitSet;
  narrowed: readonly ClaimStart[] | undefined;
}

export class PoolLimits {
  readonly isUnlimited: boolean;
  readonly #pool: CompiledPool;
  /** Budget of the NodePool if it has limits, and of its ceilings. */
  readonly #budgets: readonly Budget[];
  /** True if the offering or the labels of a node decide about a ceiling. */
  readonly #dependsOnLaunch: boolean;
  readonly #starts = new Map<Shape, Starts>();

  constructor(pool: CompiledPool, nodes: Iterable<EngineNode>, shared: SharedLimits) {
    this.#pool = pool;
    const limits = resourcesOf(pool.pool.spec.limits);
    const own =
      Object.keys(limits).length === 0 ? [] : [new Budget(limits, addResources(...nodeCapacities(pool.name, nodes)))];
    const { requirements } = pool.root;
    this.#budgets = [...own, ...shared.budgetsFor(requirements)];
    this.isUnlimited = this.#budgets.length === 0;
    this.#dependsOnLaunch = this.#budgets.some((budget) => !budget.isUniform(requirements));
  }

  /** Version that changes whenever the remaining limits change. */
  get version(): number {
    return this.#budgets.reduce((sum, { version }) => sum + version, 0);
  }

  /** Rows of the types that can be launched within the limits, or the reason why there are none. */
  get allowed(): BitSet | Misfit {
    return this.#allowedUnder(this.#pool.root);
  }

  /** Returns the widest start of a claim for a pod with these requirements, or the reason why there is none. */
  startFor(requirements: Requirements): ClaimStart | Misfit {
    const { root, rows } = this.#pool;
    const base = this.#baseFor(requirements);
    // the NodePool refuses the pod for another reason
    const allowed = base === undefined ? rows : this.#allowedUnder(base);
    return 'code' in allowed ? allowed : { shape: root, rows: allowed };
  }

  /**
   * Returns starts with additional requirements, with which every launch is within the limits. A type for which a part of the
   * offerings exceeds a ceiling can be launched as the other part. The start with the most types is first.
   */
  narrowedStartsFor(requirements: Requirements): readonly ClaimStart[] {
    const base = this.#dependsOnLaunch ? this.#baseFor(requirements) : undefined;
    if (base === undefined) return [];
    const starts = this.#startsUnder(base);
    starts.narrowed ??= this.#narrowedUnder(base, starts.widest);
    return starts.narrowed;
  }

  /** Returns the requirements of the NodePool and of the pod. Undefined if they conflict. */
  #baseFor(requirements: Requirements): Shape | undefined {
    const { root } = this.#pool;
    const base = this.#dependsOnLaunch ? root.narrow(requirements) : root;
    return 'code' in base ? undefined : base;
  }

  #startsUnder(base: Shape): Starts {
    const { version } = this;
    let starts = this.#starts.get(base);
    if (starts?.version !== version) {
      starts = { version, widest: this.#rowsWithin(this.#budgets, base), narrowed: undefined };
      this.#starts.set(base, starts);
    }
    return starts;
  }

  #allowedUnder(base: Shape): BitSet | Misfit {
    if (this.isUnlimited) return this.#pool.rows;
    const full = this.#budgets.find((budget) => budget.isOutOfNodes && budget.isUniform(base.requirements));
    if (full !== undefined) return this.#misfit('node limits have been exhausted for nodepool', full);
    const { widest } = this.#startsUnder(base);
    if (!widest.isEmpty) return widest;
    const alone = this.#budgets.find((budget) => this.#rowsWithin([budget], base).isEmpty);
    return this.#misfit('all available instance types exceed limits for nodepool', alone);
  }

  #rowsWithin(budgets: readonly Budget[], shape: Shape): BitSet {
    const { catalogue, rows, choices } = this.#pool;
    const limited = budgets.flatMap((budget) => {
      const isUniform = budget.isUniform(shape.requirements);
      return Object.entries(budget.remaining)
        .filter(([name, rest]) =>
          isUniform
            ? name !== NODES && catalogue.largestCapacity(name) > rest
            : budget.largestOn(this.#pool, shape, name) > rest,
        )
        .map(([name, rest]) => ({ budget, name, rest, isUniform }));
    });
    if (limited.length === 0) return rows;
    const isWithin = (type: InstanceType): boolean =>
      limited.every(({ budget, name, rest, isUniform }) => {
        const amount = isUniform ? amountIn(type.capacity, name) : budget.amountOn(this.#pool, shape, type, name);
        return amount <= rest || (amount === 0 && budget.ceiling !== undefined);
      });
    return choices.shared(catalogue.rowsWhere(isWithin).and(rows));
  }

  #narrowedUnder(base: Shape, widest: BitSet): readonly ClaimStart[] {
    const { catalogue, rows, root } = this.#pool;
    const widestTypes = new Set(catalogue.typesOf(widest));
    const positions = catalogue.typesOf(base.possible.clone().and(rows)).filter((at) => !widestTypes.has(at));
    const found = new Map<string, { readonly requirements: Requirements; types: number }>();
    for (const type of positions.flatMap((at) => catalogue.types[at] ?? []))
      for (const requirements of narrowings(this.#launchesWithin(base, type))) {
        const known = found.get(requirements.identity) ?? { requirements, types: 0 };
        known.types += 1;
        found.set(requirements.identity, known);
      }
    const inOrder = [...found.values()].sort((a, b) => b.types - a.types).slice(0, MOST_STARTS);
    return inOrder.flatMap(({ requirements }) => {
      const [shape, within] = [root.narrow(requirements), base.narrow(requirements)];
      if ('code' in shape || 'code' in within) return [];
      const allowed = this.#rowsWithin(this.#budgets, within);
      return allowed.isEmpty ? [] : [{ shape, rows: allowed }];
    });
  }

  /** Returns the launches of a type, and whether they are within all budgets. */
  #launchesWithin(base: Shape, type: InstanceType): readonly LaunchWithin[] {
    const isWithin = new Map<Offering, boolean>();
    const capacity = withNode(type.capacity);
    for (const budget of this.#budgets) {
      const rooms = budget.roomByOffering(this.#pool, base, type);
      if (
        rooms === undefined &&
        Object.entries(budget.remaining).some(([name, rest]) => amountIn(capacity, name) > rest)
      )
        return [];
      for (const [offering, hasRoom] of rooms ?? [])
        isWithin.set(offering, isWithin.get(offering) !== false && hasRoom);
    }
    return [...isWithin].map(([offering, within]) => ({
      capacityType: singleOf(offering, CAPACITY_TYPE_LABEL),
      zone: singleOf(offering, ZONE_LABEL),
      within,
    }));
  }

  #misfit(text: string, { ceiling }: Pick<Budget, 'ceiling'> = { ceiling: undefined }): Misfit {
    const by = ceiling === undefined ? '' : `, ${ceiling.object.kind}=${ceiling.object.name}`;
    return { code: 'limits', text: `${text} (NodePool=${this.#pool.name}${by})` };
  }

  /** Returns the rows with at most as much of each limited resource as the row `than`. */
  noLarger(rows: BitSet, than: number): BitSet {
    return this.#noLargerThanType(rows, this.#pool.catalogue.typeAt(than));
  }

  /** Returns the rows of the types that use the least of the remaining limits, among a choice. */
  smallestOf({ positions, rows }: Choice): BitSet {
    const shares = positions.map((type) => ({ type, share: this.shareOfType(type) }));
    const least = shares.reduce((best, each) => (each.share < best.share ? each : best), { type: -1, share: Infinity });
    return this.#noLargerThanType(rows, least.type);
  }

  #noLargerThanType(rows: BitSet, position: number): BitSet {
    const { catalogue, choices, root } = this.#pool;
    const most = catalogue.types[position];
    if (most === undefined) return rows;
    const small = catalogue.rowsWhere((type) =>
      this.#limited.every(
        ({ budget, name }) =>
          budget.amountOn(this.#pool, root, type, name) <= budget.amountOn(this.#pool, root, most, name),
      ),
    );
    return choices.shared(small.and(rows));
  }

  /** Remaining amounts of all budgets. */
  get #limited(): readonly LimitedAmount[] {
    return this.#budgets.flatMap((budget) =>
      Object.entries(budget.remaining).map(([name, rest]) => ({ budget, name, rest })),
    );
  }

  /** Returns the sum of the parts of the remaining limits that a node of the type at this position uses. */
  shareOfType(position: number): number {
    const { catalogue, root } = this.#pool;
    const type = catalogue.types[position];
    if (type === undefined) return 0;
    return this.#limited
      .filter(({ rest }) => rest > 0)
      .reduce((sum, { budget, name, rest }) => sum + budget.amountOn(this.#pool, root, type, name) / rest, 0);
  }

  /** Returns a function that restores the remaining limits. */
  restorePoint(): () => void {
    const restores = this.#budgets.map((budget) => budget.restorePoint());
    return () => {
      for (const restore of restores) restore();
    };
  }

  /** Subtracts the worst case of a new claim: one node, and the largest amount among its types for each resource. */
  spend(choice: Choice): void {
    for (const budget of this.#budgets) budget.spend((name) => budget.amountOf(this.#pool, choice, name));
  }
}

interface LaunchWithin {
  /** Undefined if it is not decided. */
  readonly capacityType: string | undefined;
  readonly zone: string | undefined;
  readonly within: boolean;
}

function singleOf(offering: Offering, key: string): string | undefined {
  const { complement, values } = requirementsOf(offering).get(key);
  return complement || values.size !== 1 ? undefined : [...values][0];
}

/** Returns the requirements on capacity type and zone that allow only launches within the limits, each as wide as possible. */
function narrowings(launches: readonly LaunchWithin[]): readonly Requirements[] {
  if (!launches.some(({ within }) => within)) return [];
  const byType = Map.groupBy(launches, ({ capacityType }) => capacityType);
  const byZone = Map.groupBy(launches, ({ zone }) => zone);
  const found = [
    requirementOn(CAPACITY_TYPE_LABEL, withinGroups(byType)),
    requirementOn(ZONE_LABEL, withinGroups(byZone)),
    ...[...byType].map(([capacityType, own]) => {
      const zones = requirementOn(ZONE_LABEL, withinGroups(Map.groupBy(own, ({ zone }) => zone)));
      const type = capacityType === undefined ? undefined : requirementOn(CAPACITY_TYPE_LABEL, [capacityType]);
      return zones && type && zones.intersect(type);
    }),
  ];
  return found.filter((each) => each !== undefined);
}

/** Returns the keys of the groups in which all launches are within the limits. */
const withinGroups = (groups: ReadonlyMap<string | undefined, readonly LaunchWithin[]>): readonly string[] =>
  [...groups].flatMap(([key, launches]) => (key !== undefined && launches.every(({ within }) => within) ? [key] : []));

const requirementOn = (key: string, values: readonly string[]): Requirements | undefined =>
  values.length === 0 ? undefined : Requirements.EMPTY.and(key, ValueSet.in([...values].sort()));
