/**
 * Policy that knows the future: it copies the cluster, tries a decision, plays the rest of the trace by the rules, and
 * keeps the decision with the lowest cost. Its cost is an upper bound of the optimum.
 */
import { pseudoRandom } from '#engine/model';
import { Life, type LifeNode, type LifeWorld, type Rules } from './life.ts';
import type { Offer } from './offers.ts';

interface RolloutOptions {
  /** Limit of evicted pods. Nothing is evicted if it is 0. */
  readonly evictions: number;
  /** Prices of an eviction in USD, in addition to the work that is done again. The best price is used. */
  readonly evictionUsd: readonly number[];
  readonly cpuSeconds: number;
  readonly seed?: number;
}

export interface Decision {
  readonly at: number;
  readonly what: 'launch' | 'mark' | 'evict' | 'replace';
  /** Type of the launched node, or of the node that the decision is about. */
  readonly type: string;
  /** Type that the rules would launch, or the type of the replacement. */
  readonly other?: string;
}

export interface Outcome {
  readonly life: Life;
  /** Decisions that differ from the rules. */
  readonly decisions: readonly Decision[];
}

interface Action {
  readonly decision: Decision;
  apply(life: Life): void;
}

/** Rules from which the policy starts. The cheapest is chosen. */
const RULES: readonly Rules[] = [{}, { marks: 'worth' }, { marks: 'end' }];
const DECISION_SECONDS = 30;
/** Number of nodes that are considered at a moment, at random. */
const MOST_NODES = 10;
/** Numbers of nodes of one type for a launch: the first or all. */
const LAUNCHES = [1, Number.POSITIVE_INFINITY];
const SMALLEST_GAIN = 1e-6;

/** Plays the trace with decisions that are tried against its future. */
export function rollOut(world: LifeWorld, options: RolloutOptions): Outcome {
  const prices = options.evictions > 0 ? options.evictionUsd : [0];
  const starts = RULES.map((rules) => new Life(world, rules));
  const start = starts.reduce((best, other) => (other.copy().run().usd < best.copy().run().usd ? other : best));
  const cpuSeconds = options.cpuSeconds / prices.length;
  const played = prices.map((price) => new Rollout(start.copy(), { ...options, cpuSeconds }, price).play());
  return played.reduce((best, other) => (other.life.usd < best.life.usd ? other : best));
}

class Rollout {
  readonly #life: Life;
  readonly #options: Omit<RolloutOptions, 'evictionUsd'>;
  readonly #evictionUsd: number;
  readonly #random: () => number;
  readonly #decisions: Decision[] = [];
  readonly #startMs = cpuMs();
  /** Cost if the rules decide from now on. */
  #usd: number;
  #decidedAt = 0;

  constructor(life: Life, options: Omit<RolloutOptions, 'evictionUsd'>, evictionUsd: number) {
    this.#evictionUsd = evictionUsd;
    this.#life = life;
    this.#options = options;
    this.#random = pseudoRandom(options.seed ?? 1);
    this.#usd = this.#priceOf(life.copy().run());
  }

  play(): Outcome {
    const life = this.#life;
    while (life.step()) {
      const uncovered = life.uncovered();
      if (uncovered.length > 0) this.#launch();
      if (life.now - this.#decidedAt >= DECISION_SECONDS && this.#hasTime()) {
        this.#decidedAt = life.now;
        this.#improve(this.#movesOf(this.#someNodes()));
      }
      life.launch();
    }
    return { life, decisions: this.#decisions };
  }

  /** The CPU time is spread evenly over the trace. */
  #hasTime(): boolean {
    const { now, world } = this.#life;
    return (cpuMs() - this.#startMs) / 1000 / this.#options.cpuSeconds <= now / world.demand.seconds + 0.01;
  }

  /** Tries every type for the first node, and for all nodes. */
  #launch(): void {
    const life = this.#life;
    const rules = life.copy();
    rules.launch();
    const usual = rules.nodes.find(({ id }) => id === life.launches)?.offer.name ?? '';
    const fitting = life.world.offers.filter((offer) => life.fitsAny(offer));
    this.#improve(fitting.flatMap((offer) => LAUNCHES.map((most) => launchOf(life, offer, most, usual))));
    life.launch();
  }

  /** Applies the best action if it costs less than the rules. */
  #improve(actions: readonly Action[]): void {
    let best: Action | undefined;
    let bestUsd = this.#usd - SMALLEST_GAIN;
    for (const action of actions) {
      const copy = this.#life.copy();
      action.apply(copy);
      copy.launch();
      const usd = this.#priceOf(copy.run());
      if (copy.evictions <= this.#options.evictions && usd < bestUsd) [best, bestUsd] = [action, usd];
    }
    if (best === undefined) return;
    best.apply(this.#life);
    this.#usd = bestUsd;
    this.#decisions.push(best.decision);
  }

  #priceOf({ usd, evictions }: Life): number {
    return usd + evictions * this.#evictionUsd;
  }

  #someNodes(): readonly LifeNode[] {
    const { nodes, now } = this.#life;
    const ready = nodes.filter((node) => node.ready <= now).map((node) => ({ node, rank: this.#random() }));
    return ready
      .sort((a, b) => a.rank - b.rank)
      .slice(0, MOST_NODES)
      .map(({ node }) => node);
  }

  #movesOf(nodes: readonly LifeNode[]): readonly Action[] {
    const life = this.#life;
    const { evictions } = this.#options;
    return nodes.flatMap((node) => {
      const marked: Action = {
        decision: { at: life.now, what: 'mark', type: node.offer.name },
        apply: (copy) => copy.pin(node.id, !node.isMarked),
      };
      if (node.pods === 0 || life.evictions + node.pods > evictions) return [marked];
      if (life.canMove(node.id)) return [marked, evictionOf(life, node)];
      return [
        marked,
        ...life.world.offers
          .filter((offer) => canReplace(node, offer))
          .map((offer) => replacementOf(life, node, offer)),
      ];
    });
  }
}

const cpuMs = (): number => process.cpuUsage().user / 1000;

/** Reports whether a cheaper type has room for the pods of the node. */
const canReplace = (node: LifeNode, { usd, cpu, memory }: Offer): boolean =>
  usd < node.offer.usd && cpu >= node.cpu && memory >= node.memory;

const launchOf = ({ now }: Life, offer: Offer, most: number, other: string): Action => ({
  decision: { at: now, what: 'launch', type: offer.name, other },
  apply: (copy) => copy.launch(offer, most),
});

const evictionOf = ({ now }: Life, { id, offer }: LifeNode): Action => ({
  decision: { at: now, what: 'evict', type: offer.name },
  apply: (copy) => copy.evict(id),
});

const replacementOf = ({ now }: Life, { id, offer }: LifeNode, other: Offer): Action => ({
  decision: { at: now, what: 'replace', type: offer.name, other: other.name },
  apply: (copy) => copy.replace(id, other),
});
