/** The leader is killed in each state of a repair, a reboot, a pause and a window, and its successor continues correctly. */
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  CONFIG_MAP,
  getCondition,
  isFalse,
  type NodeClaim,
  type NodePolicy,
  PAUSE_NAME,
  pauseData,
  type RepairSection,
} from '#api/objects';
import { at, deletes, taints } from '../operator/crash-points.ts';
import {
  type CrashableOperator,
  type CrashPoint,
  crashableOperator,
  marks,
  untilDead,
} from '../operator/crashable-operator.ts';
import type { SeenRequest } from '../operator/cuttable-proxy.ts';
import { deployment, type Scenario, startScenario } from '../operator/harness.ts';
import { apart, BRISK, leaks, type PoolShape, pool } from '../operator/pools.ts';

const MINUTE = 60_000;
const PATIENCE = 240_000;

let scenario: Scenario;
let operator: CrashableOperator;
afterEach(async () => {
  await operator.close();
  await scenario.stop();
});

const policy = (spec: NodePolicy['spec']): Promise<void> =>
  scenario.apply({
    apiVersion: 'karpenter-ts.sh/v1alpha1',
    kind: 'NodePolicy',
    metadata: { name: 'all' },
    spec,
  } as NodePolicy);

const allRunning = (count: number): Promise<true> =>
  scenario.until('running pods', async () => (await scenario.running('web')).length === count, PATIENCE);

/** Starts two nodes with one pod each. Returns the instances. */
async function begin(shape: PoolShape = {}): Promise<readonly string[]> {
  scenario = await startScenario({ ...BRISK, operator: false, argv: ['--feature-gates=NodeRepair=true'] });
  operator = await crashableOperator(scenario);
  await scenario.apply(
    ...scenario.example('ec2nodeclass.yaml'),
    pool({ cpus: [2], ...shape }),
    deployment('web', 2, apart('web')),
  );
  await operator.start();
  await allRunning(2);
  return scenario.instances().map(({ id }) => id);
}

async function succeed(trap: CrashPoint, begins: () => Promise<unknown>): Promise<void> {
  operator.arm(trap);
  await begins();
  await scenario.until('the death of the leader', hasDied(), PATIENCE);
  await operator.start();
}

function hasDied(): () => boolean {
  let isDead = false;
  void operator.died.then(() => {
    isDead = true;
  });
  return () => isDead;
}

const ailing = (action: 'Reboot' | 'Replace'): { readonly repair: RepairSection } => ({
  repair: { conditions: [{ type: 'Ready', status: 'Unknown', toleration: '2m', action }] },
});
const patchesClaim =
  (text: string) =>
  ({ method, url, body }: SeenRequest): boolean =>
    method === 'PATCH' && url.includes('/nodeclaims/') && body.includes(text);
const reboots = ({ body }: SeenRequest): boolean => body.includes('Action=RebootInstances');

const rebooted = async (): Promise<NodeClaim | undefined> =>
  (await scenario.claims()).find((claim) => isFalse(claim, 'Rebooting'));

describe('the successor of a leader that is killed', () => {
  it.each<[string, CrashPoint, number]>([
    ['after it noted the boot of the node', at('after', patchesClaim('reboot-boot-id')), 1],
    ['after it recorded the intention of a reboot', at('after', patchesClaim('RebootRequested')), 1],
    ['after EC2 accepted a reboot', at('after', reboots), 2],
    ['after it recorded the request of a reboot', at('after', patchesClaim('RebootIssued')), 1],
    ['before it records the success of a reboot', at('before', patchesClaim('RebootSucceeded')), 1],
  ])(
    'completes the reboot: %s',
    async (_, trap, most) => {
      const [broken = '', other = ''] = await begin();
      await policy(ailing('Reboot'));
      await succeed(trap, async () => scenario.world.kubelets.hang(broken));
      const claim = await scenario.until('the end of the reboot', rebooted, PATIENCE);
      expect(getCondition(claim, 'Rebooting')?.reason).toBe('RebootSucceeded');
      const requests = scenario.world.aws.calls.recorded('RebootInstances').length;
      expect(requests).toBeGreaterThan(0);
      expect(requests).toBeLessThanOrEqual(most);
      expect(scenario.instances().map(({ id }) => id)).toEqual(expect.arrayContaining([broken, other]));
      await allRunning(2);
    },
    300_000,
  );

  it.each<[string, CrashPoint]>([
    ['before it sets the deadline', at('before', patchesClaim('termination-timestamp'))],
    ['after it set the deadline', at('after', patchesClaim('termination-timestamp'))],
    ['after it deleted the NodeClaim', at('after', deletes)],
  ])(
    'completes the repair of one node: %s',
    async (_, trap) => {
      const [broken = '', other = ''] = await begin();
      await policy(ailing('Replace'));
      await succeed(trap, async () => scenario.world.kubelets.hang(broken));
      await scenario.until(
        'a new node',
        async () =>
          scenario.instances().length === 2 &&
          scenario.instances().every(({ id }) => id !== broken) &&
          (await leaks(scenario)).length === 0,
        PATIENCE,
      );
      await allRunning(2);
      expect(scenario.instances().map(({ id }) => id)).toContain(other);
    },
    300_000,
  );

  it('holds a reboot during a pause that began under its predecessor, and completes it afterwards', async () => {
    // consolidation would remove the node when its pod has moved
    const [broken = ''] = await begin({ budgets: [{ nodes: '0' }] });
    await policy(ailing('Reboot'));
    operator.arm(at('after', patchesClaim('RebootRequested')));
    scenario.world.kubelets.hang(broken);
    await scenario.until('the death of the leader', hasDied(), PATIENCE);
    await pause();
    await operator.start();
    await scenario.pass(30 * MINUTE, 180);
    const held = (await scenario.claims()).flatMap((claim) => getCondition(claim, 'Rebooting') ?? []);
    expect(held).toMatchObject([{ status: 'Unknown', reason: 'RebootRequested' }]);
    expect(scenario.world.aws.calls.recorded('RebootInstances')).toEqual([]);
    await resume();
    const claim = await scenario.until('the end of the reboot', rebooted, PATIENCE);
    expect(getCondition(claim, 'Rebooting')?.reason).toBe('RebootSucceeded');
    expect(scenario.instances().map(({ id }) => id)).toContain(broken);
  }, 300_000);

  it('takes back a command that a pause has stopped, and makes it after the end of the pause', async () => {
    const before = await begin();
    const edit = { cpus: [2], labels: { tier: 'gold' } };
    operator.arm(at('after', taints));
    await scenario.apply(pool(edit));
    await untilDead(scenario, operator);
    expect(await marks(scenario)).not.toEqual([]);
    await pause();
    await operator.start();
    await scenario.until('no marks', async () => (await marks(scenario)).length === 0, PATIENCE);
    await scenario.pass(5 * MINUTE);
    expect(scenario.instances().map(({ id }) => id)).toEqual(expect.arrayContaining([...before]));
    await resume();
    await scenario.until(
      'new nodes',
      async () =>
        scenario.instances().length === 2 &&
        scenario.instances().every(({ id }) => !before.includes(id)) &&
        (await leaks(scenario)).length === 0,
      PATIENCE,
    );
    await allRunning(2);
  }, 300_000);

  it('works when the pause has ended while there was no leader', async () => {
    await begin();
    await pause(scenario.world.clock.now() + 3 * MINUTE);
    await scenario.until('the pause', async () => (await scenario.events('OperatorPaused')).length > 0);
    await operator.kill();
    await scenario.scale('web', 0);
    await scenario.pass(5 * MINUTE);
    expect(await scenario.claims()).toHaveLength(2);
    await operator.start();
    await scenario.until('no nodes', async () => (await scenario.claims()).length === 0, PATIENCE);
  }, 300_000);

  it('removes nodes in a window that opened without a leader, and drains them after it has closed', async () => {
    await begin();
    const nowMs = Math.ceil(scenario.world.clock.now() / MINUTE) * MINUTE;
    const time = (minutes: number): string => new Date(nowMs + minutes * MINUTE).toISOString().slice(11, 16);
    await policy({ windows: { allowed: [{ start: time(4), end: time(30) }] } });
    await scenario.until('the conditions', async () =>
      (await scenario.metrics()).includes('karpenter_nodepools_window_open'),
    );
    await scenario.scale('web', 0);
    await scenario.pass(2 * MINUTE);
    expect(await scenario.claims()).toHaveLength(2);
    await operator.kill();
    await scenario.pass(4 * MINUTE);
    await operator.start(at('after', deletes));
    await untilDead(scenario, operator);
    await scenario.pass(30 * MINUTE, 180);
    await operator.start();
    await scenario.until('the end of the drain', async () => (await scenario.claims()).length < 2, PATIENCE);
    await scenario.pass(MINUTE);
    const stays = (await scenario.claims()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    expect((await scenario.claims()).length).toBe(stays.length);
  }, 300_000);
});

const pause = (untilMs = Date.parse('2099-01-01T00:00:00Z')): Promise<unknown> =>
  scenario.kube.create(CONFIG_MAP, {
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: PAUSE_NAME, namespace: 'kube-system' } },
    data: pauseData({ scope: 'disruption', reason: 'a drill', untilMs }),
  });
const resume = (): Promise<unknown> => scenario.kube.delete(CONFIG_MAP, { name: PAUSE_NAME, namespace: 'kube-system' });
