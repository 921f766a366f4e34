/** Reviews the repair of nodes, for the controller of repairs and for views. */
import { type Node, pauseText, poolNameOf } from '#api/objects';
import {
  type Ailment,
  ailmentOf,
  type HealthSurvey,
  healthObstacle,
  type NodeRepair,
  type RepairObstacle,
  repairsIn,
  surveyHealth,
} from '#engine/disruption';
import type { Deps } from '../deps.ts';
import { Onsets } from './onsets.ts';

export class Repairs {
  readonly #deps: Pick<Deps, 'cloud' | 'cluster' | 'settings'>;
  readonly #onsets = new Onsets();

  constructor(deps: Pick<Deps, 'cloud' | 'cluster' | 'settings'>) {
    this.#deps = deps;
  }

  get isEnabled(): boolean {
    const { cloud, settings } = this.#deps;
    return settings.featureGates.nodeRepair && cloud.repairPolicies.length > 0;
  }

  ailmentOf(node: Node): Ailment | undefined {
    return ailmentOf(node, this.#deps.cloud.repairPolicies, this.#onsets.of);
  }

  /** Returns the obstacle to the repair of a node now, or undefined. @param pool name of its NodePool; empty without one */
  obstacle(node: Node, pool: string, survey = this.#survey()): RepairObstacle | undefined {
    const pause = this.#deps.cluster.pause.of('disruption');
    if (pause !== undefined) return { code: 'paused', text: pauseText(pause) };
    return healthObstacle(node, pool, survey);
  }

  /** Returns the repairs of all unhealthy nodes, by name of the node. */
  all(): ReadonlyMap<string, NodeRepair> {
    if (!this.isEnabled) return new Map();
    const poolOf = (node: Node): string | undefined => {
      const [claim, ...others] = this.#deps.cluster.claimsOfNode(node);
      return claim === undefined || others.length > 0 ? undefined : poolNameOf(claim);
    };
    return repairsIn(this.#survey(), poolOf, (node, pool, survey) => this.obstacle(node, pool, survey));
  }

  #survey(): HealthSurvey {
    const { cloud, cluster } = this.#deps;
    return surveyHealth(cluster.stores.nodes.list(), () => cloud.repairPolicies, this.#onsets.of);
  }
}
