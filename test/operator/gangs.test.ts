/** Gangs are launched as a whole or not at all. */
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  apiVersionOf,
  GANG_ANNOTATION,
  GANG_DISRUPTION_ANNOTATION,
  GANG_KINDS,
  GANG_MIN_ANNOTATION,
  type GangObject,
  isTrue,
  type Kind,
  type KubeObject,
  type NodePool,
  POD,
  type Pod,
} from '#api/objects';
import type { CustomResourceDefinition } from '#api/testing';
import { type Scenario, type ScenarioOptions, startScenario } from './harness.ts';
import { BRISK, leaks, pool } from './pools.ts';

const POD_GROUP = GANG_KINDS.find(({ group }) => group === 'scheduling.x-k8s.io') as Kind<GangObject>;

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const limitedPool = (nodes: number): KubeObject => {
  const { spec, ...rest } = pool({ consolidateAfter: 'Never' }) as NodePool;
  return { ...rest, spec: { ...spec, limits: { nodes: String(nodes) } } } as KubeObject;
};

const begin = async (nodes: number, options: ScenarioOptions = {}): Promise<void> => {
  scenario = await startScenario({ ...BRISK, ...options });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), limitedPool(nodes));
};

/** Returns a pod that fills a node. */
const podOf = (name: string, gang: string, minimum: number): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: 'default',
    labels: { app: gang },
    annotations: { [GANG_ANNOTATION]: gang, [GANG_MIN_ANNOTATION]: String(minimum) },
  },
  spec: { containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '5' } } }] },
});

const createGang = async (name: string, pods: number): Promise<void> => {
  const names = Array.from({ length: pods }, (_, at) => `${name}-${at}`);
  await Promise.all(names.map((each) => scenario.kube.create(POD, podOf(each, name, pods))));
};

const boundOf = async (app: string): Promise<number> =>
  (await scenario.pods(app)).filter(({ spec }) => spec.nodeName).length;
const created = (): number => scenario.log.filter(({ message }) => message === 'created nodeclaim').length;
const fleets = (): number => scenario.world.aws.calls.recorded('CreateFleet').length;
const refusals = async (): Promise<readonly string[]> =>
  (await scenario.events('FailedScheduling')).map(({ message = '' }) => message);

describe('a gang of eight pods that fill a node each', () => {
  it('gets no node while the limit allows four, and eight nodes after the limit is raised', async () => {
    await begin(4);
    await createGang('train', 8);
    await scenario.until('a refusal of the gang', async () =>
      (await refusals()).some((text) =>
        text.includes('gang train needs 8 pods together, room for 4: NodePool "default"'),
      ),
    );
    // the validation of the EC2NodeClass made a dry run
    const validations = fleets();
    await scenario.pass(15_000);
    expect([fleets() - validations, created(), scenario.instances().length]).toEqual([0, 0, 0]);

    await scenario.apply(limitedPool(8));
    await scenario.until('eight bound pods', async () => (await boundOf('train')) === 8, 60_000);
    expect([created(), (await scenario.nodes()).length]).toEqual([8, 8]);
  }, 300_000);

  it('returns all nodes if a part of them cannot be launched', async () => {
    // the shortage becomes known before the first node joins
    await begin(8, { kubelets: { bootMs: 300_000, readyMs: 2_000 } });
    scenario.world.aws.faults.add({ kind: 'capacity', remaining: 5 });
    await createGang('train', 8);
    await scenario.until('five instances', () => scenario.instances().length === 5);
    await scenario.until(
      'the end of the launch',
      async () => (await scenario.events('GangLaunchEnded')).length === 5,
      60_000,
    );
    await scenario.until('no instance', () => scenario.instances().length === 0, 60_000);
    await scenario.until('no NodeClaim', async () => (await scenario.claims()).length === 0, 60_000);
    expect(await leaks(scenario)).toEqual([]);
    const held = await scenario.until('a refusal that names the failed launch', () =>
      scenario.log.find(({ error }) => String(error).includes('its last launch was not complete')),
    );
    expect(held.error).toContain('gang train needs 8 pods together, room for 5');
  }, 300_000);
});

describe('a running gang on drifted nodes', () => {
  it.each([
    { value: 'Together', is: 'moved to new nodes in one command' },
    { value: 'WhenFinished', is: 'left until its pods have finished' },
  ])('is $is with the annotation $value', async ({ value }) => {
    await begin(8);
    const podIn = (at: number): Pod => {
      const { metadata, ...rest } = podOf(`train-${at}`, 'train', 2);
      const annotations = { ...metadata.annotations, [GANG_DISRUPTION_ANNOTATION]: value };
      return { ...rest, metadata: { ...metadata, annotations } };
    };
    for (const at of [0, 1]) await scenario.kube.create(POD, podIn(at));
    await scenario.until('two bound pods', async () => (await boundOf('train')) === 2, 60_000);
    await scenario.until(
      'initialized nodes',
      async () => (await scenario.claims()).every((each) => isTrue(each, 'Initialized')),
      60_000,
    );
    const disrupting = (): readonly string[] =>
      scenario.log.flatMap(({ message, command = '' }) => (message === 'disrupting node(s)' ? [String(command)] : []));
    await scenario.apply({ ...limitedPool(8), ...pool({ consolidateAfter: 'Never', labels: { version: '2' } }) });
    await scenario.until(
      'drifted nodes',
      async () => (await scenario.claims()).some((each) => isTrue(each, 'Drifted')),
      60_000,
    );
    if (value === 'Together') {
      const [command] = await scenario.until('a command', () => (disrupting().length > 0 ? disrupting() : undefined));
      expect(command).toMatch(/^Drifted\/.*: \[[^,\]]+, [^,\]]+\] -> \[2 replacements\]/);
      return;
    }
    await scenario.pass(30_000);
    expect(disrupting()).toEqual([]);
    for (const at of [0, 1]) await scenario.kube.delete(POD, podIn(at).metadata);
    await scenario.until('a command', () => disrupting().length > 0, 60_000);
  }, 300_000);
});

const CRD: Kind<CustomResourceDefinition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

/** Installs the PodGroups of coscheduling and creates one. */
const createPodGroup = async (name: string, minMember: number): Promise<void> => {
  await scenario.kube.create(CRD, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${POD_GROUP.plural}.${POD_GROUP.group}` },
    spec: {
      group: POD_GROUP.group,
      scope: 'Namespaced',
      names: {
        kind: POD_GROUP.kind,
        listKind: 'PodGroupList',
        plural: POD_GROUP.plural,
        singular: 'podgroup',
        categories: [],
      },
      versions: [
        {
          name: POD_GROUP.version,
          served: true,
          storage: true,
          additionalPrinterColumns: [],
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: { type: 'object', properties: { minMember: { type: 'integer' } } } },
            },
          },
        },
      ],
    },
  });
  await scenario.until('a PodGroup', async () => {
    const object = {
      apiVersion: apiVersionOf(POD_GROUP),
      kind: POD_GROUP.kind,
      metadata: { name, namespace: 'default' },
    };
    await scenario.kube.create(POD_GROUP, { ...object, spec: { minMember } } as GangObject).catch(() => undefined);
    return scenario.kube.find(POD_GROUP, object.metadata);
  });
};

const createMembers = async (name: string, from: number, to: number): Promise<void> => {
  for (let at = from; at < to; at++) {
    const { metadata, ...rest } = podOf(`${name}-${at}`, name, 1);
    const labels = { app: name, 'scheduling.x-k8s.io/pod-group': name };
    await scenario.kube.create(POD, { ...rest, metadata: { ...metadata, labels, annotations: {} } });
  }
};

describe('a PodGroup with a minimum of eight pods', () => {
  it('gets no node for four pods, or for eight while the limit allows four', async () => {
    await begin(4, { operator: false });
    await createPodGroup('train', 8);
    await scenario.startOperator({ env: { FEATURE_GATES: 'PodGroup=true' } });
    await createMembers('train', 0, 4);
    const refused = (part: string): Promise<true> =>
      scenario.until(part, async () => (await refusals()).some((text) => text.includes(part)));
    await refused('gang train needs 8 pods together, but only 4 wait or run');
    const validations = fleets();
    await createMembers('train', 4, 8);
    await refused('gang train needs 8 pods together, room for 4: NodePool "default"');
    await scenario.pass(15_000);
    expect([fleets() - validations, created(), scenario.instances().length]).toEqual([0, 0, 0]);

    await scenario.apply(limitedPool(8));
    await scenario.until('eight bound pods', async () => (await boundOf('train')) === 8, 60_000);
    expect([created(), (await scenario.nodes()).length]).toEqual([8, 8]);
  }, 300_000);
});

describe('a gang of six pods beside another, with room for eight', () => {
  it('is launched before or after the other', async () => {
    await begin(8);
    await createGang('first', 6);
    await createGang('second', 6);
    await scenario.until(
      'one complete gang',
      async () => Math.max(await boundOf('first'), await boundOf('second')) === 6,
    );
    await scenario.pass(15_000);
    expect([await boundOf('first'), await boundOf('second')].toSorted()).toEqual([0, 6]);
    expect([created(), (await scenario.nodes()).length]).toEqual([6, 6]);
    expect(await leaks(scenario)).toEqual([]);
  }, 300_000);
});
