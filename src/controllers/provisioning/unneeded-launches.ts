/**
 * Ends launches that no pod needs, before their nodes join. All pods of such a launch were deleted or bound to other nodes, and
 * no other pod could use its node. See docs/decisions/0072.
 */
import { NODE_CLAIM, type NodeClaim, type Pod, uidOf } from '#api/objects';
import { isActive } from '#engine/model';
import { deleteExactly } from '#kube/client';
import { eventOf, LAUNCH_NOT_NEEDED } from '#observe/events';
import { likenessOf, PODS_BY_NODE } from '#state';
import type { Deps } from '../deps.ts';
import { recordDeleted } from '../disrupted.ts';
import { suitability } from './lacks.ts';
import { type Launch, type Launches, NOT_NEEDED, podsWithoutNode } from './launches.ts';
import { volumeReader } from './volume-reader.ts';

/** Kinds of waiting pods that are compared with a node. With more kinds, no launch is ended. */
const MOST_KINDS = 1_000;

/** Deletes a NodeClaim that no pod needs. */
export async function endLaunch(deps: Deps, claim: NodeClaim): Promise<void> {
  const { client, events, log } = deps;
  const { name } = claim.metadata;
  if (!(await deleteExactly(client, NODE_CLAIM, claim))) return;
  recordDeleted(deps, claim, { reason: NOT_NEEDED });
  log.info('deleted nodeclaim before its node joined, no pod needs it', { NodeClaim: { name } });
  events.publish(eventOf(LAUNCH_NOT_NEEDED, claim, { message: LAUNCH_NOT_NEEDED.message(), dedupe: [uidOf(claim)] }));
}

export class UnneededLaunches {
  readonly #deps: Deps;
  readonly #launches: Launches;
  /** Launches that the last call found. One call is not sufficient, because a controller may be replacing its pods. */
  #found: ReadonlySet<Launch> = new Set();

  constructor(deps: Deps, launches: Launches) {
    this.#deps = deps;
    this.#launches = launches;
  }

  /** Ends launches that no pod needed during two calls. A failure is tried again with the next call. */
  async end(): Promise<void> {
    const found = new Set(this.#unneeded());
    const ending = [...found].filter((launch) => this.#found.has(launch));
    this.#found = found;
    for (const { claim } of ending) {
      try {
        await endLaunch(this.#deps, claim);
      } catch (error) {
        const NodeClaim = { name: claim.metadata.name };
        this.#deps.log.debug('failed deleting an unneeded nodeclaim, trying again', { NodeClaim, error });
      }
    }
  }

  #unneeded(): readonly Launch[] {
    const { cluster } = this.#deps;
    const launches = this.#launches.unneeded();
    if (launches.length === 0) return [];
    const kinds = new Map(this.#waitingPods().map((pod) => [likenessOf(pod), pod]));
    if (kinds.size > MOST_KINDS) return [];
    const volumes = volumeReader(cluster);
    return launches.filter(({ claim }) => {
      const node = cluster.nodeOfClaim(claim);
      // before the instance is known, the launch itself checks its pods
      return (
        node !== undefined && ![...kinds.values()].some((pod) => suitability(pod, node, volumes).kind !== 'lacking')
      );
    });
  }

  /** Returns all pods that may need a node soon. Includes pods that kube-scheduler has not tried. */
  #waitingPods(): readonly Pod[] {
    const unscheduled = this.#deps.cluster.stores.pods.byIndex(PODS_BY_NODE, '');
    const ungated = unscheduled.filter((pod) => isActive(pod) && (pod.spec.schedulingGates ?? []).length === 0);
    return [...ungated, ...podsWithoutNode(this.#deps)];
  }
}
