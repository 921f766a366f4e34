/**
 * Reboots of unhealthy nodes. The condition `Rebooting` of the NodeClaim has the state, so that another leader continues. A
 * NodeClaim is rebooted once; a later fault replaces its node.
 */
import type { Counter } from 'prom-client';
import {
  type Condition,
  getCondition,
  isTrue,
  NODE_CLAIM,
  type Node,
  type NodeClaim,
  poolNameOf,
  REBOOT_BOOT_ID_ANNOTATION,
  uidOf,
} from '#api/objects';
import type { Ailment } from '#engine/disruption';
import { writeChanges } from '#kube/client';
import { after, type Outcome } from '#kube/reconcilers';
import { own, timeOf, timestamp } from '#lib';
import { eventOf, NODE_REBOOTING, REBOOT_FAILED } from '#observe/events';
import type { Logger } from '#observe/logger';
import { NODECLAIMS_REBOOTED } from '#observe/metrics';
import type { Deps } from '../deps.ts';
import { withCondition } from '../nodeclaim/step.ts';
import { snakeCase } from '../text.ts';

const REBOOTING = 'Rebooting';
/** Time within which the node must be Ready with a new boot ID. Instances with local disks boot in a few minutes. */
const LIMIT_MS = 20 * 60_000;
const POLL_MS = 10_000;

/** Returns true while the node of a NodeClaim reboots, also while the reboot is held. */
export function isRebooting(claim: NodeClaim): boolean {
  const state = getCondition(claim, REBOOTING);
  return state !== undefined && state.status !== 'False';
}

const bootIdOf = ({ status }: Node): string => status?.nodeInfo?.bootID ?? '';

export class Reboots {
  readonly #deps: Deps;
  readonly #rebooted: Counter<'condition' | 'nodepool' | 'outcome'>;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#rebooted = deps.metrics.counter(NODECLAIMS_REBOOTED);
  }

  /** Returns true if the node may be rebooted: it reports its boots, and the NodeClaim was not rebooted before. */
  isPossible(node: Node, claim: NodeClaim): boolean {
    return bootIdOf(node) !== '' && getCondition(claim, REBOOTING) === undefined;
  }

  /** Records the intention. The next call of {@link follow} reboots the instance. */
  async start(node: Node, claim: NodeClaim, { condition }: Ailment, log: Logger): Promise<Outcome> {
    const { client, clock, cluster, decisions, events } = this.#deps;
    const annotations = { ...claim.metadata.annotations, [REBOOT_BOOT_ID_ANNOTATION]: bootIdOf(node) };
    const annotated = { ...claim, metadata: { ...claim.metadata, annotations } };
    const written = await writeChanges(
      client,
      NODE_CLAIM,
      { before: claim, after: annotated },
      { part: 'object', lock: true },
    );
    const { type, status, lastTransitionTime } = condition;
    await this.#set(written ?? annotated, 'RebootRequested', `${type}=${status}`);
    const message = NODE_REBOOTING.message(type, status, lastTransitionTime);
    log.info('rebooting unhealthy node', {
      Node: { name: node.metadata.name },
      NodeClaim: { name: claim.metadata.name },
    });
    for (const object of [node, claim])
      events.publish(eventOf(NODE_REBOOTING, object, { message, dedupe: [uidOf(object)] }));
    decisions?.record({
      kind: 'rebooted',
      at: timestamp(clock.now()),
      nodeClaim: claim.metadata.name,
      nodePool: poolNameOf(claim),
      node: node.metadata.name,
      text: `${type}=${status}`,
    });
    cluster.markChanged();
    return after(0);
  }

  /**
   * Continues a reboot. Returns undefined if it has ended. A reboot that is held has the status `Unknown`, and its limit starts
   * again afterwards, so that the time of a pause does not count.
   * @param isHeld true while no instance may be rebooted or replaced
   */
  async follow(
    node: Node,
    claim: NodeClaim,
    { ailment, isHeld }: { readonly ailment: Ailment | undefined; readonly isHeld: boolean },
    log: Logger,
  ): Promise<Outcome | undefined> {
    const { clock, cloud } = this.#deps;
    const state = getCondition(claim, REBOOTING);
    const status = isHeld ? 'Unknown' : 'True';
    const hasBooted = bootIdOf(node) !== own(claim.metadata.annotations, REBOOT_BOOT_ID_ANNOTATION);
    if (hasBooted && ailment === undefined && isTrue(node, 'Ready')) {
      await this.#end(claim, 'RebootSucceeded', log);
      return undefined;
    }
    if (state?.status !== status) {
      await this.#set(claim, state?.reason ?? 'RebootIssued', state?.message ?? '', status);
      return after(POLL_MS);
    }
    if (isHeld) return after(POLL_MS);
    if (clock.now() - timeOf(state?.lastTransitionTime) > LIMIT_MS) {
      await this.#end(claim, 'RebootFailed', log);
      return undefined;
    }
    // repeated if the result of an earlier request was lost: a second reboot delays the node by a minute
    if (state?.reason === 'RebootRequested' && !hasBooted) {
      await cloud.reboot(claim);
      await this.#set(claim, 'RebootIssued', state.message ?? '');
    }
    return after(POLL_MS);
  }

  async #end(claim: NodeClaim, reason: 'RebootSucceeded' | 'RebootFailed', log: Logger): Promise<void> {
    const cause = getCondition(claim, REBOOTING)?.message ?? '';
    await this.#set(claim, reason, cause, 'False');
    this.#rebooted.inc({
      condition: snakeCase(cause.split('=')[0] ?? ''),
      nodepool: poolNameOf(claim),
      outcome: reason === 'RebootSucceeded' ? 'success' : 'failure',
    });
    log.info('rebooted node', { NodeClaim: { name: claim.metadata.name }, outcome: reason });
    if (reason === 'RebootFailed') {
      const message = REBOOT_FAILED.message(LIMIT_MS / 60_000);
      this.#deps.events.publish(eventOf(REBOOT_FAILED, claim, { message, dedupe: [uidOf(claim)] }));
    }
  }

  async #set(claim: NodeClaim, reason: string, message: string, status: Condition['status'] = 'True'): Promise<void> {
    const { client, clock } = this.#deps;
    const changed = withCondition(claim, { type: REBOOTING, status, reason, message }, clock.now());
    await writeChanges(client, NODE_CLAIM, { before: claim, after: changed }, { part: 'status', lock: true });
  }
}
