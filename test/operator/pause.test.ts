/** `karpenter pause` and `karpenter resume` over HTTP: all nodes stay, and the next leader keeps them too. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Command } from 'commander';
import { CONFIG_MAP, isTrue, NODE_POOL, PAUSE_NAME, pauseData } from '#api/objects';
import { explainCommand, logCommand, pauseCommand, resumeCommand, topCommand } from '#cli/testing';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

/** After the time of the scenario, which is ahead of the system clock. */
const LATER = '2099-01-01T00:00:00Z';

let scenario: Scenario;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pause-'));
  scenario = await startScenario({ ...BRISK, operator: false });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }));
  await writeFile(join(folder, 'kubeconfig'), scenario.world.kube.kubeconfig());
});
afterEach(async () => {
  await scenario.stop();
  await rm(folder, { recursive: true });
});

async function printed(command: Command, ...args: readonly string[]): Promise<string> {
  const parts: string[] = [];
  const spies = [process.stdout, process.stderr].map((stream) =>
    jest.spyOn(stream, 'write').mockImplementation((text) => {
      parts.push(String(text));
      return true;
    }),
  );
  try {
    await command.parseAsync([...args], { from: 'user' });
    return parts.join('');
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

const claims = async (): Promise<number> => (await scenario.claims()).length;
const reasons = async (): Promise<readonly string[]> => (await scenario.events()).map(({ reason }) => reason);

describe('karpenter pause', () => {
  it('stops launches and disruption until karpenter resume, over a restart, and appears in every view', async () => {
    const portOf = ({ metricsPort }: { readonly metricsPort: number }): readonly string[] => [
      '--server',
      `http://127.0.0.1:${metricsPort}`,
    ];
    const cluster = ['--kubeconfig', join(folder, 'kubeconfig'), '--operator-namespace', 'kube-system'];
    let server = portOf(await scenario.startOperator());
    await scenario.until('a ready NodePool', async () => {
      const found = await scenario.kube.find(NODE_POOL, { name: 'default' });
      return found !== undefined && isTrue(found, 'Ready');
    });
    await scenario.apply(deployment('web', 2, {}, { cpu: '1500m' }));
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 2);

    const said = await printed(
      pauseCommand('0.0.0'),
      ...cluster,
      ...server,
      ...['--all', '--reason', 'incident 42', '--until', LATER],
    );
    const sentence = `launches and disruption are paused until ${LATER}: incident 42`;
    expect(said).toContain(`The operator confirms: ${sentence}`);
    expect(await printed(explainCommand(), 'node', ...server)).toContain(sentence);
    expect(await printed(explainCommand(), 'budgets', ...server)).toContain(sentence);
    expect(await printed(topCommand('0.0.0'), ...cluster, ...server, '--once')).toContain(sentence);
    await scenario.apply(deployment('late', 1, {}, { cpu: '1500m' }));
    await scenario.until('an event on the pod', async () => (await reasons()).includes('PodHeld'));
    expect(await printed(explainCommand(), 'pod', ...server)).toContain('launches are paused: incident 42');
    await scenario.scale('late', 0);
    await scenario.scale('web', 1);
    await scenario.until('a node that would be removed', async () =>
      /"code": ?"paused"/.test(await printed(explainCommand(), 'node', ...server, '-o', 'json')),
    );

    server = portOf(await scenario.restartOperator());
    await scenario.pass(180_000);
    expect(await claims()).toBe(2);
    expect(await printed(logCommand('0.0.0'), ...server, '--since', '366d', '--now', '2027-06-01T00:00:00Z')).toContain(
      sentence,
    );

    expect(await printed(resumeCommand('0.0.0'), ...cluster, ...server)).toContain('The operator works again.');
    expect(await scenario.kube.find(CONFIG_MAP, { name: PAUSE_NAME, namespace: 'kube-system' })).toBeUndefined();
    await scenario.scale('web', 0);
    await scenario.until('no nodes', async () => (await claims()) === 0);
    expect(await reasons()).toEqual(expect.arrayContaining(['OperatorPaused', 'OperatorResumed']));
    expect(await printed(resumeCommand('0.0.0'), ...cluster, ...server)).toContain('Nothing is paused');
  });
});

describe('a ConfigMap that kubectl writes', () => {
  it('holds back launches until it is deleted', async () => {
    await scenario.startOperator();
    await scenario.until('a ready NodePool', async () => {
      const found = await scenario.kube.find(NODE_POOL, { name: 'default' });
      return found !== undefined && isTrue(found, 'Ready');
    });
    const metadata = { name: PAUSE_NAME, namespace: 'kube-system' };
    const data = pauseData({ scope: 'launches', reason: 'a drill', untilMs: Date.parse(LATER) });
    await scenario.kube.create(CONFIG_MAP, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
    await scenario.until('the start of the pause', async () => (await reasons()).includes('OperatorPaused'));
    await scenario.apply(deployment('web', 1, {}, { cpu: '1500m' }));
    await scenario.until('an event on the pod', async () => (await reasons()).includes('PodHeld'));
    expect(await claims()).toBe(0);
    await scenario.kube.delete(CONFIG_MAP, metadata);
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
  });
});
