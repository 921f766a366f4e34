/** Findings of the doctor about a cluster with a Karpenter installation. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type Condition,
  DEPLOYMENT,
  EC2_NODE_CLASS,
  LEASE,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  type Node,
  type NodeClaim,
  type Workload,
} from '#api/objects';
import { nodeClassOf, nodePoolOf } from '../../../support/awsobjects.ts';
import { connect } from '../../../support/kube-api.ts';
import { CLUSTER, type Examined, examinedWorld } from './support.ts';

let examined: Examined;
beforeEach(async () => {
  examined = await examinedWorld();
});
afterEach(() => examined.stop());

const kube = () => connect(examined.world.kube.url);

/** Deployment in the form that the chart of Karpenter installs. */
const karpenter = (tag: string, namespace = 'kube-system', replicas = 2): Workload => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'karpenter', namespace, labels: { 'app.kubernetes.io/name': 'karpenter' } },
  spec: {
    replicas,
    selector: { matchLabels: { app: namespace } },
    template: {
      metadata: { labels: { app: namespace } },
      spec: {
        containers: [
          { name: 'controller', image: `public.ecr.aws/karpenter/controller:${tag}@sha256:${'0'.repeat(64)}` },
        ],
      },
    },
  },
});

/**
 * The hash that Karpenter 1.14.1 computes for the NodePool of `nodePoolOf`, whose template has only Karpenter's
 * defaults.
 */
const POOL_HASH = '6821555240594823858';

const annotations = {
  'karpenter.sh/nodepool-hash': POOL_HASH,
  'karpenter.sh/nodepool-hash-version': 'v3',
  'karpenter.k8s.aws/ec2nodeclass-hash': '1',
  'karpenter.k8s.aws/ec2nodeclass-hash-version': 'v5',
};
const isTrue = (type: string): Condition => ({
  type,
  status: 'True',
  reason: type,
  message: '',
  lastTransitionTime: '2026-08-01T00:00:00Z',
  observedGeneration: 1,
});

async function claim(name: string, more: object = {}, conditions: readonly string[] = ['Initialized']): Promise<void> {
  const made = await kube().create(NODE_CLAIM, {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name, annotations, labels: { 'karpenter.sh/nodepool': 'default' }, ...more },
    spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }, requirements: [] },
  } as NodeClaim);
  const status = { conditions: conditions.map(isTrue) };
  await kube().patch(NODE_CLAIM, made.metadata, { status }, { subresource: 'status' });
}

const pool = async (hash: string): Promise<void> => {
  await kube().create(EC2_NODE_CLASS, nodeClassOf(CLUSTER));
  const made = nodePoolOf();
  await kube().create(NODE_POOL, {
    ...made,
    metadata: { ...made.metadata, annotations: { ...annotations, 'karpenter.sh/nodepool-hash': hash } },
  });
};

const node = (name: string, more: Partial<Node['metadata']> = {}, taints: string[] = []) =>
  kube().create(NODE, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, ...more },
    spec: { taints: taints.map((key) => ({ key, effect: 'NoSchedule' as const })) },
  });

describe('the version of Karpenter', () => {
  it.each([
    ['1.14.1', 'ok', 'has version 1.14.1, whose nodes can be taken over'],
    ['1.1.0', 'ok', 'has version 1.1.0, whose nodes can be taken over'],
    ['1.0.8', 'error', 'has version 1.0.8, whose objects may belong to beta or alpha APIs'],
    ['v0.33.2', 'error', 'has version v0.33.2, whose objects may belong to beta or alpha APIs'],
    ['1.20.0', 'warning', 'has version 1.20.0, but takeovers that keep nodes were tested only up to version 1.14'],
    ['latest', 'warning', 'its version is unknown: "latest"'],
  ])('is reported for %s as %s', async (tag, level, message) => {
    await kube().create(DEPLOYMENT, karpenter(tag));
    expect(await examined.findings('Karpenter kube-system/karpenter')).toMatchObject([{ level, message }]);
  });

  it('is not reported for a cluster without Karpenter and without nodes', async () => {
    expect(await examined.findings('takeover')).toEqual([]);
  });
});

describe('a valid cluster', () => {
  it('can be taken over', async () => {
    await kube().create(DEPLOYMENT, karpenter('1.14.1'));
    await pool(POOL_HASH);
    await claim('default-a');
    expect(await examined.findings('takeover')).toEqual([
      { level: 'ok', subject: 'takeover', message: '1 NodeClaims of 1 NodePools can be taken over unchanged' },
    ]);
    expect(await examined.findings('installation')).toEqual([]);
  });
});

describe('a second controller', () => {
  it('is an error in another namespace, unless one is scaled to 0', async () => {
    await kube().create(DEPLOYMENT, karpenter('1.14.1'));
    await kube().create(DEPLOYMENT, karpenter('1.14.1', 'default'));
    expect(await examined.findings('takeover')).toMatchObject([
      {
        level: 'error',
        message: 'two controllers are running with separate Leases: default/karpenter, kube-system/karpenter',
      },
    ]);
    await kube().patch(DEPLOYMENT, { name: 'karpenter', namespace: 'default' }, { spec: { replicas: 0 } });
    expect(await examined.findings('takeover')).toMatchObject([{ level: 'ok' }]);
  });

  it('is an error if both lead, unless the Lease of one was released or has expired', async () => {
    await kube().create(DEPLOYMENT, karpenter('1.14.1'));
    const lease = (namespace: string, holderIdentity: string, ageMs: number) =>
      kube().create(LEASE, {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'karpenter-leader-election', namespace },
        spec: {
          holderIdentity,
          leaseDurationSeconds: 15,
          renewTime: new Date(Date.now() - ageMs).toISOString().replace('Z', '000Z'),
        },
      });
    await lease('kube-system', 'karpenter-6f9d8c7b5-x2x4z_0f1e', 1_000);
    await lease('kube-public', 'gone', 60_000);
    expect(await examined.findings('Lease')).toMatchObject([
      {
        level: 'ok',
        message: 'held: kube-system/karpenter-leader-election by karpenter-6f9d8c7b5-x2x4z_0f1e',
      },
    ]);
    await lease('default', 'karpenter-7b_2', 1_000);
    expect(await examined.findings('takeover')).toMatchObject([
      { level: 'error', message: expect.stringMatching(/^two controllers are leaders: default\/.*, kube-system\//) },
    ]);
  });
});

describe('an object that cannot be taken over unchanged', () => {
  it('is reported', async () => {
    await pool('7');
    await claim('default-a', { annotations: {} });
    await claim('default-b', {}, ['Initialized', 'Drifted']);
    await claim('default-c', {}, []);
    await claim('default-d', {
      annotations: { ...annotations, 'compatibility.karpenter.sh/v1beta1-kubelet-conversion': '{}' },
    });
    await node('n1', {}, ['karpenter.sh/disruption']);
    await node('n2', { labels: { 'karpenter.sh/provisioner-name': 'old' } });
    await node('n3', {}, ['karpenter.sh/disrupted']);
    expect((await examined.findings('NodeClaims')).map(({ message }) => message)).toEqual([
      'default-a have no hash of their NodePool or EC2NodeClass, so changes of these are not detected as drift',
      'default-b are already drifted and are replaced by any controller',
      'default-c are not initialized yet',
    ]);
    expect(await examined.findings('NodeClaim default-d')).toMatchObject([
      { level: 'warning', fix: expect.stringContaining('spec.kubelet') },
    ]);
    expect((await examined.findings('Nodes')).map(({ message }) => message)).toEqual([
      'n3 are tainted for a disruption that has not started',
      'n1 have the taint karpenter.sh/disruption of beta versions, which no controller removes',
      'n2 belong to Provisioners of alpha versions, so no controller removes them',
    ]);
    expect((await examined.findings('NodePool default')).map(({ message }) => message)).toContain(
      'its hash annotation does not match its spec, so its nodes will drift when a controller processes the change',
    );
  });

  it('is a CRD with other stored versions or another conversion', async () => {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.karpenter.sh';
    const patch = (body: unknown, part = '') =>
      kube().raw('PATCH', `${path}${part}`, body, 'application/merge-patch+json');
    await patch({ status: { storedVersions: ['v1beta1', 'v1'] } }, '/status');
    expect(await examined.findings('CRD nodepools.karpenter.sh')).toMatchObject([
      { level: 'error', message: expect.stringMatching(/^objects may be stored as v1beta1,/) },
    ]);
  });
});
