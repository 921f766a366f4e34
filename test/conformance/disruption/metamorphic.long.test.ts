/** Changes that must not affect a decision, and changes that may affect it in only one direction. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KubeObject, Node, NodePool, Pod } from '#api/objects';
import { decidingSavings } from '../outcomes.ts';
import { Draw } from './draw.ts';
import { Facts } from './facts.ts';
import { KINDS } from './kinds.ts';
import { type Decision, decide } from './play.ts';
import { type Scenario, scenarioOf } from './scenario.ts';

/** One scenario of each kind. */
const SCENARIOS = Object.keys(KINDS).map((_, at) => scenarioOf(50_000 + at));

const savings = ({ methods }: Decision, name: string): number =>
  (methods.find(({ method }) => method === name)?.commands ?? []).reduce((sum, each) => sum + decidingSavings(each), 0);

/** Returns the content of a decision, independent of order. */
const gist = ({ first, methods }: Decision) => ({
  first,
  candidates: methods.map(({ method, candidates, budgets }) => [method, [...candidates].sort(), budgets]),
  commands: methods.map(({ method, commands }) => [
    method,
    commands.map(({ decision, candidates, savings: saved }) => [decision, [...candidates].sort().join(), saved]).sort(),
  ]),
});

const withObjects = (scenario: Scenario, change: (object: KubeObject) => KubeObject): Scenario => ({
  ...scenario,
  objects: scenario.objects.map(change),
});

const withMore = (scenario: Scenario, ...more: readonly KubeObject[]): Scenario => ({
  ...scenario,
  objects: [...scenario.objects, ...more],
});

/** Full unmanaged node that no pod can use. */
const strangeNode: Node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'stranger', labels: { 'kubernetes.io/hostname': 'stranger' } },
  spec: { providerID: 'other:///stranger', taints: [{ key: 'keep', value: 'out', effect: 'NoSchedule' }] },
  status: { allocatable: { cpu: '0', memory: '0', pods: '0' }, conditions: [{ type: 'Ready', status: 'True' }] },
};

const budgetOfNobody = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'of-nobody', namespace: 'default' },
  spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'nobody' } } },
  status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
};

const isPool = (object: KubeObject): object is NodePool => object.kind === 'NodePool';
const isRunning = (object: KubeObject): object is Pod =>
  object.kind === 'Pod' && Boolean((object as Pod).spec.nodeName);

const withBudget =
  (nodes: string) =>
  (object: KubeObject): KubeObject => {
    if (!isPool(object)) return object;
    const pool: NodePool = object;
    return {
      ...pool,
      spec: { ...pool.spec, disruption: { ...pool.spec.disruption, budgets: [{ nodes }] } },
    } as NodePool;
  };

describe('a decision', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'laws-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const decided = (scenario: Scenario): Promise<Decision> => decide(scenario, { consolidation: 'compatible' }, folder);

  const known = new Map<Scenario, Decision>();
  async function unchanged(scenario: Scenario): Promise<Decision> {
    const decision = known.get(scenario) ?? (await decided(scenario));
    known.set(scenario, decision);
    return decision;
  }

  it.each([
    ['a node of nobody is there', (scenario: Scenario) => withMore(scenario, strangeNode)],
    ['a PodDisruptionBudget selects nobody', (scenario: Scenario) => withMore(scenario, budgetOfNobody)],
    ['a NodePool buys nothing', (scenario: Scenario) => withMore(scenario, uselessPool(scenario))],
  ])(
    'stays the same if %s',
    async (_, change) => {
      for (const scenario of SCENARIOS) {
        const [before, after] = [await unchanged(scenario), await decided(change(scenario))];
        const own = new Set(Object.keys(before.methods[0]?.budgets ?? {}));
        const methods = after.methods.map((method) => ({
          ...method,
          budgets: Object.fromEntries(Object.entries(method.budgets).filter(([name]) => own.has(name))),
        }));
        expect([scenario.name, gist({ ...after, methods })]).toEqual([scenario.name, gist(before)]);
      }
    },
    60_000,
  );

  it('does not depend on the order of the objects', async () => {
    for (const scenario of SCENARIOS) {
      const shuffled = { ...scenario, objects: new Draw(7).shuffled(scenario.objects) };
      const [before, after] = [await unchanged(scenario), await decided(shuffled)];
      expect([scenario.name, gist(after)]).toEqual([scenario.name, gist(before)]);
    }
  }, 120_000);

  it('keeps a node if one of its pods must not be disrupted', async () => {
    for (const scenario of SCENARIOS) {
      const [pod] = scenario.objects
        .filter(isRunning)
        .filter(({ status, metadata }) => status?.phase === 'Running' && !metadata.deletionTimestamp);
      if (pod === undefined) continue;
      const { nodeName = '' } = pod.spec;
      const annotations = { ...pod.metadata.annotations, 'karpenter.sh/do-not-disrupt': 'true' };
      const kept = withObjects(scenario, (object) =>
        object === pod ? { ...pod, metadata: { ...pod.metadata, annotations } } : object,
      );
      const before = await unchanged(scenario);
      const { methods } = await decided(kept);
      const isForced = new Facts(scenario).machine(nodeName).claim?.spec.terminationGracePeriod !== undefined;
      for (const [at, { method, candidates }] of methods.entries()) {
        const others = (before.methods[at]?.candidates ?? []).filter((name) => name !== nodeName);
        const isDrift = method.endsWith('drift');
        expect([scenario.name, method, candidates]).toEqual([
          scenario.name,
          method,
          isDrift && isForced ? before.methods[at]?.candidates : others,
        ]);
      }
    }
  }, 120_000);

  it('saves at least as much by emptiness without budgets', async () => {
    for (const scenario of SCENARIOS) {
      const [before, after] = [await unchanged(scenario), await decided(withObjects(scenario, withBudget('100%')))];
      expect(savings(after, 'emptiness')).toBeGreaterThanOrEqual(savings(before, 'emptiness'));
      expect(after.methods.map(({ candidates }) => candidates)).toEqual(
        before.methods.map(({ candidates }) => candidates),
      );
    }
  }, 120_000);

  it("saves the instances' price and the fee of each removed node if nodes have a fee", async () => {
    const nodeHourlyFee = 0.5;
    let spared = 0;
    for (const scenario of SCENARIOS) {
      const facts = new Facts(scenario);
      const { methods } = await decide(scenario, { consolidation: 'thorough', nodeHourlyFee }, folder);
      for (const command of methods.flatMap(({ commands }) => commands)) {
        const { candidates, replacements } = command;
        const saved = decidingSavings(command);
        const prices = candidates.map((name) => facts.machine(name).price);
        if (prices.includes(0)) continue; // an unknown price yields no savings
        const after = replacements.reduce((sum, { cheapestPrice }) => sum + cheapestPrice, 0);
        const fewer = candidates.length - replacements.length;
        const instances = prices.reduce((sum, price) => sum + price, 0) - after;
        // the volumes of the NodeClass add a fraction of a cent for each node
        const volumes = Math.abs(saved - instances - fewer * nodeHourlyFee);
        expect(volumes).toBeLessThanOrEqual(0.005 * Math.abs(fewer) + 1e-5);
        spared += fewer;
      }
    }
    expect(spared).toBeGreaterThan(5);
  }, 120_000);

  it('disrupts no node if every budget is zero', async () => {
    for (const scenario of SCENARIOS) {
      const { methods } = await decided(withObjects(scenario, withBudget('0')));
      expect(methods.flatMap(({ commands }) => commands)).toEqual([]);
    }
  }, 120_000);
});

/** Returns a NodePool whose instance types do not exist. */
function uselessPool({ objects }: Scenario): NodePool {
  const pool = objects.find(isPool);
  if (pool === undefined) throw new Error('A scenario has no NodePool');
  const { template } = pool.spec;
  const requirements = [{ key: 'karpenter.k8s.aws/instance-family', operator: 'In' as const, values: ['z9'] }];
  const spec = { template: { ...template, spec: { ...template.spec, requirements } } };
  return { ...pool, metadata: { name: 'useless' }, spec };
}
