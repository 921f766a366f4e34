import { describe, expect, it } from '@jest/globals';
import type { KubeObject, Pod, PodDisruptionBudget, Workload } from '#api/objects';
import type { Manifest } from '../../../../src/cli/objects/read.ts';
import { applyChanges } from '../../../../src/cli/what-if/changes.ts';
import { atOtherPrices, priceChangeOf } from '../../../../src/cli/what-if/prices.ts';
import { partial } from '../../../support/partial.ts';
import { instanceType } from '../../engine/disruption/objects.ts';

const NOW = Date.parse('2026-06-03T12:00:00Z');

const manifest = (object: KubeObject): Manifest => ({ object, where: `${object.kind} ${object.metadata.name}` });
const from = (...objects: readonly KubeObject[]): readonly Manifest[] => objects.map(manifest);

const workload = (kind: string, name: string, more: Partial<KubeObject['metadata']> = {}, replicas = 3): Workload => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '1', ...more },
  spec: { replicas, selector: { matchLabels: { app: 'web' } }, template: { spec: { containers: [] } } },
});

interface PodOptions {
  readonly owner?: readonly [kind: string, name: string];
  readonly node?: string;
  readonly ready?: boolean;
  readonly created?: string;
  readonly volumes?: Pod['spec']['volumes'];
  readonly annotations?: Readonly<Record<string, string>>;
}

function pod(
  name: string,
  { owner = ['ReplicaSet', 'web-7d9f'], node = 'node-1', ready = true, created, volumes, annotations }: PodOptions = {},
): Pod {
  const [kind, ownerName] = owner;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      resourceVersion: '1',
      labels: { app: 'web' },
      creationTimestamp: created ?? '2026-06-01T00:00:00Z',
      ownerReferences: [{ apiVersion: 'apps/v1', kind, name: ownerName, uid: `uid-${ownerName}`, controller: true }],
      ...(annotations && { annotations }),
    },
    spec: { nodeName: node, containers: [{ name: 'main' }], ...(volumes && { volumes }) },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  };
}

const changedBy = (manifests: readonly Manifest[], ...whatIf: readonly string[]): readonly KubeObject[] =>
  applyChanges(manifests, whatIf, NOW).manifests.map(({ object }) => object);
const podsAfter = (manifests: readonly Manifest[], ...whatIf: readonly string[]): readonly Pod[] =>
  changedBy(manifests, ...whatIf).filter(({ kind }) => kind === 'Pod') as unknown as readonly Pod[];
const namesAfter = (manifests: readonly Manifest[], ...whatIf: readonly string[]): readonly string[] =>
  podsAfter(manifests, ...whatIf).map(({ metadata }) => metadata.name);

describe('scale', () => {
  const three = from(pod('web-7d9f-a'), pod('web-7d9f-b', { node: 'node-2' }), pod('web-7d9f-c'));

  it('adds pending pods like the newest pod, without a workload among the manifests', () => {
    const pods = podsAfter(three, 'scale deploy/web=5');
    expect(pods).toHaveLength(5);
    const [added] = pods.slice(3);
    expect(added).toMatchObject({
      metadata: { name: 'web-what-if-0', labels: { app: 'web' }, ownerReferences: [{ name: 'web-7d9f' }] },
    });
    expect(added?.spec.nodeName).toBeUndefined();
    expect(added?.status).toBeUndefined();
    expect(added?.metadata.uid).toBeUndefined();
  });

  it.each([
    { when: 'are not on a node', pods: [pod('web-7d9f-a'), pod('web-7d9f-b', { node: '' })], left: 'a' },
    { when: 'are not ready', pods: [pod('web-7d9f-a', { ready: false }), pod('web-7d9f-b')], left: 'b' },
    {
      when: 'cost less to delete',
      pods: [
        pod('web-7d9f-a', { annotations: { 'controller.kubernetes.io/pod-deletion-cost': '5' } }),
        pod('web-7d9f-b'),
      ],
      left: 'a',
    },
    { when: 'share their node', pods: [...three.map(({ object }) => object as Pod)], left: 'b' },
    {
      when: 'are newer',
      pods: [pod('web-7d9f-a', { created: '2026-06-02T00:00:00Z' }), pod('web-7d9f-b')],
      left: 'b',
    },
  ])('removes pods first that $when', ({ pods, left }) => {
    expect(namesAfter(from(...pods), 'scale deploy/web=1')).toEqual([`web-7d9f-${left}`]);
  });

  it('counts existing pods beside their workloads in a cluster', () => {
    const set = workload('ReplicaSet', 'web-7d9f', {
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'uid-web' }],
    });
    const manifests = from(workload('Deployment', 'web'), set, ...three.map(({ object }) => object));
    const found = changedBy(manifests, 'scale deployment/web=4');
    expect(found.filter(({ kind }) => kind === 'Pod')).toHaveLength(4);
    expect(found.flatMap((object) => (object.kind === 'Pod' ? [] : [(object as Workload).spec.replicas]))).toEqual([
      0, 0,
    ]);
  });

  it('ignores the pods of a Deployment whose name has the same prefix', () => {
    const other = pod('web-canary-55aa-x', { owner: ['ReplicaSet', 'web-canary-55aa'] });
    expect(namesAfter(from(pod('web-7d9f-a'), other), 'scale deploy/web=0')).toEqual(['web-canary-55aa-x']);
  });

  it('sets the replicas of a workload without pods', () => {
    const set = workload('ReplicaSet', 'web-1', {
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'uid-web' }],
    });
    const [deployment, replicaSet] = changedBy(
      from(workload('Deployment', 'web', {}, 0), set),
      'scale deploy/web=7',
    ) as readonly Workload[];
    expect(deployment?.spec.replicas).toBe(7);
    expect(deployment?.metadata.resourceVersion).toBeUndefined();
    expect(replicaSet?.spec.replicas).toBe(0);
  });

  it('gives pods of a StatefulSet the next ordinals and new volume claims', () => {
    const volumes = (name: string): Pod['spec']['volumes'] => [
      { name: 'data', persistentVolumeClaim: { claimName: `data-${name}` } },
    ];
    const owner = ['StatefulSet', 'db'] as const;
    const claim: KubeObject = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data-db-1', namespace: 'default' },
      spec: { storageClassName: 'gp3', volumeName: 'pv-1' },
    } as KubeObject;
    const manifests = from(
      pod('db-0', { owner, volumes: volumes('db-0') }),
      pod('db-1', { owner, volumes: volumes('db-1'), created: '2026-06-02T00:00:00Z' }),
      claim,
    );
    const found = changedBy(manifests, 'scale sts/db=3');
    const added = found.find(({ metadata }) => metadata.name === 'db-2') as Pod;
    expect(added.spec.volumes).toEqual(volumes('db-2'));
    expect(found.find(({ metadata }) => metadata.name === 'data-db-2')).toMatchObject({
      spec: { storageClassName: 'gp3' },
    });
    expect(found.find(({ metadata }) => metadata.name === 'data-db-2')).not.toHaveProperty('spec.volumeName');
    expect(namesAfter(manifests, 'scale sts/db=1')).toEqual(['db-0']);
    const [, without] = podsAfter(manifests.slice(1, 2), 'scale sts/db=2');
    expect(without?.spec.volumes).toBeUndefined();
  });

  it.each([
    {
      spec: { minAvailable: 2 },
      to: 2,
      is: { expectedPods: 2, currentHealthy: 2, desiredHealthy: 2, disruptionsAllowed: 0 },
    },
    {
      spec: { maxUnavailable: '50%' },
      to: 2,
      is: { expectedPods: 2, currentHealthy: 2, desiredHealthy: 1, disruptionsAllowed: 1 },
    },
    {
      spec: { maxUnavailable: 1 },
      to: 5,
      is: { expectedPods: 5, currentHealthy: 3, desiredHealthy: 4, disruptionsAllowed: 0 },
    },
    {
      spec: { minAvailable: '50%' },
      to: 0,
      is: { expectedPods: 0, currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0 },
    },
  ])('recalculates the disruptions that $spec allows for $to pods', ({ spec, to, is }) => {
    const budget: PodDisruptionBudget = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'web', namespace: 'default' },
      spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
      status: { expectedPods: 3, currentHealthy: 3, desiredHealthy: 2, disruptionsAllowed: 1 },
    };
    const other = { ...budget, metadata: { name: 'web', namespace: 'other' } };
    const manifests = [...three, ...from(budget, other)];
    const budgets = changedBy(manifests, `scale deploy/web=${to}`).filter(({ kind }) => kind === 'PodDisruptionBudget');
    expect((budgets[0] as PodDisruptionBudget).status).toEqual(is);
    expect(budgets[1]).toBe(other);
  });

  it.each([
    [
      'scale deploy/nope=1',
      /^--what-if "scale deploy\/nope=1": Deployment "default\/nope" not found in the manifests; existing names: default\/web$/,
    ],
    ['scale shop/deploy/web=1', /Deployment "shop\/web" not found/],
    ['scale cronjob/web=1', /"cronjob" cannot be scaled; use deploy, statefulset or replicaset$/],
    ['scale deploy/web', /expected "scale \[NAMESPACE\/\]KIND\/NAME=REPLICAS"/],
    ['drain', /expected .* "drain NODE"/],
    ['limit default', /expected .* "limit NODEPOOL RESOURCE=AMOUNT"/],
    ['limit none cpu=4', /none/],
    ['require none team=a', /none/],
    ['drain nope', /node "nope" not found in the manifests; none exist$/],
    [
      'nope.yaml',
      /^nope.yaml: not a file, a folder or a change; changes are, for example, "scale deploy\/web=50", "drain NODE", "limit NODEPOOL cpu=100", "require NODEPOOL KEY=VALUES" or "spot\+30%"$/,
    ],
    ['spot-101%', /prices cannot fall by more than 100%/],
  ])('rejects %j', (whatIf, message) => {
    expect(() => applyChanges(from(workload('Deployment', 'web')), [whatIf], NOW)).toThrow(message);
  });
});

describe('a change of a NodePool', () => {
  const requirement = (key: string, ...values: string[]) => ({ key, operator: 'In', values });
  const pool = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name: 'default' },
    spec: {
      limits: { cpu: '10' },
      template: { spec: { requirements: [requirement('team', 'a'), requirement('rack', 'r')] } },
    },
  } as KubeObject;
  const changed = (whatIf: string): unknown => (changedBy(from(pool), whatIf)[0] as { readonly spec?: unknown }).spec;

  it('sets a limit', () => {
    expect(changed('limit default memory=64Gi')).toMatchObject({ limits: { cpu: '10', memory: '64Gi' } });
    expect(() => changed('limit default cpu=4q')).toThrow(
      /would not be valid: .*Cannot read quantity "4q": expected a number with a suffix/,
    );
  });

  it('replaces, adds and removes a requirement', () => {
    const requirements = (whatIf: string) => changed(whatIf) as { template: { spec: { requirements: unknown } } };
    expect(requirements('require default team=a,b').template.spec.requirements).toEqual([
      requirement('rack', 'r'),
      requirement('team', 'a', 'b'),
    ]);
    expect(requirements('require default zone=x').template.spec.requirements).toHaveLength(3);
    expect(() => changed('require default karpenter.sh/nodepool=a')).toThrow(
      /NodePool "default" would not be valid: .*karpenter.sh\/nodepool/,
    );
    expect(requirements('require default team=').template.spec.requirements).toEqual([requirement('rack', 'r')]);
  });
});

describe('drain', () => {
  const node: KubeObject = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'ip-10-0-0-1.ec2.internal' },
    spec: { providerID: 'aws:///a' },
  } as KubeObject;
  const claim: KubeObject = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name: 'default-x' },
    spec: {},
    status: { providerID: 'aws:///a' },
  } as KubeObject;
  const others = [
    { ...node, metadata: { name: 'other' }, spec: { providerID: 'aws:///b' } },
    { ...claim, metadata: { name: 'default-y' }, status: { providerID: 'aws:///b' } },
  ] as unknown as readonly KubeObject[];

  it.each([
    'ip-10-0-0-1.ec2.internal',
    'ip-10-0-0-1',
    'default-x',
  ])('deletes the Node and the NodeClaim of %s', (name) => {
    const found = changedBy(from(node, claim, ...others), `drain ${name}`);
    expect(found.map(({ metadata }) => metadata.deletionTimestamp)).toEqual([
      '2026-06-03T12:00:00Z',
      '2026-06-03T12:00:00Z',
      undefined,
      undefined,
    ]);
  });

  it('keeps the time of an earlier deletion', () => {
    const leaving = { ...node, metadata: { ...node.metadata, deletionTimestamp: '2026-06-03T11:00:00Z' } };
    expect(changedBy(from(leaving), 'drain ip-10-0-0-1')[0]).toBe(leaving);
  });
});

describe('the price of a what-if change', () => {
  const types = [instanceType('m5.large', 2, 0.1), instanceType('m5.metal', 96, 5), instanceType('c5.large', 2, 0.08)];
  const pool = { kind: 'NodePool', apiVersion: 'karpenter.sh/v1', metadata: { name: 'default' } } as KubeObject;
  const pricesAt = (...texts: readonly string[]): readonly number[] => {
    const changes = texts.flatMap((text) => priceChangeOf(text) ?? []);
    return atOtherPrices(
      () => types,
      changes,
      from(pool),
    )(partial({})).flatMap(({ offerings }) =>
      offerings.slice(0, 2).map(({ usdPerHour }) => Number(usdPerHour.toFixed(4))),
    );
  };

  it.each([
    [[], [0.1, 0.04, 5, 2, 0.08, 0.032]],
    [['spot+50%'], [0.1, 0.06, 5, 3, 0.08, 0.048]],
    [['on-demand-10%'], [0.09, 0.04, 4.5, 2, 0.072, 0.032]],
    [['m5.*+100%'], [0.2, 0.08, 10, 4, 0.08, 0.032]],
    [
      ['*.large+100%', 'spot+50%'],
      [0.2, 0.12, 5, 3, 0.16, 0.096],
    ],
    [['m5.large-100%'], [0, 0, 5, 2, 0.08, 0.032]],
  ])('is with %j: %j', (changes, prices) => {
    expect(pricesAt(...changes)).toEqual(prices);
  });

  it('is cached per list of types', () => {
    const repriced = atOtherPrices(
      () => types,
      [priceChangeOf('spot+1%')].flatMap((change) => change ?? []),
      [],
    );
    expect(repriced(partial({}))).toBe(repriced(partial({})));
  });

  it('is rejected for types that no NodePool uses', () => {
    expect(() => pricesAt('m6.*+10%')).toThrow(
      '--what-if "m6.*+10%": no NodePool in the manifests has a matching instance type',
    );
  });
});
