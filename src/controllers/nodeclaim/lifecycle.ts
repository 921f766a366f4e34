/** Runs the lifecycle steps of a NodeClaim: launch, registration, initialization, liveness, and termination. */

import {
  initConditions,
  NODE,
  NODE_CLAIM,
  NODECLAIM_CONDITIONS,
  type Node,
  type NodeClaim,
  TERMINATION_FINALIZER,
} from '#api/objects';
import { writeChanges } from '#kube/client';
import {
  type Key,
  type Outcome,
  type RateLimit,
  type ReconcileContext,
  type Reconciler,
  Requeue,
  settled,
  soonest,
  type Trigger,
} from '#kube/reconcilers';
import { defined, messageOf } from '#lib';
import { concurrency, globalLimit } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { OwnWrites } from '../own-writes.ts';
import { ClaimTermination } from './claim-termination.ts';
import { claimsOfSlices } from './devices.ts';
import { initialization } from './initialization.ts';
import { type LaunchDemand, LaunchedInstances, LaunchRetries, launch } from './launch.ts';
import { liveness } from './liveness.ts';
import { claimsOfRules } from './readiness-rules.ts';
import { registration } from './registration.ts';
import type { LifecycleStep, LifecycleStepResult } from './step.ts';

const BACK_OFF = { baseMs: 1000, maxMs: 60_000 };
const RANGE = { min: 1000, max: 5000 };

export class NodeClaimLifecycle implements Reconciler<NodeClaim> {
  readonly name = 'nodeclaim.lifecycle';
  readonly watches = NODE_CLAIM;
  readonly backOff = BACK_OFF;
  readonly concurrency: number;
  readonly rateLimit: RateLimit;
  readonly triggers: readonly Trigger[];
  readonly #deps: Deps;
  readonly #steps: readonly LifecycleStep[];
  readonly #termination: ClaimTermination;
  readonly #retries: LaunchRetries;
  readonly #writes = new OwnWrites();

  /** @param launches reports NodeClaims that no pod needs, so that their instances are not requested */
  constructor(deps: Deps, launches?: LaunchDemand) {
    const { clock, cluster, settings } = deps;
    this.#deps = deps;
    const nodeWrites = new OwnWrites();
    cluster.stores.nodes.subscribe((event, { metadata }) => {
      if (event === 'deleted') nodeWrites.forget(metadata.name);
    });
    const launched = new LaunchedInstances(clock);
    this.concurrency = concurrency(settings, RANGE);
    this.rateLimit = globalLimit(settings, RANGE, 10);
    this.#retries = new LaunchRetries(deps, BACK_OFF, this.rateLimit);
    this.#steps = [
      launch(deps, { launched, retries: this.#retries, demand: launches }),
      registration(deps, nodeWrites),
      initialization(deps, nodeWrites),
      liveness(deps),
    ];
    this.#termination = new ClaimTermination(deps, launched, this.#writes);
    this.triggers = [
      { kind: NODE, keysFor: (node) => cluster.claimsOfNode(node as Node).map(({ metadata }) => metadata) },
      claimsOfRules(cluster),
      ...(settings.ignoreDraRequests ? [] : [claimsOfSlices(deps)]),
    ];
  }

  filter(claim: NodeClaim): boolean {
    return this.#deps.cluster.manages(claim.spec.nodeClassRef);
  }

  removed({ name }: Key): void {
    this.#writes.forget(name);
    this.#retries.forget(name);
  }

  async reconcile(claim: NodeClaim, context: ReconcileContext): Promise<Outcome> {
    if (this.#writes.isBehind(claim)) return settled;
    if (claim.metadata.deletionTimestamp) return this.#termination.finalize(claim, context);
    const finalizers = claim.metadata.finalizers ?? [];
    if (finalizers.includes(TERMINATION_FINALIZER)) return this.#run(claim, context);
    const guarded = { ...claim, metadata: { ...claim.metadata, finalizers: [...finalizers, TERMINATION_FINALIZER] } };
    const versions = { before: claim, after: guarded };
    const stored = await writeChanges(this.#deps.client, NODE_CLAIM, versions, { part: 'object', lock: true });
    this.#writes.wrote(stored);
    return stored ? this.#run(stored, context) : settled;
  }

  async #run(claim: NodeClaim, context: ReconcileContext): Promise<Outcome> {
    const results: LifecycleStepResult[] = [];
    let current = initConditions(claim, NODECLAIM_CONDITIONS);
    for (const step of this.#steps) {
      const result = await attempt(step(current, context), current);
      current = result.claim;
      results.push(result);
      if (result.deleted) this.#writes.deleted(claim);
    }
    if (await this.#write(claim, current)) for (const { written } of results) written?.();
    const errors = results.flatMap(({ error }) => (error === undefined ? [] : [error]));
    if (errors.length > 0) throw combineErrors(errors);
    return soonest(results.map(({ outcome }) => outcome));
  }

  /**
   * Writes the object and the status. Both writes use optimistic locking, because other controllers keep conditions in the same
   * list.
   */
  async #write(before: NodeClaim, after: NodeClaim): Promise<boolean> {
    const { client } = this.#deps;
    const object = await writeChanges(client, NODE_CLAIM, { before, after }, { part: 'object', lock: true });
    if (object === undefined) return false;
    const versions = { before: object, after: { ...object, ...defined({ status: after.status }) } };
    const status = await writeChanges(client, NODE_CLAIM, versions, { part: 'status', lock: true });
    this.#writes.wrote(status);
    return status !== undefined;
  }
}

/** Runs a step. If the step throws, the NodeClaim stays unchanged and the remaining steps still run. */
async function attempt(step: Promise<LifecycleStepResult>, claim: NodeClaim): Promise<LifecycleStepResult> {
  try {
    return await step;
  } catch (error) {
    return { claim, outcome: settled, error };
  }
}

/** Combines errors. Write conflicts count only if there is no other error. */
function combineErrors(errors: readonly unknown[]): unknown {
  const defects = errors.filter((error) => !(error instanceof Requeue));
  if (defects.length < 2) return defects[0] ?? errors[0];
  return new AggregateError(defects, defects.map(messageOf).join('; '));
}
