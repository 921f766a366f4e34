/** Validates a decision against the rules of disruption. A rule that does not apply to a decision accepts it. */
import type { Pod } from '#api/objects';
import type { SimulatedReplacement } from '#cli/testing';
import { decidingSavings } from '../outcomes.ts';
import type { Expression } from '../rules.ts';
import type { TypeEntry } from '../validity.ts';
import { type Facts, isEmpty, type Machine } from './facts.ts';
import { placementProblems } from './placement.ts';
import type { Decided, Decision, MethodDecision, Mode } from './play.ts';
import { cheapest, minimumsOf, neededFor, possible, type Requirements, withValues, worst } from './purchases.ts';
import type { Scenario } from './scenario.ts';
import { remaining } from './windows.ts';

const CAPACITY_TYPE = 'karpenter.sh/capacity-type';
const SINGLE = 'single-node-consolidation';
const MULTI = 'multi-node-consolidation';
const SWAP = 'swap-consolidation';
const ORDER = ['emptiness', 'static-drift', 'drift', MULTI, SINGLE];
const REASONS: Readonly<Record<string, string>> = { emptiness: 'Empty', 'static-drift': 'Drifted', drift: 'Drifted' };
const FLEXIBILITY = 15;
const EPSILON = 1e-9;
/** Largest rounding error of a price in the output. */
const ROUNDING = 5e-7;

export function problemsOf(scenario: Scenario, facts: Facts, decision: Decision, mode: Mode): readonly string[] {
  return new Judge(scenario, facts, mode).judge(decision);
}

const ratioOf = ({ price, cost }: Machine): number => price / cost;
const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);
const poolOf = ({ pool }: Machine): string => pool?.metadata.name ?? '';
/** Compares savings, which are rounded. */
const same = (a: number, b: number): boolean => Math.abs(a - b) < 1e-6;

/** Returns the requirements on instance types. */
const wishes = ({ requirements }: SimulatedReplacement): readonly Expression[] =>
  requirements.filter(({ key }) => key !== 'node.kubernetes.io/instance-type').map(withValues);

class Judge {
  readonly #facts: Facts;
  readonly #mode: Mode;
  readonly #waiting: readonly Pod[];
  readonly #spotToSpot: boolean;
  readonly #problems: string[] = [];
  #method = '';

  constructor({ objects, spotToSpot }: Scenario, facts: Facts, mode: Mode) {
    this.#facts = facts;
    this.#mode = mode;
    this.#spotToSpot = spotToSpot;
    this.#waiting = (objects as readonly Pod[]).filter(({ kind, spec }) => kind === 'Pod' && !spec.nodeName);
  }

  judge({ first, methods }: Decision): readonly string[] {
    const names = methods.map(({ method }) => method);
    const order = this.#mode === 'compatible' ? ORDER : [...ORDER, SWAP];
    if (names.join() !== order.join()) this.#say(`methods ${names}`);
    if (first !== methods.find(({ commands }) => commands.length > 0)?.method) this.#say(`first is ${first}`);
    for (const method of methods) {
      this.#method = method.method;
      this.#checkMethod(method);
    }
    return this.#problems;
  }

  #say(problem: string): void {
    this.#problems.push(`${this.#method}: ${problem}`);
  }

  #checkMethod({ method, candidates, budgets, commands }: MethodDecision): void {
    const eligible = this.#facts.candidates(method);
    const names = eligible.map(({ name }) => name).sort();
    if (names.join() !== candidates.join()) this.#say(`considers ${candidates} instead of ${names}`);
    const reason = REASONS[method] ?? 'Underutilized';
    const left = new Map<string, number>();
    for (const [name, pool] of this.#facts.pools) left.set(name, remaining(this.#facts, pool, reason));
    for (const [name, count] of left)
      if (budgets[name] !== count) this.#say(`${budgets[name]} of ${name} may go, not ${count}`);
    const taken = commands.flatMap((command) => command.candidates);
    if (new Set(taken).size < taken.length) this.#say(`takes a node twice: ${taken}`);
    for (const name of taken) if (!names.includes(name)) this.#say(`${name} is no candidate`);
    const machines = taken.map((name) => this.#facts.machine(name));
    for (const [pool, own] of Map.groupBy(machines, poolOf))
      if (own.length > (left.get(pool) ?? 0)) this.#say(`${own.length} of ${pool} are over its budget`);
    if (method === 'emptiness') this.#checkEmptiness(eligible, left, commands);
    else if (method === 'static-drift') this.#checkStaticDrift(eligible, left, commands);
    else if (method === 'drift') this.#checkDrift(eligible, left, commands);
    else this.#checkConsolidation(eligible, left, commands);
  }

  /** Returns the candidates in order that the budgets of their NodePools allow. */
  #withinBudgets(eligible: readonly Machine[], left: ReadonlyMap<string, number>): readonly Machine[] {
    const rest = new Map(left);
    return [...eligible]
      .sort((a, b) => ratioOf(b) - ratioOf(a))
      .filter((machine) => {
        const count = rest.get(poolOf(machine)) ?? 0;
        rest.set(poolOf(machine), count - 1);
        return count > 0;
      });
  }

  /** Checks that the disrupted nodes have the best ranks. The choice between equal ranks is free. */
  #checkBest(taken: readonly string[], best: readonly Machine[]): void {
    const rank = (machine: Machine): string => `${poolOf(machine)} ${ratioOf(machine).toFixed(12)}`;
    const actual = taken.map((name) => rank(this.#facts.machine(name))).sort();
    if (actual.join() !== best.map(rank).sort().join())
      this.#say(`takes ${taken} where ${best.map(({ name }) => name)} come first`);
  }

  #checkEmptiness(eligible: readonly Machine[], left: ReadonlyMap<string, number>, commands: readonly Decided[]): void {
    const expected = this.#withinBudgets(eligible, left);
    if (commands.length !== (expected.length > 0 ? 1 : 0)) this.#say(`${commands.length} commands`);
    for (const command of commands) {
      const { candidates, replacements, decision } = command;
      const savings = decidingSavings(command);
      this.#checkBest(candidates, expected);
      if (decision !== 'delete' || replacements.length > 0) this.#say(`${decision} with ${replacements.length}`);
      for (const name of candidates) if (!isEmpty(this.#facts.machine(name))) this.#say(`${name} is not empty`);
      if (!same(savings, sum(expected.map(({ price }) => price)))) this.#say(`saves ${savings}`);
    }
  }

  #checkStaticDrift(
    eligible: readonly Machine[],
    left: ReadonlyMap<string, number>,
    commands: readonly Decided[],
  ): void {
    for (const [name, pool] of this.#facts.pools) {
      const drifted = eligible.filter((machine) => poolOf(machine) === name);
      const claims = this.#facts.machines.filter(
        ({ claim, labels }) => claim !== undefined && labels['karpenter.sh/nodepool'] === name,
      );
      const running = claims.filter(({ leaving }) => !leaving).length;
      const limit = Number(pool.spec.limits?.nodes ?? Number.POSITIVE_INFINITY);
      const replicas = pool.spec.replicas ?? 0;
      // missing replicas are launched first
      const planned = claims.length + Math.max(0, replicas - running);
      const room = running > replicas ? 0 : Math.max(0, limit - planned);
      const expected = Math.min(drifted.length, left.get(name) ?? 0, room);
      const own = commands.filter(({ candidates }) => drifted.some((machine) => machine.name === candidates[0]));
      if (own.length !== expected) this.#say(`${own.length} of ${name} instead of ${expected}`);
      for (const { candidates, replacements } of own)
        if (candidates.length !== 1 || replacements.length !== 1 || replacements[0]?.nodePool !== name)
          this.#say(`${candidates} for ${replacements.length} of ${replacements[0]?.nodePool}`);
    }
  }

  #checkDrift(eligible: readonly Machine[], left: ReadonlyMap<string, number>, commands: readonly Decided[]): void {
    const since = ({ claim }: Machine): number =>
      Date.parse(claim?.status?.conditions?.find(({ type }) => type === 'Drifted')?.lastTransitionTime ?? '');
    const order = [
      ...eligible.filter(({ movable }) => movable.length === 0).sort((a, b) => since(a) - since(b)),
      ...eligible.filter(({ movable }) => movable.length > 0).sort((a, b) => since(a) - since(b)),
    ];
    const [command, ...more] = commands;
    if (more.length > 0) this.#say(`${commands.length} commands`);
    const taken = command && this.#facts.machine(command.candidates[0] ?? '');
    const group = (machine: Machine): string => `${machine.movable.length === 0} ${since(machine)}`;
    for (const machine of order) {
      if (taken !== undefined && group(machine) === group(taken)) break;
      if ((left.get(poolOf(machine)) ?? 0) > 0 && this.#facts.isHousable(machine.movable))
        this.#say(`passes over ${machine.name}`);
    }
    if (command === undefined) return;
    if (command.candidates.length !== 1) this.#say(`takes ${command.candidates}`);
    this.#checkPlaces(command);
  }

  #checkPlaces(command: Decided): void {
    const isDrift = this.#method === 'drift';
    for (const problem of placementProblems(command, this.#facts, this.#waiting, isDrift)) this.#say(problem);
  }

  #checkConsolidation(
    eligible: readonly Machine[],
    left: ReadonlyMap<string, number>,
    commands: readonly Decided[],
  ): void {
    if (commands.length > 1) this.#say(`${commands.length} commands`);
    const [command] = commands;
    if (this.#method === SINGLE) this.#checkNothingEasier(eligible, left, command);
    if (command === undefined) return;
    const { candidates, replacements, decision } = command;
    const savings = decidingSavings(command);
    const machines = candidates.map((name) => this.#facts.machine(name));
    if (this.#method === SINGLE ? candidates.length !== 1 : candidates.length < 2) this.#say(`takes ${candidates}`);
    if (this.#method === MULTI && this.#mode === 'compatible')
      this.#checkBest(candidates, this.#withinBudgets(eligible, left).slice(0, candidates.length));
    if (this.#method !== SWAP && replacements.length > 1) this.#say(`${replacements.length} new nodes`);
    if ((decision === 'delete') !== (replacements.length === 0)) this.#say(`${decision} with ${replacements.length}`);
    const price = sum(machines.map((machine) => machine.price));
    if (!same(savings, price - sum(replacements.map((each) => each.cheapestPrice)))) this.#say(`saves ${savings}`);
    this.#checkPlaces({ ...command, replacements: this.#asWeighed(machines, replacements) });
    if (this.#method === SWAP) this.#checkSwap(command, price);
    this.#checkCheaper(machines, replacements, price);
    if (this.#method !== SWAP) this.#checkNothingLeftOut(machines, replacements, price);
    this.#checkBalance(command, machines, price);
  }

  /** Checks that the savings justify the disruption by the policy of the NodePools. Prices decide with `thorough`. */
  #checkBalance({ replacements, worth }: Decided, machines: readonly Machine[], price: number): void {
    const pools = [...new Set(machines.flatMap((machine) => machine.pool ?? []))];
    const balanced = pools.filter(({ spec }) => spec.disruption?.consolidationPolicy === 'Balanced');
    if (this.#mode === 'thorough') {
      const factor = balanced.length > 0 ? 2 : 1;
      const error = Math.abs((worth?.neededUsd ?? 0) - factor * (worth?.priceUsd ?? 0));
      if (worth === undefined || error > 3 * ROUNDING) this.#say(`needs ${worth?.neededUsd}`);
      return;
    }
    const savings = price - sum(replacements.map((each) => each.cheapestPrice));
    for (const { metadata } of balanced) {
      const score = this.#score(metadata.name, machines, savings);
      if (score < 0.5 - EPSILON) this.#say(`a score of ${score} for ${metadata.name}`);
    }
  }

  /** Checks that the savings justify the eviction of pods and the launch of nodes. */
  #checkSwap(command: Decided, price: number): void {
    const { candidates, replacements } = command;
    const savings = decidingSavings(command);
    if (savings < 0.05 * price - EPSILON) this.#say(`saves ${savings} of ${price}`);
    if (replacements.length > 2 * candidates.length) this.#say(`${replacements.length} for ${candidates.length} nodes`);
  }

  /** Reports whether there are no other pods that could compete with the moving pods for a place. */
  get #isQuiet(): boolean {
    return (
      this.#waiting.length === 0 && !this.#facts.machines.some(({ leaving, movable }) => leaving && movable.length > 0)
    );
  }

  #score(pool: string, machines: readonly Machine[], savings: number): number {
    const own = machines.filter((machine) => poolOf(machine) === pool);
    const price = sum(machines.map((machine) => machine.price));
    const share = new Set(machines.map(poolOf)).size > 1 && price > 0 ? sum(own.map((each) => each.price)) / price : 1;
    const all = this.#facts.machines.filter(({ labels }) => labels['karpenter.sh/nodepool'] === pool);
    const total = sum(all.filter(({ claim }) => claim !== undefined).map((each) => each.price));
    const disruption = sum(all.map(({ cost }) => cost));
    if (total <= 0 || savings <= 0) return 0;
    return (savings * share) / total / (sum(own.map(({ cost }) => cost)) / disruption);
  }

  /**
   * Returns replacements with the requirements at the time when their types were chosen. Karpenter restricts them to
   * spot afterwards, without another check of the spot offerings.
   */
  #asWeighed(
    machines: readonly Machine[],
    replacements: readonly SimulatedReplacement[],
  ): readonly SimulatedReplacement[] {
    return this.#mode === 'thorough' ? replacements : replacements.map((each) => this.#unsettled(machines, each));
  }

  /** Returns a replacement before its restriction to spot or on-demand, with the capacity types of the NodePool. */
  #unsettled(machines: readonly Machine[], replacement: SimulatedReplacement): SimulatedReplacement {
    if (machines.every(({ labels }) => labels[CAPACITY_TYPE] === 'spot')) return replacement;
    const template = this.#facts.pools.get(replacement.nodePool)?.spec.template.spec.requirements ?? [];
    const own = replacement.requirements.filter(({ key }) => key !== CAPACITY_TYPE);
    const requirements = [...own, ...template.filter(({ key }) => key === CAPACITY_TYPE)];
    return replacement.capacityTypes.join() === 'reserved' ? replacement : { ...replacement, requirements };
  }

  /** Checks that the highest possible price of the launch is below the present price. */
  #checkCheaper(machines: readonly Machine[], replacements: readonly SimulatedReplacement[], price: number): void {
    const allSpot = machines.every(({ labels }) => labels[CAPACITY_TYPE] === 'spot');
    const weighed = this.#asWeighed(machines, replacements);
    const worsts = weighed.map((each) =>
      Math.max(0, ...this.#typesOf(each).map((type) => worst(type, each.requirements))),
    );
    if (replacements.length > 0 && sum(worsts) >= price + (replacements.length > 1 ? EPSILON : 0))
      this.#say(`a launch may cost ${sum(worsts)}, the nodes ${price}`);
    for (const [at, replacement] of replacements.entries()) {
      const { capacityTypes, instanceTypes, requirements } = replacement;
      const types = this.#typesOf(replacement);
      this.#checkPrices(replacement, weighed[at]?.requirements ?? []);
      const needed = neededFor(types, minimumsOf(requirements));
      if (needed > types.length) this.#say(`minValues are not met by ${instanceTypes}`);
      const both = capacityTypes.includes('spot') && capacityTypes.includes('on-demand');
      if (both) this.#say('a failed spot launch falls through to on-demand');
      if (allSpot && capacityTypes.includes('spot')) this.#checkSpotToSpot(machines, types, needed);
    }
    const [only, ...others] = replacements;
    if (this.#method === MULTI && only !== undefined && others.length === 0) this.#checkOwnTypes(machines, only, price);
  }

  /** @param weighed requirements that determine the order of the types */
  #checkPrices(replacement: SimulatedReplacement, weighed: Requirements): void {
    const { instanceTypes, cheapestPrice, requirements } = replacement;
    const types = this.#typesOf(replacement);
    const least = Math.min(...types.map((type) => cheapest(type, requirements)));
    if (!same(cheapestPrice, Number.isFinite(least) ? least : 0)) this.#say(`the cheapest costs ${least}`);
    const prices = types.map((type) => cheapest(type, weighed));
    if (prices.some((each, next) => each > (prices[next + 1] ?? each)))
      this.#say(`types out of order: ${instanceTypes}`);
  }

  /** Checks that all suitable types are included, because more types make a launch more likely. */
  #checkNothingLeftOut(
    machines: readonly Machine[],
    replacements: readonly SimulatedReplacement[],
    price: number,
  ): void {
    const weighed = this.#asWeighed(machines, replacements);
    for (const [at, replacement] of replacements.entries()) {
      const { nodePool, instanceTypes } = replacement;
      const template = this.#facts.pools.get(nodePool)?.spec;
      if (template?.limits !== undefined) continue;
      const wanted = wishes(weighed[at] ?? replacement);
      const bought = this.#method === MULTI ? wishes(replacement) : wanted;
      const limit =
        this.#method === MULTI ? this.#ownPrice(machines, this.#enough(machines, replacement, price)) : price;
      const dearest = this.#isTruncated(machines, instanceTypes) ? this.#dearest(instanceTypes, wanted) : price;
      for (const type of this.#cheaper(weighed[at] ?? replacement, price)) {
        const isCheap = worst(type, bought) < limit && cheapest(type, wanted) < dearest;
        if (isCheap && !instanceTypes.includes(type.name)) this.#say(`leaves out ${type.name}`);
      }
    }
  }

  /** Returns the types that suit the pods and whose launch costs less. */
  #cheaper(replacement: SimulatedReplacement, price: number): readonly TypeEntry[] {
    const wanted = wishes(replacement);
    const requests = this.#facts.requestsOf(replacement.pods, this.#waiting);
    return possible(this.#facts.types.values(), wanted, requests).filter((type) => worst(type, wanted) < price);
  }

  /**
   * Returns these types before the restriction of the capacity type. A candidate with such a type must not be
   * replaced by the same type.
   */
  #enough(machines: readonly Machine[], replacement: SimulatedReplacement, price: number): readonly TypeEntry[] {
    return this.#cheaper(this.#unsettled(machines, replacement), price);
  }

  #isTruncated(machines: readonly Machine[], names: readonly string[]): boolean {
    const allSpot = machines.every(({ labels }) => labels[CAPACITY_TYPE] === 'spot');
    return this.#method === SINGLE && allSpot && names.length >= FLEXIBILITY;
  }

  #dearest(names: readonly string[], wanted: Requirements): number {
    return Math.max(
      ...names.flatMap((name) => this.#facts.types.get(name) ?? []).map((type) => cheapest(type, wanted)),
    );
  }

  #typesOf({ instanceTypes }: SimulatedReplacement): readonly TypeEntry[] {
    return instanceTypes.flatMap((name) => this.#facts.types.get(name) ?? []);
  }

  #checkSpotToSpot(machines: readonly Machine[], types: readonly TypeEntry[], needed: number): void {
    if (!this.#spotToSpot) this.#say('spot for spot without the gate');
    if (machines.length > 1 && this.#method === MULTI) return;
    if (types.length < FLEXIBILITY) this.#say(`only ${types.length} types to choose from`);
    if (this.#method === SINGLE && types.length > Math.max(FLEXIBILITY, needed)) this.#say(`${types.length} types`);
  }

  /** Checks that a new node of a candidate's type is cheaper than that candidate. */
  #checkOwnTypes(machines: readonly Machine[], replacement: SimulatedReplacement, price: number): void {
    const limit = this.#ownPrice(machines, this.#enough(machines, replacement, price));
    for (const type of this.#typesOf(replacement))
      if (worst(type, replacement.requirements) >= limit) this.#say(`${type.name} is no better than keeping one`);
  }

  /** Returns the lowest price of a candidate that has one of the types. */
  #ownPrice(machines: readonly Machine[], types: readonly TypeEntry[]): number {
    const prices = machines.flatMap(({ labels }) => {
      const type = types.find(({ name }) => name === labels['node.kubernetes.io/instance-type']);
      const wanted = ['topology.kubernetes.io/zone', CAPACITY_TYPE].map((key) => ({
        key,
        operator: 'In',
        values: [labels[key] ?? ''],
      }));
      // available or not, because the node exists
      const offerings = type?.offerings.map((each) => ({ ...each, available: true })) ?? [];
      return type === undefined ? [] : [cheapest({ ...type, offerings }, wanted)];
    });
    return Math.min(Number.POSITIVE_INFINITY, ...prices);
  }

  /** Checks that no earlier candidate was skipped although its pods all fit on one other node. */
  #checkNothingEasier(
    eligible: readonly Machine[],
    left: ReadonlyMap<string, number>,
    command: Decided | undefined,
  ): void {
    const taken = command && this.#facts.machine(command.candidates[0] ?? '');
    const rivals = eligible.filter(
      (machine) =>
        (left.get(poolOf(machine)) ?? 0) > 0 &&
        (taken === undefined || (poolOf(machine) === poolOf(taken) && ratioOf(machine) > ratioOf(taken) + EPSILON)),
    );
    for (const machine of rivals) {
      const isBalanced = machine.pool?.spec.disruption?.consolidationPolicy === 'Balanced';
      if (isBalanced && this.#score(poolOf(machine), [machine], machine.price) < 0.5 + EPSILON) continue;
      if (this.#isQuiet && machine.price > 0 && this.#facts.isRoomFor(machine))
        this.#say(`passes over ${machine.name}`);
    }
  }
}
