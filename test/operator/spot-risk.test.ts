/** A spot pool whose instances were interrupted is avoided, also by the next operator. Karpenter uses it again. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Command } from 'commander';
import { CONFIG_MAP, type ConfigMap, INSTANCE_TYPE_LABEL, NODE_CLAIM, ZONE_LABEL } from '#api/objects';
import type { PoolOfferings } from '#aws/instance-types';
import { offeringsCommand, simulate, snapshotCommand } from '#cli/testing';
import { OFFERINGS } from '../../scripts/reference/outputs/purchases.ts';
import { strictly } from '../unit/scripts/strictly.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, pool } from './pools.ts';

const NODES = 6;
const NAME = 'karpenter-spot-risk';
const SHAPE = { cpus: [8], capacityTypes: ['spot'], consolidateAfter: 'Never' };

let scenario: Scenario;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'spot-risk-'));
});
afterEach(async () => {
  await scenario.stop();
  await rm(folder, { recursive: true });
});

/** Returns the instance types and zones of the nodes. */
const bought = async (): Promise<readonly string[]> =>
  (await scenario.nodes()).map(
    ({ metadata: { labels = {} } }) => `${labels[INSTANCE_TYPE_LABEL]}/${labels[ZONE_LABEL]}`,
  );
const running = (count: number): Promise<unknown> =>
  scenario.until(`${count} running pods`, async () => (await scenario.running('web')).length === count, 60_000);
/** Returns the stored history. The chart creates an empty one. */
const memory = async () =>
  ((await scenario.kube.list(CONFIG_MAP)).items as readonly ConfigMap[]).find(
    ({ metadata, binaryData }) => metadata.name === NAME && binaryData !== undefined,
  );

/** Launches nodes in one spot pool, interrupts all of them, cleans up, and returns that pool. */
async function interruptAll(): Promise<string> {
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool(SHAPE), deployment('web', NODES, apart('web')));
  await running(NODES);
  const pools = new Set(await bought());
  expect(pools.size).toBe(1);
  const instances = scenario.instances();
  for (const { id } of instances) scenario.world.aws.faults.interrupt(id);
  await scenario.until(
    'the interruptions to be handled',
    async () => {
      const left = new Set((await scenario.claims()).map(({ status }) => status?.providerID?.split('/').at(-1)));
      return instances.every(({ id }) => !left.has(id));
    },
    60_000,
  );
  await scenario.scale('web', 0);
  await scenario.until('no pod', async () => (await scenario.pods('web')).length === 0);
  for (const { metadata } of await scenario.claims()) await scenario.kube.delete(NODE_CLAIM, { name: metadata.name });
  await scenario.until('no node', async () => (await scenario.nodes()).length === 0, 60_000);
  return [...pools][0] ?? '';
}

/** Returns the JSON output of a command. */
async function printed(command: Command, ...args: readonly string[]): Promise<string> {
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const noted = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    await command.parseAsync([...args, '-o', 'json'], { from: 'user' });
    return written.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    written.mockRestore();
    noted.mockRestore();
  }
}

describe('a spot pool whose instances were interrupted', () => {
  it('is avoided by the next operator, too, as predicted by the command line', async () => {
    scenario = await startScenario({ ...BRISK, env: { PACKING: 'cheapest' } });
    const first = await interruptAll();
    const { metricsPort } = await scenario.restartOperator(async () => {
      expect((await memory())?.metadata.namespace).toBe('kube-system');
    });
    const server = `http://127.0.0.1:${metricsPort}`;
    const risky = await scenario.until('the memory', async () => {
      const [found] = (await scenario.debug('offerings')) as readonly PoolOfferings[];
      return found?.spotRisk?.[0];
    });
    expect(`${risky.instanceType}/${risky.zone}`).toBe(first);
    expect(risky.interruptions).toBeGreaterThan(NODES - 1);
    expect(risky.addedPart).toBeGreaterThan(0.1);
    const shown = JSON.parse(await printed(offeringsCommand(), '--server', server)) as readonly PoolOfferings[];
    expect(strictly(OFFERINGS, shown)).toEqual([]);
    expect(shown[0]?.spotRisk?.[0]).toMatchObject({ instanceType: risky.instanceType, zone: risky.zone });

    const dump = join(folder, 'dump.json');
    await writeFile(join(folder, 'kubeconfig'), scenario.world.kube.kubeconfig());
    await writeFile(dump, await printed(snapshotCommand('test'), '--kubeconfig', join(folder, 'kubeconfig')));
    const another = join(folder, 'another.yaml');
    await writeFile(another, JSON.stringify(deployment('another', 1, apart('web'))));
    const foreseen = await simulate({ filename: [dump], whatIf: [another], instanceTypes: server });

    await scenario.scale('web', 1);
    await running(1);
    const [next] = await bought();
    expect(next).not.toBe(first);
    expect(foreseen.simulation.nodeClaims.map(({ cheapest }) => cheapest)).toEqual([next?.split('/')[0]]);
  }, 300_000);

  it('is used again with a weight of 0, and is not recorded', async () => {
    scenario = await startScenario({ ...BRISK, env: { PACKING: 'cheapest', SPOT_RISK: '0' } });
    const first = await interruptAll();
    await scenario.restartOperator();
    await scenario.scale('web', 1);
    await running(1);
    expect(await bought()).toEqual([first]);
    expect(await memory()).toBeUndefined();
    const [offerings] = (await scenario.debug('offerings')) as readonly PoolOfferings[];
    expect(offerings).not.toHaveProperty('spotRisk');
  }, 300_000);
});
