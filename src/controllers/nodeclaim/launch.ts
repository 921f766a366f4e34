/** Launches the instance of a NodeClaim. */
import { isTrue } from '../../api/conditions.ts';
import { NODE_CLAIM } from '../../api/kinds.ts';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { uidOf } from '../../api/object-fields.ts';
import { CreateFailed, causeOf, InsufficientCapacity, NodeClassNotReady } from '../../cloud/errors.ts';
import { deleteExactly } from '../../kube/patch.ts';
import { after, settled } from '../../kube/reconciler.ts';
import { defined } from '../../lib/defined.ts';
import { messageOf } from '../../lib/error-message.ts';
import { eventOf } from '../../observe/events/declaration.ts';
import { INSUFFICIENT_CAPACITY_ERROR, NODE_CLASS_NOT_READY } from '../../observe/events/nodeclaims.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Deps } from '../deps.ts';
import { recordDeleted } from '../disrupted.ts';
import type { LaunchRetries } from './launch-retries.ts';
import type { LaunchedInstances } from './launched.ts';
import { done, type LifecycleStep, type LifecycleStepResult, refreshed, shortened, withCondition } from './step.ts';

type GivenUp = typeof INSUFFICIENT_CAPACITY_ERROR | typeof NODE_CLASS_NOT_READY;

const offeringOf = ({ metadata: { labels = {} } }: NodeClaim) => ({
  instanceType: labels[INSTANCE_TYPE_LABEL],
  zone: labels[ZONE_LABEL],
  capacityType: labels[CAPACITY_TYPE_LABEL],
});

export function launch(deps: Deps, launched: LaunchedInstances, retries: LaunchRetries): LifecycleStep {
  const { client, cloud, clock, events, traces } = deps;

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
    const message = event.message(claim.metadata.name, shortened(messageOf(error)));
    events.publish(eventOf(event, claim, { message, dedupe: [uidOf(claim)] }));
    log.error('failed launching nodeclaim', { NodeClaim: { name: claim.metadata.name }, error });
    if (await deleteExactly(client, NODE_CLAIM, claim)) recordDeleted(deps, claim, { reason });
    return { claim, outcome: settled, deleted: true };
  }

  async function failed(claim: NodeClaim, error: unknown, log: Logger): Promise<LifecycleStepResult> {
    if (causeOf(error, InsufficientCapacity))
      return giveUp(claim, error, { event: INSUFFICIENT_CAPACITY_ERROR, reason: 'insufficient_capacity' }, log);
    if (causeOf(error, NodeClassNotReady))
      return giveUp(claim, error, { event: NODE_CLASS_NOT_READY, reason: 'nodeclass_not_ready' }, log);
    retries.failed(claim);
    const shown = causeOf(error, CreateFailed);
    const reason = shown?.reason ?? 'LaunchFailed';
    const message = shown?.conditionMessage ?? shortened(messageOf(error));
    return {
      claim: withCondition(claim, { type: 'Launched', status: 'Unknown', reason, message }, clock.now()),
      outcome: settled,
      error: new Error(`launching nodeclaim, ${messageOf(error)}`, { cause: error }),
    };
  }

  return async (claim, { log }) => {
    const ended = refreshed(claim, 'Launched', clock.now());
    if (ended) {
      if (isTrue(ended, 'Launched')) launched.forget(claim);
      return done(ended);
    }
    const known = launched.get(claim);
    if (known) return done(withInstance(claim, known, clock.now()));
    const restMs = retries.restMs(claim);
    if (restMs > 0) return { claim, outcome: after(restMs) };
    let created: NodeClaim;
    traces?.launching(claim);
    try {
      created = await cloud.create(claim);
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
