/** Orders the steps of a NodeClaim's life: launch, registration, initialization, liveness; and its end. */

import { initConditions, NODECLAIM_CONDITIONS } from '../../api/conditions.ts';
import { NODE, NODE_CLAIM } from '../../api/kinds.ts';
import type { Node } from '../../api/kubernetes.ts';
import { TERMINATION_FINALIZER } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { writeChanges } from '../../kube/patch.ts';
import {
  type Outcome,
  type ReconcileContext,
  type Reconciler,
  Requeue,
  settled,
  soonest,
} from '../../kube/reconciler.ts';
import { concurrency, globalLimit } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { OwnWrites } from '../ownwrites.ts';
import { claimsOfSlices } from './devices.ts';
import { initialization } from './initialization.ts';
import { launch } from './launch.ts';
import { LaunchedInstances } from './launched.ts';
import { LaunchRetries } from './launchretries.ts';
import { liveness } from './liveness.ts';
import { registration } from './registration.ts';
import { messageOf, type StepResult } from './step.ts';
import { termination } from './termination.ts';

const BACK_OFF = { baseMs: 1000, maxMs: 60_000 };

export function lifecycle(deps: Deps): Reconciler<NodeClaim> {
  const { client, clock, cluster, settings } = deps;
  const writes = new OwnWrites();
  const nodeWrites = new OwnWrites();
  cluster.stores.nodes.subscribe((event, { metadata }) => {
    if (event === 'deleted') nodeWrites.forget(metadata.name);
  });
  const launched = new LaunchedInstances(clock);
  const range = { min: 1000, max: 5000 };
  const rateLimit = globalLimit(settings, range, 10);
  const retries = new LaunchRetries(clock, BACK_OFF, rateLimit);
  const steps = [
    launch(deps, launched, retries),
    registration(deps, nodeWrites),
    initialization(deps, nodeWrites),
    liveness(deps),
  ];
  const finalize = termination(deps, launched, writes);

  async function run(claim: NodeClaim, context: ReconcileContext): Promise<Outcome> {
    const results: StepResult[] = [];
    let current = initConditions(claim, NODECLAIM_CONDITIONS);
    for (const step of steps) {
      const result = await attempt(step(current, context), current);
      current = result.claim;
      results.push(result);
      if (result.deleted) writes.deleted(claim);
    }
    if (await write(claim, current)) for (const { written } of results) written?.();
    const errors = results.flatMap(({ error }) => (error === undefined ? [] : [error]));
    if (errors.length > 0) throw combined(errors);
    return soonest(results.map(({ outcome }) => outcome));
  }

  /** Both writes are locked: other controllers keep conditions in the same list. */
  async function write(before: NodeClaim, after: NodeClaim): Promise<boolean> {
    const object = await writeChanges(client, NODE_CLAIM, { before, after }, { part: 'object', lock: true });
    if (object === undefined) return false;
    const versions = { before: object, after: { ...object, ...(after.status && { status: after.status }) } };
    const status = await writeChanges(client, NODE_CLAIM, versions, { part: 'status', lock: true });
    writes.wrote(status);
    return status !== undefined;
  }

  return {
    name: 'nodeclaim.lifecycle',
    watches: NODE_CLAIM,
    concurrency: concurrency(settings, range),
    backOff: BACK_OFF,
    rateLimit,
    filter: (claim) => cluster.manages(claim.spec.nodeClassRef),
    triggers: [
      { kind: NODE, keysFor: (node) => cluster.claimsOfNode(node as Node).map(({ metadata }) => metadata) },
      ...(settings.ignoreDraRequests ? [] : [claimsOfSlices(deps)]),
    ],
    removed: ({ name }) => {
      writes.forget(name);
      retries.forget(name);
    },

    async reconcile(claim, context) {
      if (writes.isBehind(claim)) return settled;
      if (claim.metadata.deletionTimestamp) return finalize(claim, context);
      const finalizers = claim.metadata.finalizers ?? [];
      if (finalizers.includes(TERMINATION_FINALIZER)) return run(claim, context);
      const guarded = { ...claim, metadata: { ...claim.metadata, finalizers: [...finalizers, TERMINATION_FINALIZER] } };
      const versions = { before: claim, after: guarded };
      const stored = await writeChanges(client, NODE_CLAIM, versions, { part: 'object', lock: true });
      writes.wrote(stored);
      return stored ? run(stored, context) : settled;
    },
  };
}

/** A step that throws changes nothing; the others run all the same. */
async function attempt(step: Promise<StepResult>, claim: NodeClaim): Promise<StepResult> {
  try {
    return await step;
  } catch (error) {
    return { claim, outcome: settled, error };
  }
}

/** Write conflicts matter only when nothing worse happened. */
function combined(errors: readonly unknown[]): unknown {
  const defects = errors.filter((error) => !(error instanceof Requeue));
  if (defects.length < 2) return defects[0] ?? errors[0];
  return new AggregateError(defects, defects.map(messageOf).join('; '));
}
