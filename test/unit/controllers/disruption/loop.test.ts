/** Timing, interruptions and messages of the disruption loop. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DISRUPTED_TAINT, DO_NOT_DISRUPT_ANNOTATION, NODE, NODE_CLAIM, NODE_POOL } from '#api/objects';
import { localSimulationRunner, type SimulationRunner } from '#engine-worker';
import { ApiError } from '#kube/client';
import { present } from '../../../support/present.ts';
import { conditionOf, World } from '../harness.ts';
import { CLOSED, type Disruption, largePods, startWithNodes, WIDE } from './disruption-world.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const withNodes = (count: number, disruption: Disruption, small = 0): Promise<void> =>
  startWithNodes(world, { count, disruption, small });

const setDisruption = (disruption: Disruption): unknown =>
  world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { disruption } });
const large = () => largePods(world);
const messages = (): readonly string[] => world.lines.map(({ message }) => message);
const fieldsOf = (wanted: string) =>
  world.lines.filter(({ message }) => message === wanted).map(({ fields }) => fields);
const reconcileErrors = (): readonly string[] =>
  fieldsOf('Reconciler error')
    .filter(({ controller }) => controller === 'disruption')
    .map(({ error }) => String(error));
/** Returns how often the loop has run. */
async function runs(): Promise<number> {
  const counts = (await world.metrics.text()).matchAll(
    /^controller_runtime_reconcile_total\{controller="disruption",.*\} (\d+)/gm,
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Simulations in this thread with some methods replaced. */
const simulationsThat = (changes: Partial<SimulationRunner>): SimulationRunner => ({
  ...localSimulationRunner(),
  ...changes,
});

describe('the disruption loop', () => {
  it('runs every ten seconds while there is nothing to do', async () => {
    await withNodes(1, WIDE);
    const before = await runs();
    await world.pass(60);
    expect((await runs()) - before).toBe(6);
  });

  it('runs every second without disruptions during a launch', async () => {
    await withNodes(1, WIDE);
    world.cloud.create = () => new Promise(() => undefined);
    world.pending(1, '7');
    await world.pass(8);
    world.removePods(...large());
    const before = await runs();
    await world.pass(20);
    expect(world.claims.filter(({ status }) => !status?.providerID)).toHaveLength(1);
    expect((await runs()) - before).toBe(20);
    expect(messages()).not.toContain('disrupting node(s)');
  });

  it.each([
    ['not Ready yet', 'Unknown'],
    ['Ready with its old spec', 'True'],
  ])('waits for a limited time while an edited NodePool is %s', async (_, ready) => {
    await withNodes(1, CLOSED);
    world.removePods(...large());
    await world.pass(30);
    setDisruption(WIDE);
    const { status } = world.kube.get(NODE_POOL, { name: 'default' });
    const unsure = status?.conditions?.map((each) => (each.type === 'Ready' ? { ...each, status: ready } : each));
    world.kube.patch(NODE_POOL, { name: 'default' }, { status: { conditions: unsure } }, 'status');
    world.kube.beforeWrite = (operation) => {
      if (operation === 'patch-status nodepools') throw new Error('not now');
    };
    const before = await runs();
    let seconds = 0;
    for (; seconds < 60 && !messages().includes('disrupting node(s)'); seconds += 1) {
      // Further edits do not extend the wait.
      setDisruption(WIDE);
      await world.pass(1);
    }
    // Ten seconds wait for the NodePool, the time to the next run, and fifteen seconds validation.
    expect((await runs()) - before).toBeGreaterThanOrEqual(10);
    expect(seconds).toBeGreaterThanOrEqual(25);
    expect(seconds).toBeLessThanOrEqual(36);
  });

  it('continues immediately after it has started a command', async () => {
    await withNodes(3, WIDE);
    const metadata = { labels: { 'example.com/generation': '2' } };
    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { template: { metadata } } });
    const started: number[] = [];
    for (let second = 0; second < 120 && started.length < 3; second += 1) {
      await world.pass(1);
      for (let at = started.length; at < fieldsOf('disrupting node(s)').length; at += 1) started.push(second);
    }
    expect(started).toHaveLength(3);
    // A claim without an instance delays the loop by a second or two. Ten seconds would mean that the loop was idle.
    expect(Math.max(...started) - Math.min(...started)).toBeLessThan(9);
  });

  it('reports that it has not run for a long time, at the end of a run and at the start of the next run', async () => {
    world.simulations = simulationsThat({
      decide: async (_, { consolidationType }) => {
        if (consolidationType === 'multi') await world.clock.sleep(16 * 60_000);
        return { commands: [], exhausted: true, events: [] };
      },
    });
    await withNodes(2, WIDE, 1);
    world.removePods(...large());
    await world.pass(20 * 60);
    const gaps = fieldsOf('abnormal time between runs');
    expect(gaps.filter(({ name }) => name === 'disruption-loop').map(({ time_since }) => time_since)).toEqual([
      expect.stringMatching(/^16m/),
      expect.stringMatching(/^16m/),
    ]);
    expect(gaps.map(({ name }) => name)).toContain('emptiness');
  });

  it('reports budgets that cannot be parsed, which block disruption', async () => {
    await withNodes(1, WIDE);
    world.removePods(...large());
    setDisruption({ ...WIDE, budgets: [{ nodes: '100%' }, { nodes: '1', schedule: 'whenever', duration: '1h' }] });
    await world.pass(60);
    expect(fieldsOf('detected disruption budget errors')[0]?.error).toBe(
      'invalid disruption budgets in nodepool default, invalid cron schedule "whenever", expected five fields or a shortcut such as @daily',
    );
    expect(messages()).not.toContain('disrupting node(s)');
    expect(reconcileErrors()).toEqual([]);
    expect(await world.metrics.text()).toMatch(/nodepools_allowed_disruptions\{nodepool="default",reason="Empty"\} 0/);
  });

  it('keeps and reports nodes of a NodePool whose instance types cannot be listed', async () => {
    await withNodes(1, WIDE);
    world.removePods(...large());
    world.cloud.instanceTypes = async () => {
      throw new Error('no answer');
    };
    await world.pass(30);
    expect(fieldsOf('failed listing instance types')[0]).toMatchObject({
      controller: 'disruption',
      NodePool: { name: 'default' },
      error: expect.objectContaining({ message: 'no answer' }),
    });
    expect(messages()).not.toContain('disrupting node(s)');
    expect(world.events.map(({ message }) => message)).toContain('NodePool not found (NodePool=default)');
    expect(reconcileErrors()).toEqual([]);
  });

  it('reports and measures the failed method, and runs no further method', async () => {
    const asked: string[] = [];
    world.simulations = simulationsThat({
      decide: async (_, { name }) => {
        asked.push(name);
        throw new Error('no answer');
      },
    });
    await withNodes(2, WIDE, 1);
    world.removePods(...large());
    await world.pass(30);
    expect(new Set(asked)).toEqual(new Set(['multi-node consolidation']));
    expect(asked.length).toBeGreaterThan(1);
    expect(new Set(reconcileErrors())).toEqual(new Set(['Error: disrupting, no answer']));
    expect(await world.metrics.text()).toMatch(
      /decision_evaluation_duration_seconds_count\{reason="underutilized",consolidation_type="multi"\} [1-9]/,
    );
  });

  it('logs every score of a search, and counts the last score', async () => {
    const scores = [0.2, 0.4];
    world.simulations = simulationsThat({
      decide: async (_input, _method, { pools }) => {
        const nodePool = pools.get('default')?.nodePool;
        if (nodePool === undefined) throw new Error('expected a NodePool');
        const weighed = scores.splice(0).map((score) => ({
          nodePool,
          policy: 'Balanced',
          text: '',
          score,
          approved: false,
          figures: { k: 2 },
        }));
        return { commands: [], exhausted: true, events: [], evaluations: weighed.slice(1), weighed };
      },
    });
    await withNodes(2, WIDE, 1);
    await world.pass(30);
    expect(fieldsOf('consolidation score')).toMatchObject([
      { nodepool: 'default', score: 0.2, approved: false, decision: 'rejected', k: 2 },
      { nodepool: 'default', score: 0.4, approved: false, decision: 'rejected', k: 2 },
    ]);
    expect(await world.metrics.text()).toContain(
      'karpenter_consolidation_moves_total{decision="rejected",nodepool="default",policy="Balanced"} 1',
    );
  });

  it('skips and reports a single node that cannot be evaluated', async () => {
    const local = localSimulationRunner();
    let broken = '';
    world.simulations = simulationsThat({
      simulate: async (input, gone, options) => {
        if (gone.includes(broken)) throw new Error('no answer');
        return local.simulate(input, gone, options);
      },
      // Only single nodes are evaluated.
      decide: async (input, method, methodInput, signal) =>
        method.consolidationType === 'single'
          ? local.decide(input, method, methodInput, signal)
          : { commands: [], exhausted: true, events: [] },
    });
    await withNodes(2, CLOSED, 2);
    world.removePods(...large());
    const [first, second] = world.nodes;
    broken = present(first?.spec?.providerID);
    await world.pass(30);
    setDisruption(WIDE);
    await world.pass(60);
    expect(fieldsOf('failed computing consolidation')[0]).toMatchObject({
      Node: { name: first?.metadata.name },
      error: 'no answer',
    });
    expect(reconcileErrors()).toEqual([]);
    const gone = fieldsOf('disrupting node(s)').flatMap(({ 'disrupted-nodes': nodes }) => nodes);
    // Karpenter logs maps, whose keys are sorted.
    expect(Object.keys(gone[0] as object)).toEqual(['Node', 'NodeClaim', 'capacity-type', 'instance-type']);
    expect(gone).toMatchObject([{ Node: { name: second?.metadata.name } }]);
  });
});

describe('a taint or a condition without a command', () => {
  const REASON = { type: 'DisruptionReason', status: 'True', reason: 'Empty', message: 'Empty' };

  /** State after an operator was killed. */
  async function withMarks(): Promise<void> {
    await withNodes(1, CLOSED);
    world.kill();
    const [node] = world.nodes;
    const [claim] = world.claims;
    world.kube.patch(NODE, node?.metadata ?? { name: '' }, { spec: { taints: [DISRUPTED_TAINT] } });
    const status = { conditions: [...(claim?.status?.conditions ?? []), REASON] };
    world.kube.patch(NODE_CLAIM, claim?.metadata ?? { name: '' }, { status }, 'status');
    world.lines.length = 0;
  }
  const marks = (): readonly (string | undefined)[] => [
    ...world.disruptedNodes().map(({ metadata }) => metadata.name),
    ...world.claims.flatMap((claim) => conditionOf(claim, 'DisruptionReason') ?? []),
  ];

  it.each([
    { operation: 'patch nodes', step: 'removing taint from nodes' },
    { operation: 'patch-status nodeclaims', step: 'removing condition from nodeclaims' },
  ])('is reported if it cannot be removed: $step', async ({ operation, step }) => {
    await withMarks();
    const mendedMs = world.clock.now() + 4_000;
    world.kube.beforeWrite = (at) => {
      if (at !== operation || world.clock.now() >= mendedMs) return;
      throw new ApiError(500, 'InternalError', 'out of order');
    };
    world.start();
    await world.pass(4);
    expect(reconcileErrors()[0]).toBe(`Error: ${step}, out of order`);
    await world.pass(20);
    expect(marks()).toEqual([]);
  });

  it('is removed later without an error if another client wrote first', async () => {
    await withMarks();
    let conflicts = 0;
    world.kube.beforeWrite = (at) => {
      if (at !== 'patch nodes' || conflicts >= 8) return;
      conflicts += 1;
      throw new ApiError(409, 'Conflict', 'the object has been modified');
    };
    world.start();
    await world.pass(20);
    expect(conflicts).toBe(8);
    expect(marks()).toEqual([]);
    expect(world.errors()).toEqual([]);
    expect(fieldsOf('requeued').map(({ error }) => String(error))).toContain(
      'Requeue: removing taint from nodes: write conflict',
    );
  });
});

describe('a counter of disruption', () => {
  it('exists with value 0 from the start', async () => {
    await withNodes(1, WIDE);
    const text = await world.metrics.text();
    for (const type of ['multi', 'single', 'empty', 'swap'])
      expect(text).toContain(`karpenter_voluntary_disruption_failed_validations_total{consolidation_type="${type}"} 0`);
    for (const decision of ['delete', 'replace'])
      for (const reason of ['underutilized', 'empty', 'drifted'])
        expect(text).toContain(
          `karpenter_voluntary_disruption_queue_failures_total{decision="${decision}",reason="${reason}",consolidation_type="${decision}"} 0`,
        );
  });
});

describe('validation of a command', () => {
  it('abandons the command if an empty node must no longer be disrupted', async () => {
    await withNodes(2, WIDE);
    world.removePods(...large());
    await world.pass(12);
    for (const { metadata } of world.nodes)
      world.kube.patch(NODE, metadata, { metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } } });
    await world.pass(30);
    expect(messages()).toContain(
      'abandoning empty node consolidation attempt due to pod churn, command is no longer valid',
    );
    expect(messages()).not.toContain('disrupting node(s)');
    expect(await world.metrics.text()).toMatch(/failed_validations_total\{consolidation_type="empty"\} 2/);
    expect(world.eventReasons()).not.toContain('ConsolidationRejected');
  });

  it('abandons the command and publishes an event if a single node must no longer be consolidated', async () => {
    await withNodes(1, CLOSED, 1);
    world.removePods(...large());
    await world.pass(30);
    setDisruption(WIDE);
    await world.pass(12);
    const [node] = world.nodes;
    const annotations = { [DO_NOT_DISRUPT_ANNOTATION]: 'true' };
    world.kube.patch(NODE, node?.metadata ?? { name: '' }, { metadata: { annotations } });
    await world.pass(30);
    expect(messages()).not.toContain('disrupting node(s)');
    expect(await world.metrics.text()).toMatch(/failed_validations_total\{consolidation_type="single"\} 1/);
    const rejected = world.events.filter(({ reason }) => reason === 'ConsolidationRejected');
    const text = `replace: [${node?.metadata.name}] -> [1 replacement]`;
    expect(rejected.slice(0, 2)).toMatchObject(
      [node, world.claims[0]].map((object) => ({
        object: { kind: object?.kind },
        type: 'Normal',
        message: expect.stringMatching(/^Consolidation rejected: .*, reason: churn \(savings: \$0\.\d\d\)$/),
        dedupe: [object?.metadata.uid, text, 'churn'],
      })),
    );
    expect(rejected[0]?.message).toContain(text);
  });
});

describe('a stopping operator', () => {
  it('starts no command after the wait for its validation', async () => {
    await withNodes(1, WIDE);
    world.removePods(...large());
    await world.pass(14);
    world.kill();
    await world.pass(30);
    expect(messages()).not.toContain('disrupting node(s)');
    expect(world.errors()).toEqual([]);
  });

  it('starts no command of a running method', async () => {
    world.simulations = simulationsThat({
      decide: async (_, method, input) => {
        const result = await method.decide(input);
        if (result.commands.length > 0) world.kill();
        return result;
      },
    });
    await withNodes(1, WIDE);
    const metadata = { labels: { 'example.com/generation': '2' } };
    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { template: { metadata } } });
    await world.pass(30);
    expect(() => world.cluster).toThrow('does not run');
    expect(messages()).not.toContain('disrupting node(s)');
    expect(world.errors()).toEqual([]);
  });
});
