import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readCatalogue } from '../../../../src/cli/objects/catalogue.ts';
import { refuseOldVersions } from '../../../../src/cli/objects/old-versions.ts';
import { applyManifests, parseManifests, readManifests } from '../../../../src/cli/objects/read.ts';
import { type World, worldOf } from '../../../../src/cli/objects/snapshot.ts';

const worldIn = async (text: string): Promise<World> =>
  worldOf(parseManifests(text, 'test.yaml'), { instanceTypes: () => [], nowMs: 0 });
const deployment = (replicas: number | string, extra = ''): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: ${replicas}
  template:
    spec:
      containers:
        - name: app
          resources: {limits: {cpu: 1}, requests: {memory: 1Gi}}
      ${extra}
`;

describe('a manifest', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'manifests-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is read from folders in name order, in every format', () => {
    writeFileSync(join(folder, 'b.json'), '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"two"}}');
    writeFileSync(join(folder, 'a.yaml'), 'apiVersion: v1\nkind: Pod\nmetadata: {name: one}\n---\n# nothing\n');
    writeFileSync(join(folder, 'notes.txt'), 'not a manifest');
    expect(readManifests([folder]).map(({ object }) => object.metadata.name)).toEqual(['one', 'two']);
  });

  it('is unpacked from a List', () => {
    const list = '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}]}';
    expect(parseManifests(list, 'f')).toMatchObject([{ where: 'f, document 1, items[0], Pod p' }]);
  });

  it.each([
    ['kind: Pod\nmetadata: {name: p}', 'test.yaml, document 1: apiVersion is missing'],
    ['apiVersion: v1\nmetadata: {name: p}', 'test.yaml, document 1: kind is missing'],
    ['apiVersion: v1\nkind: Pod', 'test.yaml, document 1, Pod: metadata.name is missing'],
    ['a: [', 'test.yaml, document 1: not valid YAML'],
    ['{"a": 1}\n---\njust text', 'test.yaml, document 1: kind is missing'],
    ['42', 'test.yaml, document 1: expected a Kubernetes object'],
    [deployment('many'), 'Deployment web: spec.replicas: must be an integer of at least 0, not "many"'],
    [
      deployment(1, 'nodeSelector: {a: 1}'),
      'Deployment web: spec.template.spec.nodeSelector.a: must be a string, not 1',
    ],
    [deployment(1, 'tolerations: [{effect: Never}]'), 'spec.template.spec.tolerations[0].effect: must be one of'],
    [deployment(1).replace('1Gi', '1GiB'), 'containers[0].resources.requests.memory: "1GiB" is not a quantity'],
    [
      `${deployment(1)}---${deployment(1)}`,
      'defined twice; the first definition is in test.yaml, document 1, Deployment web',
    ],
    ['apiVersion: v1\nkind: Pod\nmetadata: {name: p}', 'Pod p: spec: is required'],
    ['apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {weight: 101}', 'NodePool p: spec'],
    [
      'apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec: {Template: {}}',
      /NodePool p: spec\.Template: unknown field; spec\.template: Required value$/,
    ],
    [
      'apiVersion: karpenter.sh/v2\nkind: NodePool\nmetadata: {name: p}',
      'NodePool p: apiVersion: karpenter.sh/v2 is not served; use karpenter.sh/v1 for NodePools',
    ],
  ])('is rejected with its name if it is invalid: %#', async (text, message) => {
    await expect(worldIn(text)).rejects.toThrow(message);
  });

  it('is named if it does not exist', () => {
    expect(() => readManifests([join(folder, 'none.yaml')])).toThrow('none.yaml: no such file or folder');
    expect(() => readManifests([folder])).toThrow('the folder contains no .yaml, .yml or .json file');
  });

  it('is parsed as JSON if its file has a JSON extension', () => {
    const file = join(folder, 'cut.json');
    writeFileSync(file, '{"a":');
    expect(() => readManifests([file])).toThrow(/cut\.json: not valid JSON: /);
  });

  it('is reported if it has unknown fields', async () => {
    const pool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: p}
spec:
  weigth: 3
  template: {spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}}}
`;
    const { notes } = await worldIn(`${pool}---\n${pool.replace('NodePool', 'Nodepool')}`);
    expect(notes).toEqual([
      'test.yaml, document 2, Nodepool p: kind Nodepool is not used and is ignored; did you mean NodePool?',
      'test.yaml, document 1, NodePool p: spec.weigth: unknown field is ignored',
    ]);
  });

  it('replaces an object with the same name in a change, or is added', () => {
    const pods = (...names: readonly string[]) =>
      names.map((name) => `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"${name}"}}`).join('\n---\n');
    const merged = applyManifests(
      parseManifests(pods('a', 'b', 'c'), 'now'),
      parseManifests(pods('b', 'd'), 'what if'),
    );
    expect(merged.map(({ where }) => where)).toEqual([
      'now, document 1, Pod a',
      'what if, document 1, Pod b',
      'now, document 3, Pod c',
      'what if, document 2, Pod d',
    ]);
  });

  it('is rejected with the type and the field if it has instance types that are invalid', () => {
    const file = join(folder, 'types.json');
    writeFileSync(file, '{"instanceTypes":[{"name":"t","requirements":[],"capacity":{"cpu":"x"},"offerings":[]}]}');
    expect(() => readCatalogue(file)).toThrow('instanceTypes[0].capacity.cpu: "x" is not a quantity');
    writeFileSync(file, '{"instanceTypes":[],"nodePools":{"gpu":[{"name":"t"}]}}');
    expect(() => readCatalogue(file)).toThrow('types.json: nodePools.gpu[0].requirements: is required');
    writeFileSync(file, 'nonsense');
    expect(() => readCatalogue(file)).toThrow('types.json: not valid JSON');
  });
});

describe('a manifest of an old API version', () => {
  it.each([
    [
      'karpenter.sh/v1alpha5',
      'Provisioner',
      'convert it to a NodePool of karpenter.sh/v1 first with karpenter convert -f FILE',
    ],
    ['karpenter.sh/v1beta1', 'NodePool', 'convert it to karpenter.sh/v1 first with karpenter convert -f FILE'],
    [
      'karpenter.k8s.aws/v1alpha1',
      'AWSNodeTemplate',
      'convert it to an EC2NodeClass of karpenter.k8s.aws/v1 first with karpenter convert -f FILE',
    ],
    [
      'karpenter.k8s.aws/v1beta1',
      'EC2NodeClass',
      'convert it to karpenter.k8s.aws/v1 first with karpenter convert -f FILE',
    ],
  ])('is rejected with the command that converts it: %s %s', (apiVersion, kind, remedy) => {
    const manifests = parseManifests(`apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: old}`, 'old.yaml');
    expect(() => refuseOldVersions(manifests)).toThrow(
      `old.yaml, document 1, ${kind} old: ${apiVersion} ${kind} belongs to a Karpenter API before v1, which is not supported; ${remedy}`,
    );
  });

  it('is counted, and a current one is accepted', () => {
    const old = '---\napiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\n';
    expect(() => refuseOldVersions(parseManifests(old + old.replace('name: a', 'name: b'), 'f'))).toThrow(
      /first with karpenter convert -f FILE \(and 1 more objects of old versions\)$/,
    );
    const today = '---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n';
    const overlay = '---\napiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {name: a}\n';
    expect(() => refuseOldVersions(parseManifests(today + overlay, 'f'))).not.toThrow();
  });
});

describe('the world of manifests', () => {
  it('has the existing pods of a cluster, and no additional pods for their workloads', async () => {
    const uid = '12345678-1234-1234-1234-123456789012';
    const selector = 'selector: {matchLabels: {app: web}}';
    const stored = deployment(3)
      .replace('{name: web}', `{name: web, uid: ${uid}, resourceVersion: "7"}`)
      .replace('replicas', `${selector}\n  replicas`);
    const pod = `
apiVersion: v1
kind: Pod
metadata: {name: web-x, labels: {app: web}}
spec: {containers: [{name: app}]}
`;
    const names = async (text: string) =>
      (await worldIn(text)).snapshot.pendingPods.map(({ metadata }) => metadata.name);
    expect(await names(`${stored}---${pod}`)).toEqual(['web-x']);
    expect(await names(`${stored}---${pod.replace('app: web', 'app: other')}`)).toHaveLength(4);
    expect(await names(`${stored.replace(', resourceVersion: "7"', '')}---${pod}`)).toHaveLength(4);
  });

  it('spreads pods of Services and workloads by default', async () => {
    const service = 'apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {selector: {app: web}}\n';
    const defaultConstraints = [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }] as const;
    const selecting = deployment(1).replace('replicas', 'selector: {matchLabels: {app: web}}\n  replicas');
    const manifests = parseManifests(`${service}---${selecting}`, 'test.yaml');
    const { snapshot, notes } = await worldOf(manifests, { instanceTypes: () => [], nowMs: 0, defaultConstraints });
    expect(notes).toEqual([]);
    expect(snapshot.defaultSpread).toMatchObject({
      constraints: defaultConstraints,
      services: [{ namespace: 'default', selector: { app: 'web' } }],
      workloads: [{ kind: 'ReplicaSet', namespace: 'default', name: 'web' }],
    });
    expect((await worldIn(service)).snapshot.defaultSpread).toBeUndefined();
  });

  it('has a pending pod for every replica, with requests if only limits are set', async () => {
    const { pendingPods } = (await worldIn(deployment(2))).snapshot;
    expect(pendingPods.map(({ metadata }) => metadata.name)).toEqual(['web-0', 'web-1']);
    expect(pendingPods[0]).toMatchObject({
      metadata: { namespace: 'default', ownerReferences: [{ kind: 'ReplicaSet', name: 'web' }] },
      spec: { containers: [{ resources: { requests: { cpu: 1, memory: '1Gi' } } }] },
    });
    expect(String(pendingPods[0]?.metadata.uid) < String(pendingPods[1]?.metadata.uid)).toBe(true);
  });

  it('has the parallelism of a Job as number of pods', async () => {
    const job = deployment(1).replace('kind: Deployment', 'kind: Job').replace('apps/v1', 'batch/v1');
    const pods = async (fields: string): Promise<number> =>
      (await worldIn(job.replace('replicas: 1', fields))).snapshot.pendingPods.length;
    expect(await pods('completions: 5')).toBe(1);
    expect(await pods('parallelism: 3')).toBe(3);
    expect(await pods('parallelism: 3\n  completions: 2')).toBe(2);
  });

  it('skips NodeClaims of other providers, like the operator', async () => {
    const claim = (ref: string) => `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: c}
spec: {nodeClassRef: {${ref}, name: n}, requirements: []}
status: {providerID: 'aws:///i-1'}
`;
    const names = async (ref: string) => (await worldIn(claim(ref))).snapshot.nodes.map(({ name }) => name);
    expect(await names('group: karpenter.k8s.aws, kind: EC2NodeClass')).toEqual(['c']);
    expect(await names('group: karpenter.azure.com, kind: AKSNodeClass')).toEqual([]);
  });

  it('joins Nodes, NodeClaims and their pods', async () => {
    const { nodes, pendingPods } = (
      await worldIn(`
apiVersion: v1
kind: Node
metadata: {name: n, labels: {karpenter.sh/registered: 'true'}}
spec: {providerID: 'aws:///i-1'}
status: {allocatable: {cpu: 4}}
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: c}
spec: {}
status: {providerID: 'aws:///i-1', allocatable: {memory: 8Gi}}
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: not-launched}
spec: {}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {nodeName: n, containers: [{name: a}]}
`)
    ).snapshot;
    expect(pendingPods).toEqual([]);
    expect(nodes.map(({ name }) => name)).toEqual(['n', 'not-launched']);
    expect(nodes[0]).toMatchObject({ name: 'n', allocatable: { cpu: 4000, memory: 2 ** 33 }, initialized: false });
    expect(nodes[0]?.pods.map(({ metadata }) => metadata.name)).toEqual(['p']);
  });

  const POOL_LABEL = 'karpenter.sh/nodepool: p';
  it.each([
    { labels: '', spec: '{}', providerId: 'n' },
    { labels: '', spec: '{providerID: i-1}', providerId: 'i-1' },
    { labels: '', spec: "{providerID: ''}", providerId: 'n' },
    { labels: `${POOL_LABEL}, node.kubernetes.io/instance-type: t`, spec: '{providerID: i-1}', providerId: 'i-1' },
    { labels: `${POOL_LABEL}, karpenter.sh/initialized: 'true'`, spec: '{providerID: i-1}', providerId: 'i-1' },
    {
      labels: `${POOL_LABEL}, node.kubernetes.io/instance-type: t`,
      spec: '{}',
      note: 'the Node has the label karpenter.sh/nodepool, but no spec.providerID',
    },
    {
      labels: `${POOL_LABEL}, karpenter.sh/initialized: 'true'`,
      spec: "{providerID: ''}",
      note: 'the Node has the label karpenter.sh/nodepool, but no spec.providerID',
    },
    {
      labels: POOL_LABEL,
      spec: '{providerID: i-1}',
      note: 'the Node has the label karpenter.sh/nodepool, but neither node.kubernetes.io/instance-type nor karpenter.sh/initialized: "true"',
    },
  ])('includes the same Nodes as the operator, with labels {$labels} and spec $spec', async ({
    labels,
    spec,
    ...expected
  }) => {
    const world = await worldIn(`apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {${labels}}}\nspec: ${spec}`);
    const { providerId, note } = { providerId: undefined, note: undefined, ...expected };
    expect(world.snapshot.nodes.map((node) => node.providerId)).toEqual(providerId === undefined ? [] : [providerId]);
    const rest = 'the Node is skipped, as the operator also ignores it';
    expect(world.notes).toEqual(note === undefined ? [] : [`test.yaml, document 1, Node n: ${note}; ${rest}`]);
  });

  it('keeps the NodeClaim of a Node that is skipped', async () => {
    const { nodes } = (
      await worldIn(`
apiVersion: v1
kind: Node
metadata: {name: n, labels: {karpenter.sh/nodepool: p}}
spec: {providerID: i-1}
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: c}
spec: {}
status: {providerID: i-1}
`)
    ).snapshot;
    expect(nodes).toMatchObject([{ name: 'c', providerId: 'i-1', registered: false }]);
  });

  it('lists the kinds that it ignores', async () => {
    expect((await worldIn('apiVersion: v1\nkind: Secret\nmetadata: {name: s}')).notes).toEqual([
      'test.yaml, document 1, Secret s: kind Secret is not used and is ignored',
    ]);
  });
});
