/** Extreme values that the CRDs accept: every valid object can be used by all its readers. */
import { describe, expect, it } from '@jest/globals';
import { ec2NodeClassHash } from '#api/hashes';
import type { CapacityBuffer, EC2NodeClass, NodeClaim, NodeOverlay, NodePool } from '#api/objects';
import { customResourceDefinitions, structuralSchema } from '#api/schema';
import { nodeOverlayErrors, nodePoolErrors } from '#api/validation';
import { qualifiedNameErrors } from '#api/values';
import { familyOf } from '#aws/node-classes';
import { capacityTerms, fieldErrors, staticFailure } from '#aws/testing';
import { budgetErrors, consolidatableIn } from '#engine/disruption';
import { sumOf } from '#engine/model';
import { desiredReplicas, evaluateOverlays, overlaid, templateClaim } from '#engine/solve';
import { allowances, lifetimeRemaining, MOST_VIRTUAL_PODS } from '#engine/testing';
import { overdueNodes } from '#planner/testing';
import { stateNode } from '#state/testing';
import { nodeClaimOf } from '../../../src/controllers/claims.ts';
import { countCreations } from '../../../src/controllers/static/provisioning.ts';
import { extremesOf } from '../../support/extremes.ts';
import { nodePool, planOf, pod, TYPES } from '../engine/build.ts';

const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
const taint = { key: 'example.com/t', value: 'v', effect: 'NoSchedule' } as const;

const poolWith = (spec: Partial<NodePool['spec']>): NodePool => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'extreme', uid: 'uid-extreme' },
  spec: {
    template: {
      metadata: { labels: { team: 'a' }, annotations: { note: 'a' } },
      spec: {
        nodeClassRef,
        requirements: [{ key: 'example.com/r', operator: 'In', values: ['a'] }],
        taints: [taint],
        startupTaints: [{ ...taint, key: 'example.com/s' }],
        expireAfter: '720h',
        terminationGracePeriod: '1h',
      },
    },
    disruption: { consolidateAfter: '0s', budgets: [{ nodes: '10%', schedule: '@daily', duration: '1h' }] },
    ...spec,
  },
});

const BASES = {
  dynamic: poolWith({ limits: { cpu: '1000' }, weight: 50 }),
  static: poolWith({ limits: { nodes: '10' }, replicas: 1 }),
};

const claimSchema = structuralSchema(
  customResourceDefinitions().find(({ spec }) => spec.names.kind === 'NodeClaim')?.spec.versions[0]?.schema
    .openAPIV3Schema,
);

/** Errors of the API server for the claim of a NodePool. */
function refusals(pool: NodePool): readonly unknown[] {
  const planned = templateClaim(pool, { instanceTypes: TYPES });
  const claim = nodeClaimOf(planned, pool);
  const keys = [...Object.keys(claim.metadata.labels ?? {}), ...Object.keys(claim.metadata.annotations ?? {})];
  return [
    ...claimSchema.validate(claimSchema.applyDefaults(claim)),
    ...keys.flatMap((key) => qualifiedNameErrors(key.toLowerCase())),
  ];
}

const healthy = pod('healthy', { cpu: '1', nodeSelector: { 'karpenter.sh/nodepool': 'sound' } });

describe.each(Object.entries(BASES))('a %s NodePool with one field at an extreme', (_, base) => {
  // Objects of other providers are not managed.
  const extremes = extremesOf(base).filter(
    ({ object: { spec } }) =>
      spec.template.spec.nodeClassRef.group === nodeClassRef.group &&
      spec.template.spec.nodeClassRef.kind === nodeClassRef.kind,
  );

  it('has many variants that the API server accepts', () => {
    expect(extremes.length).toBeGreaterThan(100);
    expect(nodePoolErrors(base)).toEqual([]);
  });

  it('does not block pods of another NodePool', () => {
    const pools = [
      ...extremes.map(({ object }, at) => ({ ...object, metadata: { name: `x${at}` } })),
      nodePool('sound'),
    ];
    const plan = planOf({ pools, pendingPods: [healthy] });
    expect(plan.claims.map(({ nodePool }) => nodePool)).toEqual(['sound']);
  });

  it('can be used everywhere unless its validation fails', () => {
    const faults = extremes.flatMap(({ what, object }) => {
      const errors = nodePoolErrors(object);
      expect(errors.join('; ').length).toBeLessThan(100_000);
      const left = planOf({ pools: [object], pendingPods: [healthy] }).leftOut ?? [];
      if (errors.length > 0) return [];
      return [...left, ...refusals(object)].map((fault) => `${what}: ${JSON.stringify(fault)}`);
    });
    expect(faults).toEqual([]);
  });

  it('does not interrupt disruption and static provisioning', () => {
    for (const { object } of extremes) {
      const claim = { ...nodeClaimOf(templateClaim(nodePool('sound')), object), status: { conditions: [] } };
      budgetErrors([object], 0);
      allowances([], [object], { reason: 'Empty', nowMs: 0 });
      consolidatableIn(claim, object, 0);
      expect(countCreations(object, { active: [], pending: 0, deleting: 0 }, 0)).toBeLessThanOrEqual(500);
    }
  });
});

describe('a NodeClaim with one field at an extreme', () => {
  const base: NodeClaim = {
    ...nodeClaimOf(templateClaim(BASES.dynamic), BASES.dynamic),
    metadata: { name: 'extreme', labels: { 'karpenter.sh/nodepool': 'extreme' } },
  };
  const extremes = extremesOf<NodeClaim>({ ...base, spec: { ...base.spec, resources: { requests: { cpu: '1' } } } });

  it('can be counted in any variant', () => {
    expect(extremes.length).toBeGreaterThan(100);
    for (const { object } of extremes) {
      const pools = [{ nodePool: BASES.dynamic, instanceTypes: TYPES }];
      const [overdue] = overdueNodes([{ claim: object, pods: undefined }], pools);
      const joined = stateNode({
        providerId: 'a',
        nodeClaim: { ...object, status: { capacity: { cpu: '1e1.5' }, allocatable: { cpu: '1e1.5' } } },
        pods: [],
        marked: false,
        nominatedUntilMs: 0,
        bufferPods: 0,
      });
      const nodes = [joined, ...(overdue ? [overdue] : [])];
      const plan = planOf({ nodes, pools: [nodePool('sound')], pendingPods: [healthy] });
      expect(plan.claims).toHaveLength(1);
      expect(lifetimeRemaining(object, 0)).toBeGreaterThanOrEqual(0);
    }
  });
});

describe('a NodeOverlay with one field at an extreme', () => {
  const base: NodeOverlay = {
    apiVersion: 'karpenter.sh/v1alpha1',
    kind: 'NodeOverlay',
    metadata: { name: 'extreme' },
    spec: {
      requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['small'] }],
      capacity: { 'example.com/device': '1' },
      weight: 1,
    },
  };
  const priced = { ...base, spec: { ...base.spec, price: '1' } };
  const adjusted = { ...base, spec: { ...base.spec, priceAdjustment: '+1' } };

  it('results in comparable prices and capacities, or is rejected with a reason', () => {
    const pool = { nodePool: nodePool('sound'), instanceTypes: TYPES };
    for (const { what, object } of [base, priced, adjusted].flatMap((each) => extremesOf<NodeOverlay>(each))) {
      const { accepted, problems } = evaluateOverlays([object], [pool]);
      expect(accepted.length + problems.size).toBe(1);
      expect(problems.size > 0).toBe(nodeOverlayErrors(object).length > 0);
      const numbers = overlaid(pool, accepted).flatMap(({ capacity, offerings }) => [
        ...Object.values(capacity),
        ...offerings.map(({ usdPerHour }) => usdPerHour),
      ]);
      expect({ what, finite: numbers.every(Number.isFinite) }).toEqual({ what, finite: true });
    }
  });
});

describe('a CapacityBuffer with one field at an extreme', () => {
  const base: CapacityBuffer = {
    apiVersion: 'autoscaling.x-k8s.io/v1beta1',
    kind: 'CapacityBuffer',
    metadata: { name: 'extreme', namespace: 'default' },
    spec: { podTemplateRef: { name: 'a' }, replicas: 1, percentage: 1, limits: { cpu: '1' } },
  };

  it('provisions no more pods than the memory limit allows, or reports the reason', () => {
    const template = { spec: { containers: [{ name: 'a', resources: { requests: { cpu: '1m' } } }] } };
    const { limits: _, ...unlimited } = base.spec;
    const bases = [base, { ...base, spec: unlimited }];
    for (const { object } of bases.flatMap((each) => extremesOf<CapacityBuffer>(each))) {
      let replicas = 0;
      try {
        replicas = desiredReplicas(object.spec, template, 1_000_000);
      } catch (error) {
        expect((error as Error).message).toMatch(/^Cannot /);
      }
      expect(replicas).toBeLessThanOrEqual(MOST_VIRTUAL_PODS);
    }
  });
});

describe('an EC2NodeClass with one field at an extreme', () => {
  const base: EC2NodeClass = {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'extreme' },
    spec: {
      role: 'nodes',
      amiFamily: 'AL2023',
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      subnetSelectorTerms: [{ tags: { a: 'b' } }],
      securityGroupSelectorTerms: [{ tags: { a: 'b' } }],
      blockDeviceMappings: [{ deviceName: '/dev/xvda', rootVolume: true, ebs: { volumeSize: '100Gi' } }],
      kubelet: { maxPods: 10 },
      tags: { a: 'b' },
      userData: 'a',
    },
  };

  it('is rejected by field, or can be hashed and measured', () => {
    const extremes = extremesOf<EC2NodeClass>(base);
    expect(extremes.length).toBeGreaterThan(100);
    for (const { what, object } of extremes) {
      if (fieldErrors(object).length > 0) continue;
      expect(ec2NodeClassHash(object)).toMatch(/^\d+$/);
      const capacity = capacityTerms({}, object, { family: familyOf(object), pods: [], memoryOverheadPercent: 0 });
      expect({ what, bytes: sumOf(capacity['ephemeral-storage']) > 0 }).toEqual({ what, bytes: true });
      staticFailure(object, false);
    }
  });
});
