/** NodePools of a Git repository: a second server-side apply of the same files changes nothing. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, NODE_POOL } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';

describe('a repository with NodePools', () => {
  let scenario: Scenario;
  beforeAll(async () => {
    scenario = await startScenario();
  });
  afterAll(() => scenario.stop());

  it('has running pods, and no differences after the operator has written its fields', async () => {
    const manifests = scenario.example('gitops/nodes/nodes.yaml');
    await scenario.apply(...manifests, deployment('web', 2));
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 2);
    const specs = async (): Promise<readonly unknown[]> => {
      const [pools, classes] = [await scenario.kube.list(NODE_POOL), await scenario.kube.list(EC2_NODE_CLASS)];
      return [...pools.items, ...classes.items].map(({ metadata: { generation, annotations }, spec }) => ({
        generation,
        annotations,
        spec,
      }));
    };
    const before = await specs();
    expect(before).toMatchObject([{ generation: 1 }, { generation: 1 }]);
    await scenario.apply(...manifests);
    expect(await specs()).toEqual(before);
  });
});
