/** The operator loses its connection, its process or its lease, without any loss in the cluster. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import { LEASE } from '#api/objects';
import { failRequests } from '../support/api-server-faults.ts';
import { bundled } from '../support/operator/bundle.ts';
import { crashableOperator } from './crashable-operator.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const setUp = async (options: Parameters<typeof startScenario>[0] = {}): Promise<void> => {
  scenario = await startScenario(options);
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), ...scenario.example('nodepool.yaml'));
};

/** Expects one instance per NodeClaim and one NodeClaim per instance. */
const expectNothingLeaked = async (): Promise<void> => {
  const ids = (await scenario.claims()).map((claim) => claim.status?.providerID?.split('/').at(-1)).sort();
  expect(
    scenario
      .instances()
      .map((instance) => instance.id)
      .sort(),
  ).toEqual(ids);
};

describe('the connection to the API server', () => {
  it('can drop together with its watch history during provisioning', async () => {
    await setUp();
    const { server } = scenario.world.kube;
    await scenario.apply(deployment('web', 12));
    // Repeats this while NodeClaims are created, launched and registered.
    for (let round = 0; round < 6; round += 1) {
      server.expireHistory();
      server.dropWatches();
      await scenario.pass(2_000);
    }
    await scenario.until('12 running pods', async () => (await scenario.running('web')).length === 12);
    await expectNothingLeaked();
    const uids = (await scenario.pods('web')).map((pod) => pod.metadata.uid);
    expect(new Set(uids).size).toBe(12);
  }, 300_000);

  it('can be refused for some time', async () => {
    await setUp();
    failRequests(scenario.world.kube.server, {
      match: /nodeclaims/,
      status: 503,
      reason: 'ServiceUnavailable',
      times: 8,
    });
    failRequests(scenario.world.kube.server, {
      match: /nodeclaims/,
      status: 429,
      reason: 'TooManyRequests',
      times: 4,
      retryAfterSeconds: 1,
    });
    await scenario.apply(deployment('web', 4));
    await scenario.until('4 running pods', async () => (await scenario.running('web')).length === 4);
    await expectNothingLeaked();
  }, 300_000);
});

describe('a lost response of the API server', () => {
  it('causes no second NodeClaim for the same pods', async () => {
    await setUp({ operator: false });
    const operator = await crashableOperator(scenario);
    try {
      await operator.start();
      const lost: string[] = [];
      operator.cutOff(({ method, url, body }, moment) => {
        const isCreation = moment === 'after' && method === 'POST' && /\/nodeclaims(\?|$)/.test(url);
        if (isCreation) lost.push(body);
        return isCreation;
      }, 15_000);
      await scenario.apply(deployment('web', 3, apart('web')));
      await scenario.until('3 running pods', async () => (await scenario.running('web')).length === 3, 60_000);
      expect(lost).toHaveLength(1);
      expect(await scenario.claims()).toHaveLength(3);
      await expectNothingLeaked();
      expect(scenario.world.aws.instances.list()).toHaveLength(3);
    } finally {
      await operator.close();
    }
  }, 300_000);
});

describe('an operator that is killed', () => {
  it('neither leaks nor duplicates an instance between CreateFleet and the status write', async () => {
    // The first operator is a separate process that can be killed. It runs in real time, and so does its world.
    await setUp({
      operator: false,
      leaderElection: true,
      timeScale: 1,
      kubelets: { bootMs: 500, readyMs: 200, podStartMs: [100, 200] },
    });
    const { world } = scenario;
    const first = spawn(process.execPath, [bundled('main')], {
      env: {
        PATH: process.env.PATH,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        ...world.env(),
        METRICS_PORT: '0',
        HEALTH_PROBE_PORT: '0',
        LOG_OUTPUT_PATHS: 'stderr',
        BATCH_IDLE_DURATION: '200ms',
      },
      stdio: 'ignore',
    });
    const ended = once(first, 'exit');
    // The process is killed after EC2 has launched the instance, but before the response arrives.
    const bought = new Promise<string>((resolve) => {
      world.aws.instances.subscribe((instance, previous) => {
        if (previous !== undefined) return;
        first.kill('SIGKILL');
        resolve(instance.id);
      });
    });
    await scenario.apply(deployment('web', 1));
    const id = await bought;
    await ended;
    const claim = (await scenario.claims())[0];
    expect(claim?.status?.providerID).toBeUndefined();

    await scenario.startOperator({ env: { BATCH_IDLE_DURATION: '200ms' } });
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1, 50_000);
    // the instance can join before the operator has found it again
    await scenario.until('the instance of the claim', async () =>
      (await scenario.claims()).every(({ status }) => status?.providerID !== undefined),
    );
    await expectNothingLeaked();
    expect(scenario.instances()).toHaveLength(1);
    // The launched instance is used.
    expect(scenario.instances()[0]?.id).toBe(id);
  }, 300_000);
});

describe('a pair of operators', () => {
  it('takes turns: one leads, and the other takes over after its exit', async () => {
    await setUp({ operator: false, leaderElection: true, timeScale: 4 });
    const one = await scenario.startOperator({ env: { FEATURE_GATES: 'SpotToSpot=true' } });
    expect(scenario.log).toContainEqual(
      expect.objectContaining({
        level: 'ERROR',
        message: 'ignoring a setting',
        error: 'FEATURE_GATES: unknown feature gate "SpotToSpot" is ignored; did you mean SpotToSpotConsolidation?',
      }),
    );
    const lease = async () =>
      scenario.kube.find(LEASE, {
        name: 'karpenter-leader-election',
        namespace: scenario.world.env().SYSTEM_NAMESPACE ?? '',
      });
    const holder = await scenario.until('a leader', async () => (await lease())?.spec?.holderIdentity);
    await scenario.startOperator();
    await scenario.apply(deployment('web', 2));
    await scenario.until('2 running pods', async () => (await scenario.running('web')).length === 2);
    expect((await lease())?.spec?.holderIdentity).toBe(holder);

    await one.stop();
    await scenario.until('another leader', async () => {
      const now = (await lease())?.spec?.holderIdentity;
      return now !== undefined && now !== '' && now !== holder;
    });
    await scenario.scale('web', 9);
    await scenario.until('9 running pods', async () => (await scenario.running('web')).length === 9);
    await expectNothingLeaked();
  }, 300_000);

  it('takes over from a leader that was disconnected without releasing the lease', async () => {
    await setUp({ operator: false, leaderElection: true, timeScale: 4 });
    // A lease that is never renewed, as after the kill of a process.
    const namespace = scenario.world.env().SYSTEM_NAMESPACE ?? '';
    const now = new Date(scenario.world.clock.now()).toISOString().replace('Z', '000Z');
    await scenario.kube.create(LEASE, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'karpenter-leader-election', namespace },
      spec: {
        holderIdentity: 'gone_1',
        leaseDurationSeconds: 15,
        acquireTime: now,
        renewTime: now,
        leaseTransitions: 0,
      },
    });
    const started = scenario.world.clock.now();
    await scenario.startOperator();
    await scenario.apply(deployment('web', 1));
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    expect(scenario.world.clock.now() - started).toBeGreaterThan(15_000);
  }, 300_000);
});
