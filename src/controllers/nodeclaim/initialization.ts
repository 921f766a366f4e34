/** Marks a registered Node as initialized once it has everything that its NodeClaim requires. */
import { INITIALIZED_LABEL, isTrue, NODE, NODE_READINESS_RULE, type Node, type NodeClaim } from '#api/objects';
import { amountIn, formatTaint, readableResources, sameTaint } from '#engine/model';
import { writeChanges } from '#kube/client';
import { after as again } from '#kube/reconcilers';
import { timestamp } from '#lib';
import { isEphemeralTaint } from '#state';
import type { Deps } from '../deps.ts';
import type { OwnWrites } from '../own-writes.ts';
import { DevicePromises } from './device-promises.ts';
import { deviceDrivers, type MissingDevice, requestedDrivers } from './devices.ts';
import { unmetRule } from './readiness-rules.ts';
import {
  done,
  isRegisteredAgain,
  type LifecycleStep,
  type LifecycleStepResult,
  refreshCondition,
  withCondition,
} from './step.ts';

const TYPE = 'Initialized';
const NOT_FOUND: MissingDevice = { reason: 'NodeNotFound', message: 'Node not registered with cluster' };

export function initialization(deps: Deps, nodeWrites: OwnWrites): LifecycleStep {
  const { client, clock, cluster, decisions, informers, settings } = deps;
  const devices = settings.ignoreDraRequests ? undefined : deviceDrivers(informers);
  const promises = new DevicePromises(deps);
  const rules = informers.store(NODE_READINESS_RULE, {}, { isAddOn: true });
  return async (claim, { log }) => {
    const ended = refreshCondition(claim, TYPE, clock.now());
    const [node, ...others] = cluster.nodesOfClaim(claim);
    if (ended && !(node !== undefined && isUninitializedAgain(node, ended))) return done(ended);
    if (!isTrue(claim, 'Registered')) return done(claim);
    // the condition of an initialized NodeClaim never changes
    const waiting = (lack: MissingDevice): LifecycleStepResult =>
      done(ended ?? withCondition(claim, { type: TYPE, status: 'Unknown', ...lack }, clock.now()));
    if (node === undefined || others.length > 0) return waiting(NOT_FOUND);
    // the cached Node may not show the startup taints that registration added; the event of the Node triggers another run
    if (nodeWrites.isBehind(node)) return done(claim);
    const missing =
      lack(claim, node, (resource) => devices?.provides(resource, node) ?? false) ?? unmetRule(rules.list(), node);
    if (missing) return waiting(missing);
    const driver = devices?.lack(claim, node);
    if (driver) {
      const { reason, message } = driver;
      return { ...waiting({ reason, message }), outcome: again(promises.waiting(claim, node, driver.driver)) };
    }
    const labels = { ...node.metadata.labels, [INITIALIZED_LABEL]: 'true' };
    const after: Node = { ...node, metadata: { ...node.metadata, labels } };
    if (!(await writeChanges(client, NODE, { before: node, after }, { part: 'object' }))) return waiting(NOT_FOUND);
    return {
      ...done(withCondition(claim, { type: TYPE, status: 'True' }, clock.now())),
      written: () => {
        for (const each of devices === undefined ? [] : requestedDrivers(claim))
          promises.published(claim, each, devices?.slicesOf(node) ?? []);
        decisions?.joined(claim.metadata.name, { node: node.metadata.name, joinedAt: timestamp(clock.now()) });
        log.info('initialized nodeclaim', {
          'provider-id': claim.status?.providerID,
          Node: { name: node.metadata.name },
          allocatable: node.status?.allocatable,
        });
      },
    };
  };
}

const isUninitializedAgain = (node: Node, claim: NodeClaim): boolean =>
  node.metadata.labels?.[INITIALIZED_LABEL] !== 'true' && isRegisteredAgain(node, claim, TYPE);

function lack(
  claim: NodeClaim,
  node: Node,
  isProvidedByDriver: (resource: string) => boolean,
): MissingDevice | undefined {
  if (!isTrue(node, 'Ready')) return { reason: 'NodeNotReady', message: 'Node status is NotReady' };
  const taints = node.spec?.taints ?? [];
  const startup = (claim.spec.startupTaints ?? []).find((own) => taints.some((taint) => sameTaint(taint, own)));
  if (startup) {
    return { reason: 'StartupTaintsExist', message: `StartupTaint "${formatTaint(startup)}" still exists` };
  }
  const ephemeral = taints.find(isEphemeralTaint);
  if (ephemeral) {
    return {
      reason: 'KnownEphemeralTaintsExist',
      message: `KnownEphemeralTaint "${formatTaint(ephemeral)}" still exists`,
    };
  }
  const allocatable = readableResources(node.status?.allocatable);
  const requested = Object.entries(readableResources(claim.spec.resources?.requests)).filter(
    ([, amount]) => amount > 0,
  );
  const absent = requested.find(([name]) => amountIn(allocatable, name) === 0 && !isProvidedByDriver(name));
  return (
    absent && {
      reason: 'ResourceNotRegistered',
      message: `Resource "${absent[0]}" was requested but not registered`,
    }
  );
}
