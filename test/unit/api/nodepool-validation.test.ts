import { describe, expect, it } from '@jest/globals';
import { restrictionText } from '../../../src/api/labels.ts';
import { nodeOverlayErrors } from '../../../src/api/nodeoverlay.ts';
import type { NodePool } from '../../../src/api/nodepool.ts';
import { nodePoolErrors } from '../../../src/api/nodepool-validation.ts';

type Template = NodePool['spec']['template'];

const poolOf = (template: Partial<Template['spec']>, metadata: Template['metadata'] = {}): NodePool => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default' },
  spec: {
    template: {
      metadata,
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [],
        ...template,
      },
    },
  },
});

const errors = (spec: Partial<Template['spec']>, labels: Record<string, string> = {}): string[] =>
  nodePoolErrors(poolOf(spec, { labels }));

const sound = poolOf({});
const withSpec = (spec: Partial<NodePool['spec']>): NodePool => ({ ...sound, spec: { ...sound.spec, ...spec } });
const LONG = 'x'.repeat(64);

describe('nodePoolErrors', () => {
  it('returns no error for a valid NodePool', () => {
    const taint = { key: 'example.com/a', value: 'b', effect: 'NoSchedule' } as const;
    expect(errors({ taints: [taint, { ...taint, effect: 'NoExecute' }] }, { team: 'search' })).toEqual([]);
  });

  it.each([
    ['karpenter.sh/nodepool', 'x', 'invalid key name "karpenter.sh/nodepool" in labels, restricted'],
    ['karpenter.sh/x', 'x', `invalid key name "karpenter.sh/x" in labels, ${restrictionText('karpenter.sh/x')}`],
  ])('rejects the label %s=%s', (key, value, error) => {
    expect(errors({}, { [key]: value })).toEqual([error]);
  });

  it('rejects label keys and values that Kubernetes rejects', () => {
    expect(errors({}, { 'no way': 'x' })[0]).toMatch(/^invalid key name "no way" in labels, "name part must consist/);
    expect(errors({}, { team: 'x'.repeat(64) })).toEqual([
      `invalid value: ${'x'.repeat(64)} for label[team], must be no more than 63 bytes`,
    ]);
  });

  it('validates taints and startup taints together', () => {
    const taint = { key: 'a', effect: 'NoSchedule' } as const;
    expect(errors({ taints: [taint], startupTaints: [{ ...taint, value: 'x' }] })).toEqual([
      'duplicate taint Key/Effect pair a=NoSchedule',
    ]);
  });

  it('names the list of an invalid taint', () => {
    const [error] = errors({ startupTaints: [{ key: '', effect: 'NoSchedule' }] });
    expect(error).toBe('invalid value: name part must be non-empty in startupTaints');
  });

  it('rejects requirements on the NodePool label', () => {
    expect(errors({ requirements: [{ key: 'karpenter.sh/nodepool', operator: 'Exists' }] })).toEqual([
      'invalid key: "karpenter.sh/nodepool" in requirements, restricted',
    ]);
  });

  it.each([
    {
      what: 'a name that is not a valid label value',
      pool: { ...sound, metadata: { name: LONG } },
      error: /^invalid name "x{64}", must be no more than 63 bytes: .*karpenter\.sh\/nodepool.*; create the NodePool/,
    },
    {
      what: 'the name of a NodeClass that is not a valid label value',
      pool: poolOf({ nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: LONG } }),
      error: /^invalid name "x{64}" in nodeClassRef, must be no more than 63 bytes: .*; create the EC2NodeClass/,
    },
    {
      what: 'the key of an annotation',
      pool: poolOf({}, { annotations: { 'a b': 'c' } }),
      error: /^invalid key name "a b" in annotations, "name part must consist/,
    },
    {
      what: 'annotations that exceed the limit of a node',
      pool: poolOf({}, { annotations: { a: 'ü'.repeat(100_000) } }),
      error: /^invalid annotations, must be no more than 196608 bytes in all and are 200001$/,
    },
    {
      what: 'a taint value that is not valid for a node',
      pool: poolOf({ taints: [{ key: 'a', value: 'b/c', effect: 'NoSchedule' }] }),
      error: /^invalid value: a valid label must be an empty string .* in taints$/,
    },
    {
      what: 'expireAfter',
      pool: poolOf({ expireAfter: '99999999h' }),
      error: /^invalid value: .*"99999999h": longer than 292 years in template\.spec\.expireAfter$/,
    },
    {
      what: 'terminationGracePeriod',
      pool: poolOf({ terminationGracePeriod: '99999999h' }),
      error: /in template\.spec\.terminationGracePeriod$/,
    },
    {
      what: 'consolidateAfter',
      pool: withSpec({ disruption: { consolidateAfter: '99999999h' } }),
      error: /in disruption\.consolidateAfter$/,
    },
    {
      what: 'the schedule of a budget',
      pool: withSpec({
        disruption: {
          consolidateAfter: '0s',
          budgets: [{ nodes: '1' }, { nodes: '0', schedule: '0 25 * * *', duration: '8h' }],
        },
      }),
      error:
        /^invalid value: invalid cron schedule "0 25 \* \* \*", expected an hour within 0-23, not "25" in disruption\.budgets\[1\]\.schedule$/,
    },
    {
      what: 'the duration of a budget',
      pool: withSpec({
        disruption: { consolidateAfter: '0s', budgets: [{ nodes: '0', schedule: '@daily', duration: '99999999h' }] },
      }),
      error: /in disruption\.budgets\[0\]\.duration$/,
    },
    {
      what: 'a limit',
      pool: withSpec({ limits: { memory: '1Gi', cpu: '1e1.5' } }),
      error: /^invalid value: Cannot read quantity "1e1\.5": .* in limits\[cpu\]$/,
    },
    {
      what: 'replicas',
      pool: withSpec({ replicas: 2 ** 53 }),
      error: /^invalid value: 9007199254740992 in replicas, must be no more than 100000$/,
    },
  ])('reports $what', ({ pool, error }) => {
    expect(nodePoolErrors(pool)).toEqual([expect.stringMatching(error)]);
  });

  it('returns all errors', () => {
    const found = errors({
      requirements: [
        { key: 'team', operator: 'In', values: [] },
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spt'] },
      ],
    });
    expect(found).toHaveLength(2);
    expect(found[0]).toBe(
      'invalid value: key team with operator In must have a value defined in requirements, restricted',
    );
  });
});

describe('nodeOverlayErrors', () => {
  it('rejects NotIn without values, and resources of the instance type', () => {
    const overlay = {
      apiVersion: 'karpenter.sh/v1alpha1',
      kind: 'NodeOverlay',
      metadata: { name: 'o' },
      spec: {
        requirements: [{ key: 'team', operator: 'NotIn' as const }],
        capacity: { 'aws.amazon.com/neuron': 1, 'smarter-devices/fuse': 1 },
      },
    };
    expect(nodeOverlayErrors(overlay)).toEqual([
      'key team with operator NotIn must have a value defined',
      'invalid capacity: aws.amazon.com/neuron in resource, restricted',
    ]);
  });
});
