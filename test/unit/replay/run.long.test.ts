/** A simulated cluster life, whose results are reproducible. */
import { describe, expect, it } from '@jest/globals';
import type { KubeObject, NodePool } from '#api/objects';
import type { ReplayRun } from '../../../src/replay/result.ts';
import { run } from '../../../src/replay/run.ts';
import type { Trace, TraceEvent } from '../../../src/replay/trace/trace.ts';
import { DEFAULT_WORLD, type WorldModel } from '../../../src/replay/world-model/world-model.ts';
import { NEUTRAL_WORLD, SHORT_LIFE, SHORT_LIFE_OBJECTS } from '../../support/short-life.ts';

interface Change {
  readonly world?: WorldModel;
  readonly trace?: Trace;
  readonly signal?: AbortSignal;
  readonly onProgress?: () => void;
  readonly objects?: readonly KubeObject[];
}

const played = ({
  world = NEUTRAL_WORLD,
  trace = SHORT_LIFE,
  signal,
  onProgress = () => {},
  objects = SHORT_LIFE_OBJECTS,
}: Change = {}) =>
  run({
    ...{ trace, world, signal, onProgress },
    // with the default price, no move pays in such a short life
    set: { name: 'as is', says: ['says'], args: ['--eviction-price=0.01'], objects },
  });

const untimed = ({ took: _took, ...result }: ReplayRun) => result;
const tenMinutes = (events: readonly TraceEvent[]): Trace => ({
  header: { ...SHORT_LIFE.header, seconds: 600 },
  events: () => events,
});

/** Returns the NodePool with nodes that expire after three minutes. */
function expiring(object: KubeObject): KubeObject {
  const { spec, ...pool } = object as NodePool;
  const template = { ...spec.template, spec: { ...spec.template.spec, expireAfter: '3m' } };
  return { ...pool, spec: { ...spec, template } } as KubeObject;
}

describe('run', () => {
  it('replays a trace: nodes are launched and terminated for reasons, pods wait for instances, and instances cost money', async () => {
    const result = await played();
    const { nodes, waiting, cost, log, series, interruptions } = result;
    expect(result).toMatchObject({ name: 'as is', settings: ['says'], playedSeconds: 2400, isComplete: true });
    expect(result.complaints).toEqual([]);
    // All nodes are terminated five minutes after the last pod.
    expect(nodes.bought).toBe(nodes.givenBack);
    expect(Object.values(nodes.byReason).reduce((sum, count) => sum + count, 0)).toBe(nodes.givenBack);
    expect(nodes.byReason).toMatchObject({ Empty: expect.any(Number), Underutilized: expect.any(Number) });
    expect(log.filter(({ what }) => what === 'bought')).toHaveLength(nodes.bought);
    // At least 14 replicas and 8 tasks, and evicted pods wait again.
    expect(waiting.pods).toBeGreaterThanOrEqual(22 + result.evictions);
    expect(waiting).toMatchObject({ stillWaiting: 0 });
    // An instance takes 8 s to start, 20 to 30 s to boot and 5 s to become Ready.
    expect(waiting.longest).toBeGreaterThan(33);
    expect(waiting.longest).toBeLessThan(60);
    expect(Math.abs(cost.instancesUsd / costOf(result) - 1)).toBeLessThan(0.05);
    expect(cost.byCapacityType).toEqual({ 'on-demand': expect.closeTo(cost.instancesUsd + cost.extrasUsd, 9) });
    expect(cost.effectiveUsd).toBeCloseTo(cost.instancesUsd + cost.extrasUsd, 9);
    expect(cost.extrasUsd).toBeGreaterThan(0);
    expect(interruptions).toEqual({ count: 0, survived: 0, capacityErrors: 0 });
    // The sample at 10 minutes contains the burst: 14 x 0.5 + 8 x 1.5 cores beside DaemonSet pods.
    expect(series.stepSeconds).toBe(60);
    expect(series.runningPods[10]).toBe(22);
    expect(series.cpuRequested[10]).toBeGreaterThanOrEqual(19);
    expect(series.nodes.at(-1)).toBe(0);
  });

  it.each([
    ['a neutral world', NEUTRAL_WORLD],
    ['a world with moving prices, shortages and interruptions', { ...DEFAULT_WORLD, seed: 7 }],
  ])('has identical results in %s, including names', async (_, world) => {
    const [one, other] = [await played({ world }), await played({ world })];
    expect(untimed(other)).toEqual(untimed(one));
  });

  it('has different results with another seed', async () => {
    const [one, other] = [await played(), await played({ world: { ...NEUTRAL_WORLD, seed: 2 } })];
    expect(other.log).not.toEqual(one.log);
  });

  it('continues after rejected objects, and reports them', async () => {
    const [first] = SHORT_LIFE.events() as readonly TraceEvent[];
    const nameless = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'missing' };
    const trace = tenMinutes([{ at: 0, scale: nameless, replicas: 3 }, first as TraceEvent]);
    const { complaints, nodes } = await played({ trace });
    expect(complaints).toEqual([
      {
        message: 'the cluster rejected an event of the trace',
        count: 1,
        example: expect.stringContaining('Deployment missing: '),
      },
    ]);
    expect(nodes.bought).toBeGreaterThan(0);
  });

  it('plays events and ends of traces at parts of a millisecond', async () => {
    const [first] = SHORT_LIFE.events() as readonly [TraceEvent];
    const { header, events } = tenMinutes([{ ...first, at: 20.12345678 }]);
    const trace = { header: { ...header, seconds: 600.00055 }, events };
    const { isComplete, playedSeconds, nodes } = await played({ trace });
    expect({ isComplete, playedSeconds }).toEqual({ isComplete: true, playedSeconds: 600.001 });
    expect(nodes.bought).toBeGreaterThan(0);
  });

  it('reports Jobs that evictions end, with their unfinished pods', async () => {
    const job = {
      ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { namespace: 'default', name: 'job' } },
      spec: {
        ...{ parallelism: 3, completions: 3, backoffLimit: 0 },
        template: {
          spec: {
            restartPolicy: 'Never',
            containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '500m' } } }],
          },
        },
      },
    } as unknown as KubeObject;
    const objects = SHORT_LIFE_OBJECTS.map((object) => (object.kind === 'NodePool' ? expiring(object) : object));
    const { failedJobs, redone } = await played({ trace: tenMinutes([{ at: 0, apply: job, runsFor: 900 }]), objects });
    expect(failedJobs).toEqual({ jobs: 1, pods: 3 });
    expect(redone.pods).toBeGreaterThan(0);
  });

  it('counts the surplus CPU credits of burstable nodes, by the utilization of the world', async () => {
    const [, , task] = SHORT_LIFE.events() as readonly TraceEvent[];
    const trace = tenMinutes([{ ...task, at: 0, count: 1 } as TraceEvent]);
    const burstable = SHORT_LIFE_OBJECTS.map(
      (object) =>
        JSON.parse(JSON.stringify(object).replace('["c","m","r"]', '["t"]').replace('"4"', '"1"')) as KubeObject,
    );
    const busy = await played({ trace, objects: burstable });
    const { cost, series, nodes } = busy;
    expect(Object.keys(nodes.hoursByType)).toEqual(['t3a.medium']);
    // 0.7 of the requests are used, the type includes 0.4 vCPU, and a vCPU-hour costs $0.05.
    const usdPerHour = (Math.max(...series.cpuRequested) * 0.7 - 0.4) * 0.05;
    expect(cost.surplusCreditsUsd).toBeCloseTo((usdPerHour * 300) / 3600, 4);
    expect(cost.effectiveUsd).toBeCloseTo(cost.instancesUsd + cost.extrasUsd + cost.surplusCreditsUsd, 9);
    expect(cost.byNodePool.default).toBeCloseTo(cost.effectiveUsd, 9);

    const idle = await played({ trace, objects: burstable, world: { ...NEUTRAL_WORLD, cpuUtilization: 0.1 } });
    expect(idle.cost).toMatchObject({ surplusCreditsUsd: 0, instancesUsd: cost.instancesUsd });
    expect(idle.log).toEqual(busy.log);
  });

  it('returns partial results if it is interrupted', async () => {
    const stop = new AbortController();
    let reports = 0;
    const onProgress = (): void => {
      reports += 1;
      stop.abort();
    };
    const result = await played({ signal: stop.signal, onProgress });
    expect(reports).toBe(2); // the report that interrupted, and the last one
    expect(result.isComplete).toBe(false);
    expect(result.playedSeconds).toBeLessThan(2400);
  });
});

/** Costs according to the log: nodes are paid from launch to end, except for the seconds of starting and stopping. */
function costOf({ log }: ReplayRun): number {
  const sinceSeconds = new Map<string, number>();
  let usd = 0;
  for (const { at, what, name, usdPerHour } of log) {
    if (what === 'bought') sinceSeconds.set(name, at);
    else usd += ((at - (sinceSeconds.get(name) ?? 0)) / 3600) * usdPerHour;
  }
  return usd;
}
