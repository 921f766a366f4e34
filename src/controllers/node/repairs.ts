/** Reviews the repair of nodes, for the controller of repairs and for views. */
import { isTrue, type Node, type NodeClaim, pauseText, poolNameOf, uidOf } from '#api/objects';
import {
  type Ailment,
  ailmentOf,
  budgetObstacle,
  type HealthSurvey,
  healthObstacle,
  type NodeRepair,
  type RepairObstacle,
  type RepairSettings,
  repairsIn,
  surveyHealth,
} from '#engine/disruption';
import { repairSettingsOf } from '#planner';
import { CLAIMS_BY_NODE_POOL } from '#state';
import type { Deps } from '../deps.ts';
import { Onsets } from './onsets.ts';
import { isRebooting } from './reboots.ts';

/** Time within which the cache shows that a repair has begun. */
const BEGUN_MS = 60_000;

type RepairDeps = Pick<Deps, 'cloud' | 'clock' | 'cluster' | 'settings'>;

export class Repairs {
  readonly #deps: RepairDeps;
  readonly #onsets = new Onsets();
  /** End of the time during which a NodeClaim counts as unavailable, by its UID, although the cache may not show it yet. */
  readonly #begun = new Map<string, number>();

  constructor(deps: RepairDeps) {
    this.#deps = deps;
  }

  get isEnabled(): boolean {
    const { cloud, settings } = this.#deps;
    return settings.featureGates.nodeRepair && cloud.repairPolicies.length > 0;
  }

  ailmentOf(node: Node, pool: string): Ailment | undefined {
    return ailmentOf(node, this.#settingsOf()(pool).rules, this.#onsets.of);
  }

  /** Returns the obstacle to the repair of a node now, or undefined. A NodeClaim that is being deleted needs no budget. */
  obstacle(
    node: Node,
    claim: NodeClaim,
    survey = this.#survey(),
    budgetObstacleOf = (name: string): RepairObstacle | undefined => this.#budgetObstacle(name),
  ): RepairObstacle | undefined {
    const { cluster } = this.#deps;
    const pause = cluster.pause.of('disruption');
    if (pause !== undefined) return { code: 'paused', text: pauseText(pause) };
    const pool = poolNameOf(claim);
    const isLeaving = claim.metadata.deletionTimestamp !== undefined;
    const obstacle = healthObstacle(node, pool, survey) ?? (isLeaving ? undefined : budgetObstacleOf(pool));
    const observer = obstacle === undefined ? cluster.observation.of(pool) : undefined;
    return observer === undefined ? obstacle : { code: 'observed', text: `its NodePool is observed (${observer})` };
  }

  #budgetObstacle(pool: string): RepairObstacle | undefined {
    const { budgets } = this.#settingsOf()(pool);
    return budgets && budgetObstacle(budgets, this.#countsOf(pool), this.#deps.clock.now());
  }

  /** Counts a NodeClaim as unavailable from now on. Returns a function that takes this back. */
  begin(claim: NodeClaim): () => void {
    const nowMs = this.#deps.clock.now();
    for (const [uid, untilMs] of this.#begun) if (untilMs <= nowMs) this.#begun.delete(uid);
    this.#begun.set(uidOf(claim), nowMs + BEGUN_MS);
    return () => void this.#begun.delete(uidOf(claim));
  }

  /** Returns the repairs of all unhealthy nodes, by name of the node. */
  all(): ReadonlyMap<string, NodeRepair> {
    if (!this.isEnabled) return new Map();
    const claimOf = (node: Node): NodeClaim | undefined => {
      const [claim, ...others] = this.#deps.cluster.claimsOfNode(node);
      return others.length > 0 ? undefined : claim;
    };
    const survey = this.#survey();
    const known = new Map<string, RepairObstacle | undefined>();
    const budgetObstacleOf = (pool: string): RepairObstacle | undefined => {
      if (!known.has(pool)) known.set(pool, this.#budgetObstacle(pool));
      return known.get(pool);
    };
    return repairsIn(survey, (node) => {
      const claim = claimOf(node);
      return claim && { obstacle: this.obstacle(node, claim, survey, budgetObstacleOf) };
    });
  }

  #settingsOf(): (pool: string) => RepairSettings {
    return repairSettingsOf(this.#deps.cluster.stores, this.#deps.cloud.repairPolicies);
  }

  #survey(): HealthSurvey {
    const settingsOf = this.#settingsOf();
    const nodes = this.#deps.cluster.stores.nodes.list();
    return surveyHealth(nodes, (node) => settingsOf(poolNameOf(node)).rules, this.#onsets.of);
  }

  /** Counts the nodes of a NodePool, and the unavailable ones. */
  #countsOf(pool: string): { readonly total: number; readonly away: number } {
    const { clock, cluster } = this.#deps;
    const claims = cluster.stores.nodeClaims
      .byIndex(CLAIMS_BY_NODE_POOL, pool)
      .filter((claim) => isTrue(claim, 'Registered'));
    const isAway = (claim: NodeClaim): boolean =>
      claim.metadata.deletionTimestamp !== undefined ||
      isRebooting(claim) ||
      (this.#begun.get(uidOf(claim)) ?? 0) > clock.now();
    return { total: claims.length, away: claims.filter(isAway).length };
  }
}
