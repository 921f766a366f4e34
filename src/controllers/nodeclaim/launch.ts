/** Launches the instance of a NodeClaim. */
import {
  CAPACITY_TYPE_LABEL,
  INSTANCE_TYPE_LABEL,
  isTrue,
  NODE_CLAIM,
  type NodeClaim,
  poolNameOf,
  uidOf,
  ZONE_LABEL,
} from '#api/objects';
import { type AdjustTypes, CreateFailed, causeOf, InsufficientCapacity, NodeClassNotReady } from '#cloud';
import { deleteExactly } from '#kube/client';
import { after, type BackOff, backOffMs, type RateLimit, settled } from '#kube/reconcilers';
import { defined, messageOf } from '#lib';
import { type Clock, type Limiter, limiter, monotonicMs, type Timepiece } from '#lib/clock';
import { eventOf, INSUFFICIENT_CAPACITY_ERROR, NODE_CLASS_NOT_READY } from '#observe/events';
import type { Logger } from '#observe/logger';
import { launchableTypes, spotTermsOf } from '#planner';
import { PAUSED_RETRY_MS } from '#state';
import type { Deps } from '../deps.ts';
import { recordDeleted } from '../disrupted.ts';
import { endLaunch } from '../provisioning/unneeded-launches.ts';
import {
  done,
  type LifecycleStep,
  type LifecycleStepResult,
  refreshCondition,
  shortenMessage,
  withCondition,
} from './step.ts';

type GivenUp = typeof INSUFFICIENT_CAPACITY_ERROR | typeof NODE_CLASS_NOT_READY;

const offeringOf = ({ metadata: { labels = {} } }: NodeClaim) => ({
  instanceType: labels[INSTANCE_TYPE_LABEL],
  zone: labels[ZONE_LABEL],
  capacityType: labels[CAPACITY_TYPE_LABEL],
});

/** Reports whether a pod still needs a NodeClaim. */
export interface LaunchDemand {
  isNeeded(claim: NodeClaim): boolean;
}

interface LaunchParts {
  readonly launched: LaunchedInstances;
  readonly retries: LaunchRetries;
  readonly demand?: LaunchDemand | undefined;
}

/** Returns false after a failed request, because it may have launched an instance, which must not lose its NodeClaim. */
const isUnneeded = ({ demand, retries }: Pick<LaunchParts, 'demand' | 'retries'>, claim: NodeClaim): boolean =>
  demand?.isNeeded(claim) === false && !retries.hasFailed(claim);

/** Prices may have changed since the NodeClaim was planned. */
function withinPolicy(
  { nodePools, nodePolicies }: Deps['cluster']['stores'],
  claim: NodeClaim,
): AdjustTypes | undefined {
  const pool = nodePools.get({ name: poolNameOf(claim) });
  const terms = pool && spotTermsOf(pool, nodePolicies.list());
  return terms && (async (types) => launchableTypes(types, terms));
}

export function launch(deps: Deps, { launched, retries, demand }: LaunchParts): LifecycleStep {
  const { client, cloud, clock, cluster, events, traces } = deps;

  /**
   * Deletes a NodeClaim that cannot be launched now. The provisioner then plans again for its pods and avoids the unavailable
   * capacity.
   */
  async function giveUp(
    claim: NodeClaim,
    error: unknown,
    { event, reason }: { readonly event: GivenUp; readonly reason: string },
    log: Logger,
  ): Promise<LifecycleStepResult> {
    const message = event.message(claim.metadata.name, shortenMessage(messageOf(error)));
    events.publish(eventOf(event, claim, { message, dedupe: [uidOf(claim)] }));
    log.error('failed launching nodeclaim', { NodeClaim: { name: claim.metadata.name }, error });
    cluster.launchFailures.record(claim, { text: shortenMessage(messageOf(error)) });
    if (await deleteExactly(client, NODE_CLAIM, claim)) recordDeleted(deps, claim, { reason });
    return { claim, outcome: settled, deleted: true };
  }

  async function failed(claim: NodeClaim, error: unknown, log: Logger): Promise<LifecycleStepResult> {
    if (causeOf(error, InsufficientCapacity))
      return giveUp(claim, error, { event: INSUFFICIENT_CAPACITY_ERROR, reason: 'insufficient_capacity' }, log);
    if (causeOf(error, NodeClassNotReady))
      return giveUp(claim, error, { event: NODE_CLASS_NOT_READY, reason: 'nodeclass_not_ready' }, log);
    const nextMs = clock.now() + retries.failed(claim);
    cluster.launchFailures.record(claim, { text: shortenMessage(messageOf(error)), nextMs });
    const shown = causeOf(error, CreateFailed);
    const reason = shown?.reason ?? 'LaunchFailed';
    const message = shown?.conditionMessage ?? shortenMessage(messageOf(error));
    return {
      claim: withCondition(claim, { type: 'Launched', status: 'Unknown', reason, message }, clock.now()),
      outcome: settled,
      error: new Error(`launching nodeclaim, ${messageOf(error)}`, { cause: error }),
    };
  }

  return async (claim, { log }) => {
    const ended = refreshCondition(claim, 'Launched', clock.now());
    if (ended) {
      if (isTrue(ended, 'Launched')) launched.forget(claim);
      return done(ended);
    }
    const known = launched.get(claim);
    if (known) return done(withInstance(claim, known, clock.now()));
    const restMs = cluster.pause.of('launches') ? PAUSED_RETRY_MS : retries.restMs(claim);
    if (restMs > 0) return { claim, outcome: after(restMs) };
    if (isUnneeded({ demand, retries }, claim)) {
      await endLaunch(deps, claim);
      return { claim, outcome: settled, deleted: true };
    }
    let created: NodeClaim;
    traces?.launching(claim);
    try {
      created = await cloud.create(claim, withinPolicy(cluster.stores, claim));
    } catch (error) {
      traces?.launchFailed(claim, error);
      return failed(claim, error, log);
    }
    traces?.launched(claim, created);
    launched.remember(claim, created);
    retries.forget(claim.metadata.name);
    const { instanceType, zone, capacityType } = offeringOf(created);
    log.info('launched nodeclaim', {
      'provider-id': created.status?.providerID,
      'instance-type': instanceType,
      zone,
      'capacity-type': capacityType,
      allocatable: created.status?.allocatable,
    });
    deps.decisions?.launched(claim.metadata.name, defined({ instanceType, zone, capacityType }));
    return done(withInstance(claim, created, clock.now()));
  };
}

/**
 * Adds the launched instance to the NodeClaim. Labels of the NodeClaim take precedence over the provider's labels. Annotations
 * of the provider take precedence, because they describe the instance.
 */
function withInstance(claim: NodeClaim, created: NodeClaim, nowMs: number): NodeClaim {
  const { providerID, imageID, allocatable, capacity } = created.status ?? {};
  const launched: NodeClaim = {
    ...claim,
    metadata: {
      ...claim.metadata,
      labels: { ...created.metadata.labels, ...claim.metadata.labels },
      annotations: { ...claim.metadata.annotations, ...created.metadata.annotations },
    },
    status: {
      ...claim.status,
      ...defined({ providerID, imageID, allocatable, capacity }),
    },
  };
  return withCondition(launched, { type: 'Launched', status: 'True' }, nowMs);
}

const KEEP_MS = 60 * 60_000;

/**
 * Launched instances that their NodeClaims do not show yet, by UID of the NodeClaim. After a failed status write, the operator
 * must write again instead of launching a second instance.
 */
export class LaunchedInstances {
  readonly #clock: Timepiece;
  readonly #byUid = new Map<string, { readonly created: NodeClaim; readonly sinceMs: number }>();

  constructor(clock: Timepiece) {
    this.#clock = clock;
  }

  get(claim: NodeClaim): NodeClaim | undefined {
    const known = this.#byUid.get(uidOf(claim));
    return known && monotonicMs(this.#clock) - known.sinceMs <= KEEP_MS ? known.created : undefined;
  }

  remember(claim: NodeClaim, created: NodeClaim): void {
    const nowMs = monotonicMs(this.#clock);
    for (const [uid, { sinceMs }] of this.#byUid) if (nowMs - sinceMs > KEEP_MS) this.#byUid.delete(uid);
    this.#byUid.set(uidOf(claim), { created, sinceMs: nowMs });
  }

  forget(claim: NodeClaim): void {
    this.#byUid.delete(uidOf(claim));
  }
}

interface Failed {
  readonly uid: string | undefined;
  readonly failures: number;
  readonly notBeforeMs: number;
}

/**
 * Delays further launch attempts of a NodeClaim after a failure. The queue's back-off is not sufficient: the failure is written
 * to the status of the NodeClaim, and the event of this write triggers the NodeClaim immediately.
 */
export class LaunchRetries {
  readonly #clock: Clock;
  readonly #random: (() => number) | undefined;
  readonly #backOff: BackOff;
  /** Shared by all NodeClaims. */
  readonly #limiter: Limiter;
  readonly #byName = new Map<string, Failed>();

  constructor({ clock, random }: Pick<Deps, 'clock' | 'random'>, backOff: BackOff, { qps, burst }: RateLimit) {
    this.#clock = clock;
    this.#random = random;
    this.#backOff = backOff;
    this.#limiter = limiter(clock, qps, burst);
  }

  /** Returns the milliseconds until the NodeClaim may be launched. The value is zero or less if it may be launched now. */
  restMs(claim: NodeClaim): number {
    const failed = this.#failed(claim);
    return failed === undefined ? 0 : failed.notBeforeMs - monotonicMs(this.#clock);
  }

  hasFailed(claim: NodeClaim): boolean {
    return this.#failed(claim) !== undefined;
  }

  /** Returns the milliseconds until the next attempt. */
  failed(claim: NodeClaim): number {
    const { uid, name } = claim.metadata;
    const failures = this.#failed(claim)?.failures ?? 0;
    const waitMs = Math.max(backOffMs(this.#backOff, failures, this.#random), this.#limiter.reserve());
    this.#byName.set(name, { uid, failures: failures + 1, notBeforeMs: monotonicMs(this.#clock) + waitMs });
    return waitMs;
  }

  /** Removes the entry. Must be called once the NodeClaim is launched or gone. */
  forget(name: string): void {
    this.#byName.delete(name);
  }

  #failed({ metadata }: NodeClaim): Failed | undefined {
    const failed = this.#byName.get(metadata.name);
    return failed?.uid === metadata.uid ? failed : undefined;
  }
}
