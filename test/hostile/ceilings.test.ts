/** The operator is killed again and again around the creation of NodeClaims: no ceiling is exceeded. */
import { afterEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#api/objects';
import { at, creates, launches } from '../operator/crash-points.ts';
import { type CrashPoint, crashableOperator, untilDead } from '../operator/crashable-operator.ts';
import { deployment, type Scenario, startScenario } from '../operator/harness.ts';
import { BRISK, pool } from '../operator/pools.ts';

const MOST_NODES = 3;
const USD_PER_HOUR = 0.4;

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const CEILINGS = {
  CapacityQuota: {
    apiVersion: 'autoscaling.x-k8s.io/v1beta1',
    kind: 'CapacityQuota',
    metadata: { name: 'few' },
    spec: { limits: { resources: { nodes: MOST_NODES } } },
  },
  NodePolicy: {
    apiVersion: 'karpenter-ts.sh/v1alpha1',
    kind: 'NodePolicy',
    metadata: { name: 'cost' },
    spec: { ceilings: { usdPerHour: USD_PER_HOUR } },
  },
} as const;

/** Every node of the NodePools costs between these prices in USD per hour. */
const LEAST_USD = 0.07;

describe('a ceiling', () => {
  it.each([
    'CapacityQuota',
    'NodePolicy',
  ] as const)('of a %s holds while the operator is killed before and after creations and launches', async (kind) => {
    scenario = await startScenario({
      ...BRISK,
      operator: false,
      env: { ...BRISK.env, FEATURE_GATES: 'CapacityQuota=true' },
    });
    const operator = await crashableOperator(scenario);
    const pools = ['first', 'second'].map((name) => pool({ name, cpus: [2], labels: { pool: name } }));
    const ceiling: KubeObject = CEILINGS[kind];
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), ...pools, ceiling);
    const of = (name: string) => deployment(name, 6, { nodeSelector: { pool: name } }, { cpu: '1500m' });
    await scenario.apply(of('first'), of('second'));
    const most = kind === 'CapacityQuota' ? MOST_NODES : Math.floor(USD_PER_HOUR / LEAST_USD);
    const traps: readonly CrashPoint[] = [at('before', creates), at('after', creates), at('after', launches)];
    for (const trap of traps) {
      await operator.start(trap);
      await untilDead(scenario, operator);
      expect((await scenario.claims()).length).toBeLessThanOrEqual(most);
    }
    await operator.start();
    await scenario.until('refused pods', async () =>
      (await scenario.events('FailedScheduling')).some(({ message = '' }) =>
        message.includes(`${kind} "${ceiling.metadata.name}"`),
      ),
    );
    await scenario.pass(60_000);
    expect(scenario.instances().length).toBeGreaterThan(0);
    expect(scenario.instances().length).toBeLessThanOrEqual(most);
    expect(await scenario.claims()).toHaveLength(scenario.instances().length);
    await operator.close();
  }, 300_000);
});
