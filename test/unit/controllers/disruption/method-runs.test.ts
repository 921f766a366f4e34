/** Validation of commands against a later state, and events for nodes that are not disrupted. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { DO_NOT_DISRUPT_ANNOTATION, NODE, NODE_CLAIM, NODE_POOL, POD, type Pod } from '#api/objects';
import { parseAwsSettings } from '#aws/settings';
import { type Command, type Method, type MethodInput, VerdictHistory } from '#engine/disruption';
import { drift, emptiness, multiNode } from '#engine/testing';
import type { SimulationRunner } from '#engine-worker';
import type { EventNote } from '#kube/reconcilers';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { ClusterState } from '#state';
import type { Deps } from '../../../../src/controllers/deps.ts';
import { DisruptionLoop } from '../../../../src/controllers/disruption/loop.ts';
import { DisruptionQueue } from '../../../../src/controllers/disruption/queue.ts';
import { Snapshots } from '../../../../src/controllers/disruption/snapshots.ts';
import { partial } from '../../../support/partial.ts';
import { storesWith } from '../../../support/stores.ts';
import { at, claim, instanceType, NOW, pod, pool, stateNode } from '../../engine/disruption/objects.ts';
import { type VirtualClock, virtualClock } from '../../virtualclock.ts';

let clock: VirtualClock;
let events: EventNote[];
beforeEach(() => {
  clock = virtualClock(NOW);
  events = [];
});

/** A cluster with one node that may be disrupted and one that is protected. */
function depsOf(pods: readonly Pod[] = []): Deps {
  const nodes = [stateNode('free'), stateNode('kept', { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } })];
  const claims = nodes.map(({ name, labels, nodeClaim }) => ({
    ...claim(name, { status: { ...nodeClaim?.status } }),
    metadata: { ...nodeClaim?.metadata, name, labels },
  }));
  const informers = storesWith({
    [NODE.plural]: nodes.flatMap(({ node }) => node ?? []),
    [NODE_CLAIM.plural]: claims,
    [NODE_POOL.plural]: [pool()],
    [POD.plural]: pods,
  });
  const types = [instanceType('m.large', 2, 0.1)];
  return {
    informers,
    cluster: new ClusterState({ informers, clock, manages: () => true }),
    cloud: { instanceTypes: async () => types },
    events: { publish: (...notes: readonly EventNote[]) => events.push(...notes) },
    clock,
    log: silent,
    metrics: createMetrics(),
    settings: parseAwsSettings(['--cluster-name=test'], {}),
  } as unknown as Deps;
}

const NO_SIMULATION: SimulationRunner = {
  simulate: async () => undefined,
  emptiable: async () => [],
  decide: async () => ({ commands: [], exhausted: true, events: [] }),
};

function loopOn(deps: Deps): DisruptionLoop {
  const queue = new DisruptionQueue(deps);
  return new DisruptionLoop(deps, {
    ...{ queue, methods: [], simulations: NO_SIMULATION, snapshots: new Snapshots(deps, queue) },
    history: new VerdictHistory(),
    launches: { room: () => Number.POSITIVE_INFINITY },
  });
}

describe('preparation of methods', () => {
  const preparerOf = (deps: Deps): ((method: Method) => Promise<unknown>) => {
    const loop = loopOn(deps);
    return (method) => loop.prepare(method, silent);
  };
  const blocked = (): readonly string[] =>
    events
      .filter(({ reason }) => reason === 'DisruptionBlocked')
      .map(({ object, message }) => `${object.kind}/${object.metadata.name}: ${message}`);
  const because = 'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation';
  const KEPT = [`Node/kept: ${because}`, `NodeClaim/kept: ${because}`];

  it('reports the reason of a blocked node once per time and class of methods', async () => {
    const prepare = preparerOf(depsOf());
    await prepare(emptiness);
    expect(blocked()).toEqual(KEPT);
    await prepare(multiNode);
    expect(blocked()).toEqual(KEPT);
    await prepare(drift);
    expect(blocked()).toEqual([...KEPT, ...KEPT]);
  });

  it('reports the reason again when two minutes have passed or the cluster has changed', async () => {
    const deps = depsOf();
    const prepare = preparerOf(deps);
    await prepare(emptiness);
    await clock.advance(2 * 60_000 - 1000);
    await prepare(multiNode);
    expect(blocked()).toEqual(KEPT);
    await clock.advance(1000);
    await prepare(multiNode);
    expect(blocked()).toEqual([...KEPT, ...KEPT]);
    deps.cluster.changed();
    await prepare(multiNode);
    expect(blocked()).toEqual([...KEPT, ...KEPT, ...KEPT]);
  });

  it('knows the failures of Jobs with running pods', async () => {
    const ownerReferences = [{ apiVersion: 'batch/v1', kind: 'Job', name: 'import', uid: 'uid', controller: true }];
    const [one, failed] = [
      pod('one', { metadata: { ownerReferences } }),
      pod('two', { metadata: { ownerReferences } }),
    ];
    const spec = { ...one.spec, nodeName: 'free' };
    const running: Pod = { ...one, spec, status: { phase: 'Running', startTime: at(NOW - 60_000) } };
    const loop = loopOn(depsOf([running, { ...failed, status: { phase: 'Failed' } }]));
    const { input } = await loop.prepare(multiNode, silent);
    expect(input.forecasts?.get('default')?.jobs.get('uid')?.failures).toBe(1);
  });
});

describe('validation of commands', () => {
  it('uses one state of the cluster for all commands and validates each separately', async () => {
    const deps = depsOf();
    const decidedMs: number[] = [];
    const validated: { readonly ms: number; readonly command: Command; readonly later: MethodInput }[] = [];
    const method: Method = {
      ...emptiness,
      decide: async ({ candidates }) => {
        decidedMs.push(clock.now() - NOW);
        const command: Command = { reason: 'Empty' as const, candidates, replacements: [] };
        return { commands: [command, { ...command }], exhausted: false, events: [] };
      },
      validate: async (command, later) => {
        validated.push({ ms: clock.now() - NOW, command, later });
        return { failure: { category: 'churn', text: 'changed', failed: 1 }, dropped: 0 };
      },
    };
    const evaluated = loopOn(deps).run(method, { log: silent, signal: new AbortController().signal });
    await clock.advance(emptiness.validateAfterMs ?? 0);
    // At least one command was abandoned.
    expect(await evaluated).toEqual({ commands: [], isOver: false });
    expect(decidedMs).toEqual([0]);
    expect(validated).toHaveLength(2);
    expect(new Set(validated.map(({ command }) => command)).size).toBe(2);
    expect(new Set(validated.map(({ later }) => later)).size).toBe(1);
    for (const { ms, later } of validated) expect([ms, later.nowMs - NOW]).toEqual([emptiness.validateAfterMs, ms]);
    expect(await deps.metrics.text()).toContain(
      'karpenter_voluntary_disruption_failed_validations_total{consolidation_type="empty"} 2',
    );
  });
});

describe('the queue of commands', () => {
  it('contains the nodes of its commands', async () => {
    const queue = new DisruptionQueue(depsOf());
    const none = queue.providerIds;
    expect([...none]).toEqual([]);
    expect(queue.providerIds).toBe(none);
    const nodePool = { metadata: { name: 'default' } };
    const candidates = [{ providerId: 'aws:///free', nodeClaim: claim('free'), nodePool, stateNode: {} }];
    const command = { reason: 'Empty' as const, candidates, replacements: [] };
    const order = { id: '1', command, method: emptiness, startedMs: NOW, fields: {} };
    queue.enqueue(partial({ ...order, replacements: ['gone'] }));
    expect([...queue.providerIds]).toEqual(['aws:///free']);
    // The replacement does not exist, so the command is rolled back.
    await queue.worker.reconcile('1', { log: silent, signal: new AbortController().signal });
    expect([...queue.providerIds]).toEqual([]);
  });
});
