/** AWS faults: launches happen exactly once, instances do not leak, and the operator recovers afterwards. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { getCondition } from '#api/objects';
import type { FaultRule } from '#local/aws';
import { ec2RateLimiter } from '../support/ec2-rate-limits.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, leaks, pool } from './pools.ts';

const PODS = 3;
/** The SDK's own retries take real time. */
const PATIENCE_MS = 60_000;

let scenario: Scenario;
/** All instances that this test launched so far. */
let bought: Set<string>;
let stopCounting: () => void;

beforeAll(async () => {
  scenario = await startScenario({ ...BRISK, timeScale: 20, aws: { rateLimiter: ec2RateLimiter } });
  await scenario.apply(
    ...scenario.example('ec2nodeclass.yaml'),
    pool({ consolidationPolicy: 'WhenEmpty', consolidateAfter: '10s' }),
  );
});
afterAll(() => scenario.stop());
beforeEach(() => {
  bought = new Set();
  stopCounting = scenario.world.aws.instances.subscribe(({ id }) => void bought.add(id));
  scenario.world.aws.calls.clear();
});
afterEach(async () => {
  stopCounting();
  scenario.world.aws.faults.clear();
  await scenario.scale('web', 0);
  await scenario.until('an empty cluster', isEmpty, PATIENCE_MS);
}, 180_000);

const isEmpty = async (): Promise<boolean> =>
  scenario.instances().length === 0 && (await scenario.claims()).length === 0;
const areRunning = async (): Promise<boolean> => (await scenario.running('web')).length === PODS;
const codes = (): ReadonlySet<string | undefined> =>
  new Set(scenario.world.aws.calls.recorded().map(({ errorCode }) => errorCode));
const begin = async (...rules: readonly FaultRule[]): Promise<void> => {
  for (const rule of rules) scenario.world.aws.faults.add(rule);
  await scenario.apply(deployment('web', PODS, apart('web')));
};
const expectOneNodeEach = async (): Promise<void> => {
  await scenario.until('running pods', areRunning, PATIENCE_MS);
  expect(bought.size).toBe(PODS);
  expect(await leaks(scenario)).toEqual([]);
};

describe('AWS with intermittent faults', () => {
  it.each<{ readonly how: string; readonly rules: readonly FaultRule[]; readonly code: string | undefined }>([
    { how: 'late', rules: [{ kind: 'latency', ms: 4_000 }], code: undefined },
    { how: 'with throttles', rules: [{ kind: 'throttle', rate: 0.4 }], code: 'RequestLimitExceeded' },
    {
      how: 'with errors of its own',
      rules: [{ kind: 'error', action: '*', code: 'InternalError', status: 500, rate: 0.4 }],
      code: 'InternalError',
    },
    { how: 'with broken XML', rules: [{ kind: 'malformed', rate: 0.3 }], code: 'cut' },
    {
      how: 'or resets connections',
      rules: [
        { kind: 'reset', lost: 'request', rate: 0.2 },
        { kind: 'reset', rate: 0.2 },
      ],
      code: 'unanswered',
    },
  ])('launches one node per pod and terminates all nodes afterwards: $how', async ({ rules, code }) => {
    await begin(...rules);
    await scenario.until('trouble', () => codes().has(code), PATIENCE_MS);
    await expectOneNodeEach();
    await scenario.scale('web', 0);
    await scenario.until('an empty cluster', isEmpty, PATIENCE_MS);
    expect(bought.size).toBe(PODS);
  }, 300_000);
});

describe('AWS that does not respond', () => {
  const launchFailure = async () =>
    (await scenario.claims())
      .map((claim) => getCondition(claim, 'Launched'))
      .find((condition) => condition?.status === 'Unknown' && condition.reason === 'LaunchFailed');
  const errorsWith = (text: string) =>
    scenario.log.filter((line) => line.level === 'ERROR' && JSON.stringify(line).includes(text));

  it('is retried with the same client token, so each launch happens once', async () => {
    await begin({ kind: 'reset', action: 'CreateFleet' });
    const condition = await scenario.until('a failed launch', launchFailure, PATIENCE_MS);
    expect(condition.message).toBe('Error creating fleet request: Instance launch failed');
    await scenario.until('all purchases', () => bought.size === PODS, PATIENCE_MS);
    scenario.world.aws.faults.clear();
    await expectOneNodeEach();
  }, 300_000);

  it('is logged if credentials expired, and is retried with new credentials', async () => {
    await begin({ kind: 'expired-credentials' });
    await scenario.until('the reason in the log', () => errorsWith('RequestExpired').length > 0, PATIENCE_MS);
    expect(bought.size).toBe(0);
    scenario.world.aws.faults.clear();
    await expectOneNodeEach();

    scenario.world.aws.faults.add({ kind: 'expired-credentials' });
    scenario.world.aws.calls.clear();
    await scenario.scale('web', 0);
    const refused = () =>
      scenario.world.aws.calls.recorded('DescribeInstances').some(({ errorCode }) => errorCode === 'RequestExpired');
    await scenario.until('a refused termination', refused, PATIENCE_MS);
    expect(scenario.instances()).toHaveLength(PODS);
    scenario.world.aws.faults.clear();
    await scenario.until('an empty cluster', isEmpty, PATIENCE_MS);
  }, 300_000);
});

describe('AWS with eventual consistency', () => {
  it('launches one node per pod if instances and their tags become visible late', async () => {
    await begin({ kind: 'invisible', ms: 20_000 }, { kind: 'late-tags', ms: 20_000 });
    await expectOneNodeEach();
    await scenario.pass(45_000, 20);
    expect(await leaks(scenario)).toEqual([]);
  }, 300_000);

  it('terminates an instance that is not visible yet if its NodeClaim is deleted', async () => {
    await begin({ kind: 'invisible', ms: 20_000 });
    await scenario.until('a purchase', () => bought.size === PODS, PATIENCE_MS);
    await scenario.scale('web', 0);
    for (const { metadata } of await scenario.claims())
      await scenario.kube.raw('DELETE', `/apis/karpenter.sh/v1/nodeclaims/${metadata.name}`);
    await scenario.until('an empty cluster', isEmpty, PATIENCE_MS);
    expect(bought.size).toBe(PODS);
  }, 300_000);
});
