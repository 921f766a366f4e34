/** Pods of manifests: only pods that the cluster would have, with the claims that controllers would create. */

import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { stringify } from 'yaml';
import type { Workload } from '#api/objects';
import { parseManifests, readManifests } from '../../../../src/cli/objects/read.ts';
import { podsOfWorkload, uidsInOrder } from '../../../../src/cli/objects/workloads.ts';
import { type SimulateResult, simulate, simulateManifests } from '../../../../src/cli/simulate.ts';

const report = (...names: readonly string[]): readonly string[] =>
  names.map((name) => join(import.meta.dirname, '../fixtures/reports', `${name}.yaml`));

const read = (...names: readonly string[]): Promise<SimulateResult> =>
  simulate({ filename: report(...names), nowMs: 0 });

/** Simulates objects with a NodePool of any zone. */
const simulated = (...objects: readonly object[]): Promise<SimulateResult> =>
  simulateManifests(
    [
      ...readManifests(report('nc', 'pool-any')),
      ...parseManifests(objects.map((one) => stringify(one)).join('---\n'), 'x'),
    ],
    { nowMs: 0 },
  );

const podsIn = ({ simulation }: SimulateResult): readonly string[] =>
  simulation.nodeClaims.flatMap(({ pods }) => pods).toSorted();
const zonesIn = ({ simulation }: SimulateResult): readonly (readonly string[])[] =>
  simulation.nodeClaims.map(({ requirements }) => [
    ...(requirements.find(({ key }) => key === 'topology.kubernetes.io/zone')?.values ?? ['any']),
  ]);

const containers = [{ name: 'c', image: 'x', resources: { requests: { cpu: '2' } } }];
const workload = (kind: string, spec: object, more: object = {}): object => ({
  apiVersion: kind === 'Job' ? 'batch/v1' : kind === 'ReplicationController' ? 'v1' : 'apps/v1',
  kind,
  metadata: { name: 'w', namespace: 'default' },
  spec: { template: { metadata: { labels: { app: 'w' } }, spec: { containers } }, ...spec },
  ...more,
});

describe('a workload', () => {
  it('has no pods if it is a suspended Job, and gated pods wait', async () => {
    const found = await read('nc', 'pool-any', 'suspended');
    expect(podsIn(found)).toEqual(['default/otherscheduler']);
    expect(found.simulation.waiting).toEqual({
      'default/gatedpod': 'the pod has scheduling gates: kueue.x-k8s.io/admission',
    });
    expect(found.notes.join('\n')).toMatch(/Job default\/queued: is suspended/);
    expect(found.notes.join('\n')).toMatch(/CronJob default\/nightly: starts Jobs by schedule/);
    expect(found.notes.join('\n')).toMatch(/pods of scheduler volcano count once it has marked them/);
  });

  it('has waiting pods if the template has scheduling gates', async () => {
    const { simulation } = await read('base', 'gdep');
    expect(simulation.nodeClaims).toEqual([]);
    expect(Object.keys(simulation.waiting ?? {})).toEqual(['default/g-0', 'default/g-1']);
  });

  it.each([
    ['a Job', workload('Job', { parallelism: 3 }), 3],
    ['a Job without pods', workload('Job', { parallelism: 0 }), 0],
    ['a Job with completions', workload('Job', { parallelism: 4, completions: 2 }), 2],
    [
      'a Job with remaining completions',
      workload('Job', { parallelism: 4, completions: 6 }, { status: { succeeded: 5 } }),
      1,
    ],
    [
      'a Job with all completions',
      workload('Job', { parallelism: 4, completions: 6 }, { status: { succeeded: 6 } }),
      0,
    ],
    ['a Job of a work queue after a success', workload('Job', { parallelism: 4 }, { status: { succeeded: 1 } }), 0],
    [
      'a failed Job',
      workload('Job', { parallelism: 4 }, { status: { conditions: [{ type: 'Failed', status: 'True' }] } }),
      0,
    ],
    ['a Job of another controller', workload('Job', { parallelism: 4, managedBy: 'kueue.x-k8s.io/multikueue' }), 0],
    ['a Job of the Job controller', workload('Job', { parallelism: 4, managedBy: 'kubernetes.io/job-controller' }), 4],
    ['a paused Deployment', workload('Deployment', { paused: true, replicas: 2 }), 0],
    [
      'a paused Deployment with a ReplicaSet',
      workload('Deployment', { paused: true, replicas: 2 }, { status: { replicas: 1 } }),
      2,
    ],
    ['a Deployment without replicas', workload('Deployment', { replicas: 0 }), 0],
    ['a ReplicationController', workload('ReplicationController', { replicas: 2, selector: { app: 'w' } }), 2],
    [
      'a Job of Volcano',
      { ...workload('Job', { minAvailable: 2, tasks: [] }), apiVersion: 'batch.volcano.sh/v1alpha1' },
      0,
    ],
    [
      'a StatefulSet of OpenKruise',
      { ...workload('StatefulSet', { replicas: 2 }), apiVersion: 'apps.kruise.io/v1beta1' },
      0,
    ],
  ])('has the pods that its controller creates: %s', async (_, object, count) => {
    expect(podsIn(await simulated(object))).toHaveLength(count);
  });

  it('has no pods while it is being deleted', async () => {
    const leaving = workload('Deployment', { replicas: 2 }) as { metadata: object };
    const metadata = { ...leaving.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
    expect(podsIn(await simulated({ ...leaving, metadata }))).toEqual([]);
  });

  it('has pods from the first ordinal of a StatefulSet', async () => {
    const set = workload('StatefulSet', { replicas: 2, ordinals: { start: 5 } });
    expect(podsIn(await simulated(set))).toEqual(['default/w-5', 'default/w-6']);
  });

  it('has as many pods as a Job may still run', () => {
    const counts = fc.record({
      parallelism: fc.nat(5),
      completions: fc.option(fc.nat(8), { nil: undefined }),
      succeeded: fc.nat(9),
      suspend: fc.boolean(),
    });
    fc.assert(
      fc.property(counts, ({ succeeded, suspend, parallelism, completions }) => {
        const spec = { parallelism, suspend, ...(completions === undefined ? {} : { completions }) };
        const { length } = podsOfWorkload(workload('Job', spec, { status: { succeeded } }) as Workload, uidsInOrder());
        const remaining = completions === undefined ? parallelism : Math.max(0, completions - succeeded);
        const hasEnded = suspend || (completions === undefined && succeeded > 0);
        expect(length).toBe(hasEnded ? 0 : Math.min(parallelism, remaining));
      }),
    );
  });
});

describe('a pod of a cluster', () => {
  const pod = (name: string, status: object): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      uid: name,
      resourceVersion: '7',
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'rs', controller: true }],
    },
    spec: { containers },
    status,
  });
  const UNSCHEDULABLE = { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] };

  it('waits until kube-scheduler has tried it', async () => {
    const { simulation } = await read('only-b');
    expect(simulation.nodeClaims).toEqual([]);
    expect(simulation.waiting?.['default/web-b']).toMatch(/kube-scheduler has not marked the pod as unschedulable yet/);
  });

  it('counts before that if an equal replica is unschedulable, as in the operator', async () => {
    const found = await simulated(
      pod('web-a', { phase: 'Pending', ...UNSCHEDULABLE }),
      pod('web-b', { phase: 'Pending' }),
    );
    expect(podsIn(found)).toEqual(['default/web-a', 'default/web-b']);
  });

  it('is not pending after it has ended', async () => {
    const { simulation } = await simulated(pod('done', { phase: 'Succeeded' }), pod('failed', { phase: 'Failed' }));
    expect(simulation.nodeClaims).toEqual([]);
    expect(simulation.waiting).toBeUndefined();
  });
});

describe('the claim of a volume', () => {
  it('is created from the template of a StatefulSet or an ephemeral volume', async () => {
    const found = await read('nc', 'pool-any', 'claim-templates');
    expect(podsIn(found)).toEqual(['default/db-0', 'default/db-1', 'default/eph-0']);
    expect(zonesIn(found).flat()).toEqual(['us-west-2c']);
  });
});

describe('a static NodePool', () => {
  const with_ = (change: (text: object) => object) =>
    simulateManifests(
      readManifests(report('static-and-custom-ami')).map((one) =>
        one.object.metadata.name === 'fixed' && one.object.kind === 'NodePool'
          ? { ...one, object: change(one.object) as typeof one.object }
          : one,
      ),
      { nowMs: 0 },
    );

  it('adds its nodes, and images of one architecture limit the instance types', async () => {
    const found = await read('static-and-custom-ami');
    expect(found.simulation.existingNodes.flatMap(({ pods }) => pods)).toHaveLength(5);
    expect(found.simulation.nodeClaims).toEqual([]);
    expect(found.notes.join('\n')).toMatch(/NodePool fixed: 2 static nodes \(m5\.2xlarge\) count as nodes that join/);
    expect(found.notes.join('\n')).toMatch(
      /select images for amd64, so only instance types of this architecture count/,
    );
  });

  it.each([
    [{ replicas: 0 }, 0],
    [{ replicas: 4, limits: { nodes: '1' } }, 1],
    [{ replicas: 3, limits: {} }, 3],
  ])('has at most spec.limits.nodes nodes: %j', async (spec, count) => {
    const { snapshot } = await with_((pool) => ({ ...pool, spec: { ...(pool as { spec: object }).spec, ...spec } }));
    expect(snapshot.nodes).toHaveLength(count);
    expect(snapshot.nodes.every(({ labels }) => labels['node.kubernetes.io/instance-type'] === 'm5.2xlarge')).toBe(
      true,
    );
  });

  it('adds no nodes if the feature gate is disabled, with a note', async () => {
    const { simulation, notes } = await simulate({
      filename: report('static-and-custom-ami'),
      nowMs: 0,
      featureGates: 'StaticCapacity=false',
    });
    expect(notes.join('\n')).toMatch(/2 static nodes do not count: the feature gate StaticCapacity is disabled/);
    expect(simulation.nodeClaims.length).toBeGreaterThan(0);
    const types = simulation.nodeClaims.flatMap(({ instanceTypes }) => instanceTypes);
    expect(types.filter((type) => /^[a-z]+\d+g/.test(type))).toEqual([]);
  });
});

describe('the architecture of images', () => {
  const pool = (terms: readonly object[], requirements: readonly object[] = []) =>
    simulateManifests(
      [
        ...readManifests(report('nc')).map((one) => ({
          ...one,
          object: {
            ...one.object,
            spec: { ...(one.object as { spec?: object }).spec, amiFamily: 'Custom', amiSelectorTerms: terms },
          },
        })),
        ...readManifests(report('pool-any')).map((one) => ({
          ...one,
          object: {
            ...one.object,
            spec: {
              template: {
                spec: {
                  nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
                  requirements,
                },
              },
            },
          },
        })),
        ...parseManifests(stringify(workload('Deployment', { replicas: 1 })), 'x'),
      ],
      { nowMs: 0 },
    );
  const isArm = ({ simulation }: SimulateResult): readonly boolean[] => [
    ...new Set(
      simulation.nodeClaims.flatMap(({ instanceTypes }) => instanceTypes.map((type) => /^[a-z]+\d+g/.test(type))),
    ),
  ];

  it.each([
    [[{ name: 'my-eks-x86_64-*' }], [false]],
    [[{ name: 'my-eks-arm64-v1' }], [true]],
    [[{ ssmParameter: '/x/ubuntu/aarch64/ami-id' }], [true]],
    [[{ tags: { Name: 'base-amd64' } }], [false]],
  ])('is read from the terms: %j', async (terms, expected) => {
    expect(isArm(await pool(terms))).toEqual(expected);
  });

  it.each([
    [[{ name: 'my-eks-*' }]],
    [[{ id: 'ami-1' }]],
    [[{ name: 'a-amd64' }, { tags: { team: 'a' } }]],
  ])('is unknown if a term does not state it: %j', async (terms) => {
    const found = await pool(terms);
    expect(found.simulation.unknown?.join()).toMatch(/EC2NodeClass default: the architecture of the images/);
    const requirement = { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] };
    expect((await pool(terms, [requirement])).simulation.unknown?.join() ?? '').not.toMatch(/architecture/);
  });
});
