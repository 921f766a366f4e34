/** Pods whose nodes have been launched: each solve until they are bound keeps them there. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  BIND_COMPLETED_ANNOTATION,
  type NodeClaim,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  SELECTED_NODE_ANNOTATION,
  ZONE_LABEL,
} from '#api/objects';
import type { Plan, Snapshot, StateNode } from '../../../../src/engine/model.ts';
import { podKey } from '../../../../src/engine/pods.ts';
import { addResources, fits, podRequests } from '../../../../src/engine/resources.ts';
import { partial } from '../../../support/partial.ts';
import { present } from '../../../support/present.ts';
import { type PodParts, planOf, pod, stateNode } from '../build.ts';

/** Cluster after a launch: the node of each NodeClaim is joining, and no pod is bound. */
interface Launch {
  readonly nodes: readonly StateNode[];
  readonly nominatedClaims: ReadonlyMap<string, string>;
}

const CPUS: Readonly<Record<string, string>> = { small: '2', medium: '4', large: '8' };
const claimNamed = (name: string): NodeClaim => ({ metadata: { name }, spec: {} }) as unknown as NodeClaim;

function joiningNode(name: string, allocatable: Readonly<Record<string, string>>, zone = 'zone-a'): StateNode {
  const node = stateNode(name, { initialized: false, allocatable, labels: { [ZONE_LABEL]: zone } });
  return { ...node, nodeClaim: claimNamed(name) };
}

function launchOf({ claims }: Plan, pods: readonly Pod[]): Launch {
  const uidOf = new Map(pods.map((each) => [podKey(each), each.metadata.uid ?? '']));
  const nodes = claims.map(({ cheapest, requirements }, at) => {
    const [zone = 'zone-a'] = requirements.find(({ key }) => key === ZONE_LABEL)?.values ?? [];
    const cpu = present(CPUS[cheapest]);
    return joiningNode(`node-${at}`, { cpu, memory: `${4 * Number(cpu)}Gi` }, zone);
  });
  const chosen = claims.flatMap((claim, at) => claim.pods.map((key) => [uidOf.get(key) ?? '', `node-${at}`] as const));
  return { nodes, nominatedClaims: new Map(chosen) };
}

const placesOf = ({ placements }: Plan): ReadonlyMap<string, string> =>
  new Map(placements.flatMap(({ node, pods }) => pods.map((key) => [key, node] as const)));

const spread: NonNullable<PodParts['topologySpreadConstraints']> = [
  {
    maxSkew: 1,
    topologyKey: ZONE_LABEL,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: { app: 'a' } },
  },
];
const pods = (prefix: string): fc.Arbitrary<readonly Pod[]> =>
  fc
    .array(fc.record({ cpu: fc.constantFrom('300m', '1', '1500m', '2500m', '5'), isSpread: fc.boolean() }), {
      maxLength: 20,
    })
    .map((all) =>
      all.map(({ cpu, isSpread }, at) =>
        pod(`${prefix}-${at}`, {
          cpu,
          ...(isSpread ? { labels: { app: 'a' }, topologySpreadConstraints: spread } : {}),
        }),
      ),
    );

describe('a pod whose node is joining', () => {
  const nodes = [joiningNode('a', { cpu: '5' }), joiningNode('b', { cpu: '4' })];
  const [three, two, four] = [pod('three', { cpu: '3' }), pod('two', { cpu: '2' }), pod('four', { cpu: '4' })];
  const pendingPods = [three, two, four];
  const claims = [
    [three, 'a'],
    [two, 'a'],
    [four, 'b'],
  ] as const;
  const nominatedClaims = new Map(claims.map(([{ metadata }, name]) => [metadata.uid ?? '', name]));

  it('keeps its room, although the pods would not fit if they were packed again', () => {
    expect(planOf({ nodes, pendingPods }).claims).toHaveLength(1);
    const plan = planOf({ nodes, pendingPods, nominatedClaims });
    expect([plan.claims, placesOf(plan).get('default/four')]).toEqual([[], 'b']);
  });

  it('follows kube-scheduler, which has selected another node and had a volume created there', () => {
    const zones = [joiningNode('a', { cpu: '2' }, 'zone-a'), joiningNode('b', { cpu: '2' }, 'zone-b')];
    const [first, ...others] = ['p0', 'p1', 'p2', 'p3'].map((name) => pod(name, { cpu: '1' }));
    const moved: Pod = {
      ...present(first),
      spec: {
        ...present(first).spec,
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
      },
    };
    const planned = new Map(
      [moved, ...others].map(({ metadata }, at) => [metadata.uid ?? '', at < 2 ? 'a' : 'b'] as const),
    );
    const annotations = { [SELECTED_NODE_ANNOTATION]: 'b', [BIND_COMPLETED_ANNOTATION]: 'yes' };
    const terms = [{ matchExpressions: [{ key: ZONE_LABEL, operator: 'In' as const, values: ['zone-b'] }] }];
    const plan = planOf({
      nodes: zones,
      pendingPods: [...others.toReversed(), moved],
      nominatedClaims: planned,
      persistentVolumeClaims: [
        partial<PersistentVolumeClaim>({
          metadata: { name: 'data', namespace: 'default', annotations },
          spec: { volumeName: 'pv', storageClassName: 'ebs' },
        }),
      ],
      persistentVolumes: [
        partial<PersistentVolume>({
          metadata: { name: 'pv' },
          spec: { nodeAffinity: { required: { nodeSelectorTerms: terms } } },
        }),
      ],
    });
    expect(plan.claims).toEqual([]);
    expect(placesOf(plan).get('default/p0')).toBe('b');
    expect(plan.placements.map(({ pods: placed }) => placed.length)).toEqual([2, 2]);
  });

  it('keeps its room while a larger pod is created', () => {
    const plan = planOf({ nodes, pendingPods: [...pendingPods, pod('five', { cpu: '5' })], nominatedClaims });
    expect(plan.claims.map((claim) => claim.pods)).toEqual([['default/five']]);
  });

  it('gets another node without delay if another pod is bound in its place and the joining nodes have no room', () => {
    const bound = { ...four, spec: { ...four.spec, nodeName: 'a' } };
    const joined = [{ ...present(nodes[0]), initialized: true, pods: [bound] }, present(nodes[1])];
    const plan = planOf({ nodes: joined, pendingPods: [three, two], nominatedClaims });
    expect(placesOf(plan)).toEqual(new Map([['default/three', 'b']]));
    expect(plan.claims.map((claim) => claim.pods)).toEqual([['default/two']]);
  });

  it('is planned like any other pod if its NodeClaim was deleted', () => {
    const plan = planOf({ nodes, pendingPods, nominatedClaims: new Map([[four.metadata.uid ?? '', 'gone']]) });
    expect(plan.claims).toHaveLength(1);
  });
});

describe('a launch of random pods', () => {
  it('needs no further node while its nodes join', () => {
    fc.assert(
      fc.property(pods('web'), (pendingPods) => {
        const plan = planOf({ pendingPods });
        const again = planOf({ pendingPods, ...launchOf(plan, pendingPods) });
        expect(again.claims).toEqual([]);
        expect(placesOf(again).size).toBe(pendingPods.length - plan.refusals.size);
      }),
    );
  });

  it('lets only as many pods wait as its nodes have room for, whatever else is created', () => {
    fc.assert(
      fc.property(pods('web'), pods('other'), (launched, others) => {
        const { nodes, nominatedClaims } = launchOf(planOf({ pendingPods: launched }), launched);
        const pendingPods: Snapshot['pendingPods'] = [...others, ...launched];
        const plan = planOf({ pendingPods, nodes, nominatedClaims });
        const podOf = new Map(pendingPods.map((each) => [podKey(each), each]));
        for (const placement of plan.placements) {
          const requests = placement.pods.map((key) => podRequests(present(podOf.get(key))));
          const { allocatable } = present(nodes.find(({ name }) => name === placement.node));
          expect(fits(addResources(...requests), allocatable)).toBe(true);
        }
        const places = placesOf(plan);
        const planned = new Set(plan.claims.flatMap((claim) => claim.pods));
        for (const key of podOf.keys()) expect(places.has(key) && planned.has(key)).toBe(false);
        for (const { metadata } of launched.filter((each) => each.spec.topologySpreadConstraints === undefined))
          expect(places.get(`default/${metadata.name}`)).toBe(nominatedClaims.get(metadata.uid ?? ''));
      }),
    );
  });
});
