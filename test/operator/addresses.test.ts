/** Free addresses of subnets: no node is planned without them, and later launches use other subnets. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { type KubeObject, ZONE_LABEL } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

/** The plugin assigns blocks of 16 addresses. It runs on no node of this test. */
const PLUGIN = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'aws-node', namespace: 'kube-system' },
  spec: {
    selector: { matchLabels: { app: 'aws-node' } },
    template: {
      metadata: { labels: { app: 'aws-node' } },
      spec: {
        nodeSelector: { plugin: 'absent' },
        containers: [{ name: 'aws-node', image: 'plugin', env: [{ name: 'ENABLE_PREFIX_DELEGATION', value: 'true' }] }],
      },
    },
  },
} as KubeObject;

describe('a subnet with six free addresses', () => {
  it('gets no node, and the node is launched in a subnet that is added', async () => {
    scenario = await startScenario({ ...BRISK, operator: false });
    const { seed } = scenario.world.aws;
    const tags = { size: 'small' };
    seed.subnet({ id: 'subnet-six', zone: 'us-west-2a', cidr: '10.0.250.0/24', freeAddresses: 6, tags });
    const [nodeClass] = scenario.example('ec2nodeclass.yaml') as (KubeObject & { readonly spec: object })[];
    await scenario.apply(
      PLUGIN,
      { ...nodeClass, spec: { ...nodeClass?.spec, subnetSelectorTerms: [{ tags }] } } as KubeObject,
      pool({ cpus: [2] }),
    );
    await scenario.startOperator();
    await scenario.apply(deployment('web', 1));
    await scenario.until('the cause', async () =>
      (await scenario.events('FailedScheduling')).some(({ message = '' }) =>
        message.includes('subnet-six in us-west-2a has 6 free addresses'),
      ),
    );
    expect(await scenario.claims()).toEqual([]);

    seed.subnet({ id: 'subnet-large', zone: 'us-west-2b', cidr: '10.0.251.0/24', tags });
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    const zones = (await scenario.nodes()).map(({ metadata }) => metadata.labels?.[ZONE_LABEL]);
    expect(zones).toEqual(['us-west-2b']);
  }, 300_000);
});
