/** Laws of packing in random scenarios: a plan never costs more than first-fit or than with a fee, and violates no rule. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DEFAULT_NODE_HOURLY_FEE } from '#api/values';
import { type SimulationAnswer, simulate } from '#cli/testing';
import { problemsOf, type ScenarioObject, type TypeEntry } from './validity.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';
const CAPACITY_TYPE = 'karpenter.sh/capacity-type';
const FAMILY = 'karpenter.k8s.aws/instance-family';
const ZONES = ['a', 'b', 'c'];
const inSet = (key: string, ...values: string[]) => ({ key, operator: 'In', values });

/** Three families with little to much memory, in six sizes. Prices differ by zone, and spot prices by type. */
const TYPES: readonly TypeEntry[] = [
  { family: 'lean', memory: 2, price: 0.042 },
  { family: 'even', memory: 4, price: 0.05 },
  { family: 'rich', memory: 8, price: 0.063 },
].flatMap(({ family, memory, price }, kind) =>
  [1, 2, 4, 8, 16, 32].map((cpu, size) => ({
    name: `${family}.${cpu}`,
    requirements: [
      inSet('node.kubernetes.io/instance-type', `${family}.${cpu}`),
      inSet(FAMILY, family),
      inSet('kubernetes.io/arch', 'amd64'),
      inSet('kubernetes.io/os', 'linux'),
      inSet(ZONE, ...ZONES),
      inSet(CAPACITY_TYPE, 'spot', 'on-demand'),
    ],
    capacity: { cpu: String(cpu), memory: `${cpu * memory}Gi`, pods: String(8 + 10 * size) },
    overhead: { kubeReserved: { cpu: '100m', memory: '300Mi' } },
    offerings: ZONES.flatMap((zone, place) =>
      ['spot', 'on-demand'].map((capacityType, way) => ({
        requirements: [inSet(ZONE, zone), inSet(CAPACITY_TYPE, capacityType)],
        price: cpu * price * (1 + place * 0.02) * (way === 0 ? 0.3 + ((kind + size + place) % 4) * 0.1 : 1),
        available: (kind + size + place + way) % 7 !== 0,
      })),
    ),
  })),
);

interface Shape {
  readonly cpu: number;
  readonly memory: number;
  readonly replicas: number;
  readonly rule: (typeof RULES)[number];
}

const RULES = [
  'none',
  'none',
  'none',
  'zone',
  'zone spread',
  'host spread',
  'host apart',
  'zone together',
  'port',
  'on-demand',
] as const;

function extrasOf(rule: Shape['rule'], app: string): object {
  const labelSelector = { matchLabels: { app } };
  const term = (topologyKey: string) => ({
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector }],
  });
  const spread = (topologyKey: string, maxSkew: number) => ({
    topologySpreadConstraints: [{ maxSkew, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector }],
  });
  switch (rule) {
    case 'zone':
      return { nodeSelector: { [ZONE]: 'b' } };
    case 'on-demand':
      return { nodeSelector: { [CAPACITY_TYPE]: 'on-demand' } };
    case 'zone spread':
      return spread(ZONE, 1);
    case 'host spread':
      return spread(HOST, 2);
    case 'host apart':
      return { affinity: { podAntiAffinity: term(HOST) } };
    case 'zone together':
      return { affinity: { podAffinity: term(ZONE) } };
    default:
      return {};
  }
}

function deployment({ cpu, memory, replicas, rule }: Shape, index: number): object {
  const app = `app-${index}`;
  const container = {
    name: 'c',
    image: 'x',
    resources: { requests: { cpu: `${cpu}m`, memory: `${memory}Mi` } },
    ...(rule === 'port' ? { ports: [{ containerPort: 80, hostPort: 8080 }] } : {}),
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: app, namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: { app } },
      template: { metadata: { labels: { app } }, spec: { containers: [container], ...extrasOf(rule, app) } },
    },
  };
}

const DAEMONS: object = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'agent', namespace: 'default' },
  spec: {
    selector: { matchLabels: { app: 'agent' } },
    template: {
      metadata: { labels: { app: 'agent' } },
      spec: { containers: [{ name: 'c', image: 'x', resources: { requests: { cpu: '150m', memory: '200Mi' } } }] },
    },
  },
};

interface PoolShape {
  readonly minFamilies?: number | undefined;
  readonly cpuLimit?: number | undefined;
}

const pool = ({ minFamilies, cpuLimit }: PoolShape): object => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default' },
  spec: {
    ...(cpuLimit === undefined ? {} : { limits: { cpu: String(cpuLimit) } }),
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [
          { key: FAMILY, operator: 'Exists', ...(minFamilies === undefined ? {} : { minValues: minFamilies }) },
        ],
      },
    },
  },
});

const scenarios = fc.record({
  pool: fc.record({
    minFamilies: fc.option(fc.constantFrom(2, 3), { nil: undefined }),
    cpuLimit: fc.option(fc.constantFrom(40, 120), { nil: undefined }),
  }),
  daemons: fc.boolean(),
  shapes: fc.array(
    fc.record({
      cpu: fc.constantFrom(100, 250, 500, 1500, 3500),
      memory: fc.constantFrom(128, 1024, 4096, 7168),
      replicas: fc.integer({ min: 1, max: 12 }),
      rule: fc.constantFrom(...RULES),
    }),
    { minLength: 1, maxLength: 6 },
  ),
});

describe('packing', () => {
  let folder: string;
  let files = 0;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'packing-'));
    writeFileSync(join(folder, 'types.json'), JSON.stringify({ instanceTypes: TYPES }));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function run(
    objects: readonly object[],
    packing: 'cheapest' | 'compatible',
    nodeHourlyFee = 0,
    balance = '0%',
  ): Promise<SimulationAnswer> {
    const file = join(folder, `${files++}.yaml`);
    const policy = {
      apiVersion: 'karpenter-ts.sh/v1alpha1',
      kind: 'NodePolicy',
      metadata: { name: 'all' },
      spec: { zones: { balance } },
    };
    writeFileSync(file, [...objects, policy].map((object) => JSON.stringify(object)).join('\n---\n'));
    const options = { filename: [file], instanceTypes: join(folder, 'types.json'), nowMs: 0, packing, nodeHourlyFee };
    return (await simulate(options)).simulation;
  }

  it('never costs more than first-fit or than with a fee, leaves the same pods pending, violates no rule and is deterministic', async () => {
    let cheaper = 0;
    const law = fc.asyncProperty(scenarios, async ({ pool: poolShape, daemons, shapes }) => {
      const objects = [pool(poolShape), ...(daemons ? [DAEMONS] : []), ...shapes.map(deployment)];
      const compatible = await run(objects, 'compatible');
      const cheapest = await run(objects, 'cheapest');
      const withFee = await run(objects, 'cheapest', DEFAULT_NODE_HOURLY_FEE);
      expect(cheapest.totalPrice).toBeLessThanOrEqual(Math.min(compatible.totalPrice, withFee.totalPrice) + 1e-6);
      const balanced = await run(objects, 'cheapest', 0, '3%');
      expect(balanced.totalPrice).toBeLessThanOrEqual(cheapest.totalPrice * 1.03 + 1e-6);
      expect(Object.keys(cheapest.unschedulable)).toEqual(Object.keys(compatible.unschedulable));
      expect(problemsOf(objects as ScenarioObject[], TYPES, cheapest)).toEqual([]);
      expect(brokenPromises(poolShape, cheapest)).toEqual([]);
      expect(await run(objects, 'cheapest')).toEqual(cheapest);
      if (cheapest.totalPrice < compatible.totalPrice * 0.999) cheaper++;
    });
    await fc.assert(law, { numRuns: 25, seed: 7 });
    expect(cheaper).toBeGreaterThan(8); // otherwise no plan was improved and the law would be trivial
  }, 120_000);

  it('costs with a node fee at most half a percent more in total than without one, and launches fewer nodes', async () => {
    let [fewer, more] = [0, 0];
    const fee = 0.15;
    const inAll = ({ totalPrice, nodeClaims }: SimulationAnswer): number => totalPrice + fee * nodeClaims.length;
    const law = fc.asyncProperty(scenarios, async ({ pool: poolShape, daemons, shapes }) => {
      const objects = [pool(poolShape), ...(daemons ? [DAEMONS] : []), ...shapes.map(deployment)];
      const compatible = await run(objects, 'compatible');
      const [without, withFee] = [await run(objects, 'cheapest'), await run(objects, 'cheapest', fee)];
      expect(inAll(withFee)).toBeLessThanOrEqual(inAll(compatible) * 1.005 + 1e-6);
      expect(Object.keys(withFee.unschedulable)).toEqual(Object.keys(compatible.unschedulable));
      expect(problemsOf(objects as ScenarioObject[], TYPES, withFee)).toEqual([]);
      expect(brokenPromises(poolShape, withFee)).toEqual([]);
      const spared = without.nodeClaims.length - withFee.nodeClaims.length;
      if (spared > 0) fewer += spared;
      else more -= spared;
    });
    await fc.assert(law, { numRuns: 25, seed: 11 });
    expect(fewer).toBeGreaterThan(5);
    expect(more).toBeLessThan(fewer / 5);
  }, 120_000);

  it('lists every type that can hold the pods of a NodeClaim', async () => {
    const shapes = [{ cpu: 1500, memory: 4096, replicas: 9, rule: 'none' as const }];
    const { nodeClaims } = await run([pool({}), ...shapes.map(deployment)], 'cheapest');
    for (const { pods, instanceTypes } of nodeClaims) {
      const holding = TYPES.filter(
        ({ capacity }) =>
          Number(capacity.cpu) - 0.1 >= pods.length * 1.5 &&
          Number.parseInt(String(capacity.memory), 10) - 0.3 >= pods.length * 4,
      );
      expect([...instanceTypes].sort()).toEqual(holding.map(({ name }) => name).sort());
    }
  });
});

/** Returns violations of the pool's limits and minValues, which the judge of single NodeClaims does not check. */
function brokenPromises({ minFamilies = 1, cpuLimit }: PoolShape, { nodeClaims }: SimulationAnswer): readonly string[] {
  const cpuOf = (name: string): number => Number(name.split('.')[1]);
  const bought = nodeClaims.reduce((sum, { instanceTypes }) => sum + Math.max(...instanceTypes.map(cpuOf)), 0);
  const tooMuch = cpuLimit !== undefined && bought > cpuLimit ? [`${bought} CPU over a limit of ${cpuLimit}`] : [];
  const tooFew = nodeClaims.filter(
    ({ instanceTypes }) => new Set(instanceTypes.map((name) => name.split('.')[0])).size < minFamilies,
  );
  return [...tooMuch, ...tooFew.map(({ instanceTypes }) => `too little variety: ${instanceTypes}`)];
}
