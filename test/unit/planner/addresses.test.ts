/** Free addresses of subnets as a resource of solves. */
import { describe, expect, it } from '@jest/globals';
import { type KubeObject, NODEPOOL_LABEL, type NodeClaim, ZONE_LABEL } from '#api/objects';
import type { PoolInput, StateNode, ZoneAddresses } from '#engine/model';
import { solve } from '#engine/solve';
import { addressCeilings, roomOf } from '../../../src/planner/addresses.ts';
import { instanceType, nodePool, OPTIONS, oneOf, replicas, snapshot, TYPES } from '../engine/build.ts';
import { Draw } from '../engine/scenarios.ts';

const DESCRIBED_MS = Date.parse('2026-01-01T00:00:00Z');
const zone = (name: string, ...free: readonly number[]): ZoneAddresses => ({
  zone: name,
  subnets: free.map((_, at) => `subnet-${name}-${at}`),
  free,
  describedMs: DESCRIBED_MS,
});
const NEEDS = { id: 'prefixes', byType: new Map(TYPES.map(({ name }) => [name, 17])) };
const pool = (zones: readonly ZoneAddresses[], name = 'default'): PoolInput => ({
  nodePool: nodePool(name),
  instanceTypes: TYPES,
  addresses: { zones, needs: NEEDS },
});

function planOf(zones: readonly ZoneAddresses[], pods: number) {
  const pools = [pool(zones)];
  // one pod fits on a node
  const pendingPods = replicas(pods, 'p', { cpu: '7' });
  const ceilings = addressCeilings({ nowMs: DESCRIBED_MS, nodes: [], pools }, pods);
  return solve({ ...snapshot({ pendingPods }), pools, ceilings }, { ...OPTIONS, explain: true });
}

const zonesOf = ({ requirements }: { readonly requirements: PoolInput['instanceTypes'][number]['requirements'] }) =>
  requirements.find(({ key }) => key === ZONE_LABEL)?.values ?? [];

interface Joining {
  readonly initialized?: string;
  readonly launched?: boolean;
}

function node({ initialized, launched = true }: Joining = {}): StateNode {
  const conditions =
    initialized === undefined
      ? []
      : [{ type: 'Initialized', status: 'True' as const, lastTransitionTime: initialized, reason: '', message: '' }];
  const labels = { [NODEPOOL_LABEL]: 'default', [ZONE_LABEL]: 'zone-a', 'node.kubernetes.io/instance-type': 'small' };
  const claim: KubeObject & Pick<NodeClaim, 'spec' | 'status'> = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name: 'n', labels, creationTimestamp: '2025-12-31T23:59:00Z' },
    spec: {
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      requirements: [oneOf(ZONE_LABEL, 'zone-a')],
    },
    status: { conditions },
  } as NodeClaim;
  return {
    name: 'n',
    providerId: launched ? 'aws:///zone-a/i-1' : 'nodeclaim:///n',
    nodeClaim: claim as NodeClaim,
    registered: launched,
    initialized: initialized !== undefined,
    labels,
    annotations: {},
    taints: [],
    capacity: {},
    allocatable: {},
    pods: [],
    markedForDeletion: false,
    nominatedUntilMs: 0,
    bufferPods: 0,
  };
}

const useOf = (each: StateNode): number | undefined =>
  addressCeilings({ nowMs: DESCRIBED_MS, nodes: [each], pools: [pool([zone('zone-a', 60)])] }, 9)[0]?.used.addresses;

describe('free addresses of subnets', () => {
  it('refuse a node with larger needs', () => {
    const { claims, refusals } = planOf(
      ['zone-a', 'zone-b', 'zone-c'].map((name) => zone(name, 6)),
      1,
    );
    expect(claims).toEqual([]);
    expect(refusals.get('default/p-0')).toMatchObject({
      cause: {
        code: 'ceiling',
        object: { kind: 'Subnet', name: expect.stringMatching(/^subnet-zone-[abc]-0 in zone-[abc]$/) },
        offered: expect.stringMatching(/^subnet-zone-[abc]-0 in zone-[abc] has 6 free addresses$/),
        wanted: expect.stringContaining(' with addresses 17 for '),
        remedy: 'Add subnets with free addresses in this zone, and select them in the NodeClass.',
      },
    });
  });

  it('move launches to zones with addresses', () => {
    const { claims, refusals } = planOf([zone('zone-a', 6), zone('zone-b', 40), zone('zone-c', 6)], 3);
    expect(claims.map(zonesOf)).toEqual([['zone-b'], ['zone-b']]);
    expect(refusals.size).toBe(1);
  });

  it('leave zones open if their addresses are unknown', () => {
    const { claims } = planOf([zone('zone-a', 6), zone('zone-b', 6)], 3);
    expect(claims.map(zonesOf)).toEqual([['zone-c'], ['zone-c'], ['zone-c']]);
  });

  it('are a ceiling only if launches could fill the subnets', () => {
    const pools = [pool([zone('zone-a', 17 * 9)])];
    expect(addressCeilings({ nowMs: DESCRIBED_MS, nodes: [], pools }, 9)).toEqual([]);
    expect(addressCeilings({ nowMs: DESCRIBED_MS, nodes: [], pools }, 10)).toHaveLength(1);
  });

  it('are shared by NodePools with the same subnets', () => {
    const zones = [zone('zone-a', 6)];
    const found = addressCeilings({ nowMs: DESCRIBED_MS, nodes: [], pools: [pool(zones), pool(zones, 'other')] }, 1);
    expect(found.map(({ selector }) => selector.matchExpressions?.[0]?.values)).toEqual([['default', 'other']]);
  });

  it('are used by nodes that join after the description only', () => {
    expect(useOf(node({ launched: false }))).toBe(17);
    expect(useOf(node())).toBe(17);
    expect(useOf(node({ initialized: '2026-01-01T00:00:10Z' }))).toBe(17);
    expect(useOf(node({ initialized: '2025-12-31T23:59:50Z' })) ?? 0).toBe(0);
  });

  it('suffice for launches into the subnets with the most addresses', () => {
    const draw = new Draw(7);
    const between = (least: number, most: number): number => least + draw.below(most - least + 1);
    for (let round = 0; round < 500; round += 1) {
      const most = between(1, 40);
      const free = Array.from({ length: between(1, 4) }, () => between(0, 120));
      const left = [...free];
      let room = roomOf(free, most);
      for (let need = between(1, most); need <= room; need = between(1, most)) {
        const at = left.indexOf(Math.max(...left));
        expect(left[at]).toBeGreaterThanOrEqual(need);
        left[at] = (left[at] ?? 0) - need;
        room -= need;
      }
    }
  });
});

describe('an instance type with many addresses', () => {
  it('is left out of small subnets', () => {
    const types = [instanceType('few', { cpu: 8 }), instanceType('many', { cpu: 8, usd: 0.1 })];
    const needs = { id: 'two', byType: new Map(Object.entries({ few: 10, many: 30 })) };
    const zones = ['zone-a', 'zone-b', 'zone-c'].map((name) => zone(name, 20));
    const pools = [{ nodePool: nodePool('default'), instanceTypes: types, addresses: { zones, needs } }];
    const ceilings = addressCeilings({ nowMs: DESCRIBED_MS, nodes: [], pools }, 1);
    const plan = solve({ ...snapshot({ pendingPods: replicas(1, 'p', { cpu: '1' }) }), pools, ceilings }, OPTIONS);
    expect(plan.claims.map(({ instanceTypes }) => instanceTypes)).toEqual([['few']]);
  });
});
