import { existsSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { NODE } from '#api/objects';
import { exportLines } from '#cli/testing';
import { DEPLOYMENTS } from '../../../src/local/kubernetes/controllers/workloads/kinds.ts';
import { startWorld, type World } from '../../../src/local/world.ts';
import { connect } from '../../support/kube-api.ts';
import { template } from './world-cluster.ts';

let world: World | undefined;

afterEach(async () => {
  await world?.stop();
  world = undefined;
});

async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (let tries = 0; tries < 400; tries += 1) {
    const answer = await look();
    if (answer) return answer;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('Waited in vain');
}

describe('the local world', () => {
  it('runs a deployment on its system nodes', async () => {
    world = await startWorld({ timeScale: 50, systemNodes: 2 });
    const client = connect(world.kube.url);
    await client.create(DEPLOYMENTS, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'default' },
      spec: { replicas: 3, selector: { matchLabels: { app: 'web' } }, template: template('web') },
    });
    const ref = { name: 'web', namespace: 'default' };
    await until(async () => (await client.find(DEPLOYMENTS, ref))?.status?.availableReplicas === 3);
    expect((await client.list(NODE)).items).toHaveLength(2);
  });

  it('serves the CRDs and returns the addresses for an operator', async () => {
    world = await startWorld({ clusterName: 'mine' });
    const env = world.env();
    expect(env).toMatchObject({
      CLUSTER_NAME: 'mine',
      CLUSTER_ENDPOINT: world.kube.url,
      AWS_ENDPOINT_URL: world.aws.url,
      INTERRUPTION_QUEUE: world.aws.queue.name,
      SYSTEM_NAMESPACE: 'kube-system',
    });
    expect(existsSync(env.KUBECONFIG ?? '')).toBe(true);
    const pools = await connect(world.kube.url).raw('GET', '/apis/karpenter.sh/v1/nodepools');
    expect(pools).toMatchObject({ kind: 'NodePoolList', items: [] });
    await world.stop();
    expect(existsSync(env.KUBECONFIG ?? '')).toBe(false);
  });

  it('reports a port that is in use', async () => {
    world = await startWorld();
    const port = Number(new URL(world.kube.url).port);
    await expect(startWorld({ kubePort: port })).rejects.toThrow(/another process uses the port; .* --kube-port/);
  });
});

describe('exportLines', () => {
  it('quotes special characters of the shell', () => {
    expect(exportLines({ A: 'http://127.0.0.1:1', B: "it's two words" })).toEqual([
      'export A=http://127.0.0.1:1',
      `export B='it'\\''s two words'`,
    ]);
  });
});
