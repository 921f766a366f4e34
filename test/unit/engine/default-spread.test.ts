import { describe, expect, it } from '@jest/globals';
import { type OwnerReference, type Pod, type TopologySpreadConstraint, ZONE_LABEL } from '#api/objects';
import { type DefaultSpread, spreading } from '../../../src/engine/default-spread.ts';
import { prepare } from '../../../src/engine/solve.ts';
import { OPTIONS, planOf, pod, replicas, snapshot, stateNode } from './build.ts';

const zonal: TopologySpreadConstraint = { maxSkew: 1, topologyKey: ZONE_LABEL, whenUnsatisfiable: 'DoNotSchedule' };
const service = (selector: Record<string, string>, namespace = 'default') => ({ namespace, selector });
const replicaSet = {
  apiVersion: 'apps/v1' as const,
  kind: 'ReplicaSet' as const,
  namespace: 'default',
  name: 'web-1',
  selector: { matchLabels: { app: 'web' }, matchExpressions: [{ key: 'canary', operator: 'DoesNotExist' as const }] },
};
const controller = {
  apiVersion: 'v1' as const,
  kind: 'ReplicationController' as const,
  namespace: 'default',
  name: 'old',
  selector: { matchLabels: { app: 'from-controller' } },
};

const given = (parts: Partial<DefaultSpread> = {}): DefaultSpread => ({
  constraints: [zonal],
  services: [],
  workloads: [],
  ...parts,
});

function owned(by: Partial<OwnerReference>, base: Pod = pod('p', { labels: { app: 'web' } })): Pod {
  const owner: OwnerReference = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: 'web-1',
    uid: 'u',
    controller: true,
  };
  return { ...base, metadata: { ...base.metadata, ownerReferences: [{ ...owner, ...by }] } };
}

const IN_WEB = { key: 'app', operator: 'In', values: ['web'] };
const NO_CANARY = { key: 'canary', operator: 'DoesNotExist' };

describe('the selector of default spread constraints', () => {
  const labels = { app: 'web', tier: 'front' };
  it.each([
    {
      from: 'a Service that selects the pod',
      pod: pod('p', { labels }),
      spread: given({ services: [service({ app: 'web' }), service({ app: 'db' }), service({ app: 'web' }, 'other')] }),
      selector: { matchLabels: { app: 'web' }, matchExpressions: [] },
    },
    {
      from: 'all Services that select the pod',
      pod: pod('p', { labels }),
      spread: given({ services: [service({ app: 'web' }), service({ tier: 'front' })] }),
      selector: { matchLabels: labels, matchExpressions: [] },
    },
    {
      from: 'the ReplicaSet that controls it, with matchExpressions',
      pod: owned({}),
      spread: given({ workloads: [replicaSet] }),
      selector: { matchLabels: {}, matchExpressions: [IN_WEB, NO_CANARY] },
    },
    {
      from: 'a StatefulSet and a Service',
      pod: owned({ kind: 'StatefulSet', name: 'db' }, pod('p', { labels })),
      spread: given({
        services: [service({ tier: 'front' })],
        workloads: [{ ...replicaSet, kind: 'StatefulSet', name: 'db', selector: { matchLabels: { app: 'web' } } }],
      }),
      selector: { matchLabels: { tier: 'front' }, matchExpressions: [IN_WEB] },
    },
    {
      from: 'a ReplicationController, which has precedence over Services',
      pod: owned({ apiVersion: 'v1', kind: 'ReplicationController', name: 'old' }),
      spread: given({ services: [service({ app: 'web' })], workloads: [controller] }),
      selector: { matchLabels: { app: 'from-controller' }, matchExpressions: [] },
    },
    {
      from: 'nothing if the pod has no owner or Service',
      pod: pod('p', { labels }),
      spread: given(),
      selector: undefined,
    },
    {
      from: 'nothing if its owner is not its controller',
      pod: owned({ controller: false }),
      spread: given({ workloads: [replicaSet] }),
      selector: undefined,
    },
    {
      from: 'nothing if its owner has an unknown kind',
      pod: owned({ apiVersion: 'batch/v1', kind: 'Job', name: 'web-1' }),
      spread: given({ workloads: [replicaSet] }),
      selector: undefined,
    },
    {
      from: 'nothing if its owner is in another namespace',
      pod: owned({}),
      spread: given({ workloads: [{ ...replicaSet, namespace: 'other' }] }),
      selector: undefined,
    },
  ])('comes from $from', ({ pod: one, spread, selector }) => {
    const constraints = spreading(spread)(one).spec.topologySpreadConstraints;
    expect(constraints).toEqual(selector === undefined ? undefined : [{ ...zonal, labelSelector: selector }]);
  });
});

describe('a default spread constraint', () => {
  const web = given({ services: [service({ app: 'web' })] });

  it('does not change a pod that has constraints of its own', () => {
    const own = pod('p', { labels: { app: 'web' }, topologySpreadConstraints: [{ ...zonal, maxSkew: 7 }] });
    expect(spreading(web)(own)).toBe(own);
  });

  it('does not mutate the pod, and returns equal specs for equal pods', () => {
    const [first, second] = replicas(2, 'web', { labels: { app: 'web' } });
    if (first === undefined || second === undefined) throw new Error('no pods');
    const twin = { ...second, spec: first.spec };
    const spread = spreading(web);
    expect(spread(first).spec).toBe(spread(twin).spec);
    expect(first.spec.topologySpreadConstraints).toBeUndefined();
  });

  it('spreads pods over zones and counts running pods', () => {
    const running = stateNode('busy', {
      labels: { [ZONE_LABEL]: 'zone-a' },
      allocatable: { cpu: '1' },
      pods: [pod('running', { cpu: '1', labels: { app: 'web' }, nodeName: 'busy' })],
    });
    const pendingPods = replicas(5, 'web', { cpu: '1', labels: { app: 'web' } });
    const plan = planOf({ pendingPods, nodes: [running], defaultSpread: web });
    expect(plan.refusals.size).toBe(0);
    const counts = new Map<string, number>([['zone-a', 1]]);
    for (const { requirements, pods } of plan.claims) {
      const zones = requirements.find(({ key }) => key === ZONE_LABEL)?.values ?? [];
      expect(zones).toHaveLength(1);
      counts.set(zones[0] ?? '', (counts.get(zones[0] ?? '') ?? 0) + pods.length);
    }
    expect(Object.fromEntries(counts)).toEqual({ 'zone-a': 2, 'zone-b': 2, 'zone-c': 2 });
    const free = planOf({ pendingPods, nodes: [running] }).claims;
    expect(free.flatMap(({ requirements }) => requirements.map(({ key }) => key))).not.toContain(ZONE_LABEL);
  });

  it('applies to a pod that leaves a node', () => {
    const [one, two] = ['zone-a', 'zone-b'].map((zone) =>
      stateNode(zone, {
        labels: { [ZONE_LABEL]: zone },
        pods: [pod(`on-${zone}`, { cpu: '1', labels: { app: 'web' }, nodeName: zone })],
      }),
    );
    if (one === undefined || two === undefined) throw new Error('no nodes');
    const prepared = (defaultSpread?: DefaultSpread) =>
      prepare(snapshot({ nodes: [one, two], ...(defaultSpread && { defaultSpread }) }), OPTIONS).solve({
        leaving: new Set([two.providerId]),
        pendingPods: two.pods,
      });
    expect(prepared().placements.map(({ node }) => node)).toEqual(['zone-a']);
    expect(prepared(web).placements).toEqual([]);
    expect(prepared(web).claims).toHaveLength(1);
  });

  it('is relaxed like a preference if it is ScheduleAnyway', () => {
    const soft = given({ constraints: [{ ...zonal, whenUnsatisfiable: 'ScheduleAnyway' }], services: web.services });
    const inOneZone = { labels: { app: 'web' }, cpu: '1', nodeSelector: { [ZONE_LABEL]: 'zone-b' } };
    const plan = planOf({ pendingPods: replicas(4, 'web', inOneZone), defaultSpread: soft });
    expect(plan.refusals.size).toBe(0);
    expect(plan.claims.flatMap(({ pods }) => pods)).toHaveLength(4);
  });
});
