/** Content that a snapshot removes, without an effect on results. */
import { describe, expect, it } from '@jest/globals';
import { nodePoolHash } from '#api/hashes';
import type { ConfigMap, EC2NodeClass, KubeObject, NodePool } from '#api/objects';
import { readDeclarations } from '#state';
import { redactAlike } from '../../../../src/cli/objects/redaction.ts';
import { KNOWN_KINDS } from '../../../../src/cli/objects/snapshot.ts';
import { READ_KINDS } from '../../../../src/cli/snapshot/kinds.ts';
import { Redactor } from '../../../../src/cli/snapshot/redact.ts';
import { planted, SECRET } from './secrets.ts';

const of = (kind: string): KubeObject => planted().find((object) => object.kind === kind) as KubeObject;
const redacted = (object: KubeObject): KubeObject => new Redactor().redacted(object);

describe('a redacted object', () => {
  it.each(planted().map((object) => [object.kind, object] as const))('contains no planted secret: %s', (_, object) => {
    expect(JSON.stringify(object)).toContain(SECRET);
    expect(JSON.stringify(redacted(object))).not.toContain(SECRET);
  });

  it('has planted secrets for every kind', () => {
    const kinds = new Set(planted().map(({ kind }) => kind));
    const gated = ['NodeOverlay', 'NodePolicy', 'CapacityBuffer', 'CapacityQuota', 'ProvisioningRequest']; // their schemas have no free text
    const read = READ_KINDS.map(({ versions: [{ kind }] }) => kind);
    expect(read.filter((kind) => !kinds.has(kind) && !gated.includes(kind))).toEqual([]);
  });

  it('keeps only its metadata if its kind is unknown', () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { key: SECRET } } as KubeObject;
    expect(redacted(secret)).toEqual({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } });
  });

  it('keeps the fields of workloads that decide whether their controllers create pods', () => {
    const template = { spec: { containers: [{ name: 'a' }] } };
    const object = (kind: string, spec: object, status: object) => ({
      ...{ apiVersion: 'batch/v1', kind, metadata: { name: 'x', namespace: 'default' } },
      ...{ spec: { ...spec, template }, status },
    });
    const ended = { type: 'Complete', status: 'True' };
    for (const workload of [
      object('Job', { suspend: true, completions: 2 }, {}),
      object('Job', { managedBy: 'example.com/queue' }, { succeeded: 1, conditions: [ended] }),
      object('Deployment', { replicas: 2, paused: true }, { replicas: 0 }),
      object('StatefulSet', { replicas: 2, ordinals: { start: 3 } }, { replicas: 1 }),
    ])
      expect(redacted(workload)).toEqual(workload);
  });

  it('keeps the NodeClaim of a nomination, and no other message', () => {
    const messageOf = (reason: string, message: string): unknown => {
      const event = { apiVersion: 'v1', kind: 'Event', metadata: { name: 'x', namespace: 'default' }, reason, message };
      return (redacted(event as KubeObject) as { readonly message?: string }).message;
    };
    const text = `${SECRET}: nodeclaim/default-7xk2p`;
    expect(messageOf('Nominated', text)).toBe('nodeclaim/default-7xk2p');
    expect(messageOf('Nominated', SECRET)).toBeUndefined();
    expect(messageOf('FailedScheduling', text)).toBeUndefined();
  });

  it('contains the version of an autoscaler, and no other image', () => {
    const deployment = (image: string) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'x', namespace: 'default' },
      spec: { template: { spec: { containers: [{ name: 'a', image }] } } },
    });
    const imageOf = (image: string) =>
      (redacted(deployment(image)) as unknown as ReturnType<typeof deployment>).spec.template.spec.containers[0]?.image;
    for (const image of [
      'public.ecr.aws/karpenter/controller:0.37.0@sha256:0',
      'registry.k8s.io/autoscaling/cluster-autoscaler:v1.30.0',
    ])
      expect(imageOf(image)).toBe(image);
    expect(imageOf('registry.example.com/shop/karpenter-exporter:1')).toBeUndefined();
  });

  it('contains the fields of declared devices that the operator reads', () => {
    const { data } = redacted(of('ConfigMap')) as ConfigMap;
    const texts = { metadata: { name: 'the-devices' }, data: data ?? {} };
    const { devices, invalid } = readDeclarations([texts]);
    expect(devices.map(({ template }) => [template.driver, template.pools])).toEqual([
      ['gpu.example.com', [{ pool: 'p', devices: [{ name: 'a' }], sharedCounters: [] }]],
    ]);
    // a document that cannot be parsed stays invalid
    expect(invalid.map(({ text }) => text)).toEqual([expect.stringMatching(/^bad\.yaml, document 1: driver/)]);
    const other = { ...of('ConfigMap'), metadata: { name: 'other', namespace: 'default' } };
    expect(redacted(other)).toEqual({ apiVersion: 'v1', kind: 'ConfigMap', metadata: other.metadata });
  });

  it('is unchanged if it is redacted again', () => {
    for (const object of planted()) expect(redacted(redacted(object))).toEqual(redacted(object));
  });
});

describe('the list of kinds of a snapshot', () => {
  it('contains the kinds that offline commands and earlier versions use', () => {
    const read = new Set(READ_KINDS.map(({ versions: [{ kind }] }) => kind));
    const told = [
      'CustomResourceDefinition',
      'MutatingWebhookConfiguration',
      'ValidatingWebhookConfiguration',
      'SnapshotInfo',
    ];
    expect([...KNOWN_KINDS].filter((kind) => !read.has(kind) && !told.includes(kind))).toEqual([]);
    // other ConfigMaps in manifests are reported as ignored
    const others = ['Provisioner', 'AWSNodeTemplate', 'Machine', 'ConfigMap'];
    expect([...read].filter((kind) => !KNOWN_KINDS.has(kind))).toEqual(others);
  });
});

describe('a drift hash', () => {
  const claim = (hash: string, version = 'v3'): KubeObject => ({
    ...of('NodeClaim'),
    metadata: {
      name: 'c',
      labels: { 'karpenter.sh/nodepool': 'the-nodepool' },
      annotations: { 'karpenter.sh/nodepool-hash': hash, 'karpenter.sh/nodepool-hash-version': version },
    },
  });
  const hashAfter = (redactor: Redactor, object: KubeObject) =>
    redactor.redacted(object).metadata.annotations?.['karpenter.sh/nodepool-hash'];

  it('matches after the redaction exactly if it matched before', () => {
    const redactor = new Redactor();
    const pool = of('NodePool') as NodePool;
    const after = redactor.redacted(pool) as NodePool;
    expect(nodePoolHash(after)).not.toBe(nodePoolHash(pool));
    expect(hashAfter(redactor, claim(nodePoolHash(pool)))).toBe(nodePoolHash(after));
    expect(hashAfter(redactor, claim('1'))).toBe('1');
    expect(hashAfter(redactor, claim(nodePoolHash(pool), 'v2'))).toBe(nodePoolHash(pool));
  });

  it('equals that of a manifest that is redacted in the same way', () => {
    const [pool, nodeClass] = [of('NodePool') as NodePool, of('EC2NodeClass') as EC2NodeClass];
    const [safePool, safeClass] = [redacted(pool) as NodePool, redacted(nodeClass) as EC2NodeClass];
    expect(nodePoolHash(redactAlike(safePool, pool))).toBe(nodePoolHash(safePool));
    expect(redactAlike(safeClass, nodeClass).spec.userData).toBe(safeClass.spec.userData);
    const edited = { ...nodeClass, spec: { ...nodeClass.spec, userData: 'echo other' } };
    expect(redactAlike(safeClass, edited).spec.userData).not.toBe(safeClass.spec.userData);
    // Nothing is replaced for a complete dump.
    expect(redactAlike(nodeClass, nodeClass)).toBe(nodeClass);
    expect(redactAlike(pool, pool)).toBe(pool);
  });
});
