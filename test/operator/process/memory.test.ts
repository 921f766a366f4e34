/**
 * The operator in a separate process, as in its image: the main job at 100 nodes and many expensive requests with 512 MiB, and
 * thousands of pods with 256 MiB.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isTrue, NODE_POOL } from '#api/objects';
import { machinesAt } from '#cli/testing';
import { steadyClock } from '#lib/clock';
import { allowedPods } from '#process/testing';
import { deployment, type Scenario, startScenario } from '../harness.ts';
import { apart, pool } from '../pools.ts';
import { type Container, startContainer } from './container.ts';

const MIB = 2 ** 20;
const LIMIT_MIB = 512;
const NODES = 100;
const LEFT = 60;
/** Memory that is not on a heap. */
const RESERVE_MIB = 96;
const CLIENTS = 25;
/** Maximum wait in real time. Both processes share the machine with those of other tests. */
const PATIENCE_MS = 400_000;
const LONGEST_MS = 3 * PATIENCE_MS;

type Condition = () => Promise<boolean>;

/** Waits for a condition. Fails as soon as the operator has ended. */
const untilIn = (
  { scenario, operator }: { readonly scenario: Scenario; readonly operator: Container },
  what: string,
  holds: Condition,
): Promise<unknown> =>
  scenario.until(
    what,
    async () => {
      if (operator.hasEnded()) throw new Error(`the operator has ended:\n${operator.tail()}`);
      return holds();
    },
    PATIENCE_MS,
  );

describe(`an operator with ${LIMIT_MIB} MiB`, () => {
  let scenario: Scenario;
  let operator: Container;
  beforeAll(async () => {
    // the operator's process uses the real clock
    scenario = await startScenario({ operator: false, clock: steadyClock(), pollMs: 500, ...machinesAt(20) });
    // whether it keeps its lease would depend on the load of the machine
    operator = await startContainer({ ...scenario.world.env(), DISABLE_LEADER_ELECTION: 'true' }, LIMIT_MIB * MIB);
    const web = deployment('web', 0, apart('web'), { cpu: '500m' });
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2, 4, 8] }), web);
    await until('a ready NodePool', async () => {
      const found = await scenario.kube.find(NODE_POOL, { name: 'default' });
      return found !== undefined && isTrue(found, 'Ready');
    });
  }, LONGEST_MS);
  afterAll(async () => {
    await operator?.stop();
    await scenario.stop();
  });

  const until = (what: string, holds: Condition): Promise<unknown> => untilIn({ scenario, operator }, what, holds);
  const metrics = async (): Promise<string> => (await fetch(`http://127.0.0.1:${operator.metricsPort}/metrics`)).text();

  it(
    `launches ${NODES} nodes, and removes nodes that are no longer needed`,
    async () => {
      await scenario.scale('web', NODES);
      await until(`${NODES} running pods`, async () => (await scenario.running('web')).length === NODES);
      expect(await scenario.nodes()).toHaveLength(NODES);
      await scenario.scale('web', LEFT);
      await until(`${LEFT} nodes`, async () => (await scenario.nodes()).length === LEFT);
      await until('a pass of disruption', async () =>
        /nodejs_thread_heap_used_bytes\{thread="disruption"\} \d/.test(await metrics()),
      );
    },
    LONGEST_MS,
  );

  it('responds to probes while many clients request all instance types', async () => {
    let isOver = false;
    const attack = Array.from({ length: CLIENTS }, async () => {
      const response = await fetch(`http://127.0.0.1:${operator.metricsPort}/debug/instancetypes`);
      expect(response.status).toBe(200);
      return (await response.text()).length;
    });
    let probes = 0;
    const probing = (async () => {
      for (; !isOver; probes += 1) {
        expect((await fetch(`http://127.0.0.1:${operator.healthProbePort}/readyz`)).status).toBe(200);
        expect((await fetch(`http://127.0.0.1:${operator.healthProbePort}/healthz`)).status).toBe(200);
      }
    })();
    const lengths = await Promise.all(attack);
    isOver = true;
    await probing;
    expect(Math.min(...lengths)).toBeGreaterThan(1_000_000);
    expect(probes).toBeGreaterThan(2);
  });

  it('stays below its limit, and the heap limits together leave a reserve', async () => {
    expect(operator.peakBytes()).toBeLessThan(LIMIT_MIB * MIB);
    const text = await metrics();
    expect(text).toContain(`karpenter_memory_limit_bytes ${LIMIT_MIB * MIB}`);
    const limits = [...text.matchAll(/^nodejs_thread_heap_limit_bytes\{thread="(\w+)"\} (\d+)$/gm)];
    expect(limits.map(([, thread]) => thread).sort()).toEqual(['disruption', 'main', 'solver']);
    const heapsMib = limits.reduce((sum, [, , bytes]) => sum + Number(bytes) / MIB, 0);
    expect(heapsMib).toBeLessThanOrEqual(LIMIT_MIB - RESERVE_MIB);
  });
});

const LOW_MIB = 256;
const PODS = 3_000;
const FEWER = 1_500;

describe(`an operator with ${LOW_MIB} MiB and ${PODS} pods`, () => {
  let scenario: Scenario;
  let operator: Container;
  beforeAll(async () => {
    scenario = await startScenario({ operator: false, clock: steadyClock(), pollMs: 500, ...machinesAt(20) });
    operator = await startContainer({ ...scenario.world.env(), DISABLE_LEADER_ELECTION: 'true' }, LOW_MIB * MIB);
    const web = deployment('web', 0, {}, { cpu: '500m' });
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2, 4, 8] }), web);
    await scenario.scale('web', PODS);
  }, LONGEST_MS);
  afterAll(async () => {
    await operator?.stop();
    await scenario.stop();
  });

  const until = (what: string, holds: Condition): Promise<unknown> => untilIn({ scenario, operator }, what, holds);
  const lines = (message: string) => operator.log().filter((line) => line.message === message);
  const threads = async (): Promise<readonly (string | undefined)[]> => {
    const text = await (await fetch(`http://127.0.0.1:${operator.metricsPort}/metrics`)).text();
    const found = text.matchAll(/^nodejs_thread_heap_used_bytes\{thread="(\w+)"\} \d/gm);
    return [...found].map(([, thread]) => thread);
  };

  it(
    'launches all nodes, and runs one worker at a time',
    async () => {
      const seen = new Set<string>();
      const look = async (): Promise<unknown> => seen.add((await threads()).join());
      await until(`${PODS} running pods`, async () => {
        const running = await scenario.running('web');
        if (running.length > 0) await look();
        return running.length === PODS;
      });
      const nodes = (await scenario.nodes()).length;
      await scenario.scale('web', FEWER);
      // A worker can end between two looks.
      await until('a search of disruption and fewer nodes', async () => {
        await look();
        return seen.has('main,disruption') && (await scenario.nodes()).length < nodes;
      });
      expect([...seen]).toContain('main,solver');
      expect([...seen].filter((names) => names.split(',').length > 2)).toEqual([]);
      expect(operator.peakBytes()).toBeLessThan(LOW_MIB * MIB);
      expect(await operator.stop()).toBe(0);
    },
    LONGEST_MS,
  );

  it('logs the size of the cluster that the limit allows, and the limit that the cluster needs', () => {
    const [allowed] = lines('divided the memory limit');
    expect(allowed).toMatchObject({
      'limit-mib': LOW_MIB,
      'allowed-pods': allowedPods(LOW_MIB * MIB),
      'main-heap-mib': 112,
    });
    const [needed] = lines('the memory limit is sufficient for the cluster');
    expect(needed).toMatchObject({ level: 'INFO', 'limit-mib': LOW_MIB, 'needed-mib': LOW_MIB });
  });
});
