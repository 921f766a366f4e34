import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, type Taint, ZONE_LABEL } from '#api/objects';
import { requirementsOf } from '../../../src/engine/instance-types.ts';
import type { Plan, Snapshot, SolveOptions } from '../../../src/engine/model.ts';
import { fits, podRequests, resourcesOf } from '../../../src/engine/resources.ts';
import { solve } from '../../../src/engine/solve.ts';
import { invalid } from '../../support/partial.ts';
import {
  daemon,
  instanceType,
  nodePool,
  OPTIONS,
  offering,
  oneOf,
  type PodParts,
  planOf,
  pod,
  refusalText,
  replicas,
  snapshot,
  stateNode,
  TYPES,
} from './build.ts';

const GPU_TAINT: Taint = { key: 'gpu', value: 'yes', effect: 'NoSchedule' };
const PREFERRED_TAINT: Taint = { key: 'old', effect: 'PreferNoSchedule' };
const podsPerClaim = (plan: Plan): readonly number[] => plan.claims.map(({ pods }) => pods.length);
const onlyClaim = (plan: Plan) => plan.claims[0];
const requirement = (plan: Plan, key: string) => onlyClaim(plan)?.requirements.find((each) => each.key === key);

describe('solve', () => {
  it('launches the cheapest node for a pod, and lists other possible types', () => {
    const plan = planOf({ pendingPods: [pod('web', { cpu: '3', memory: '1Gi' })] });
    expect(plan.claims).toHaveLength(1);
    expect(onlyClaim(plan)).toMatchObject({
      nodePool: 'default',
      pods: ['default/web'],
      instanceTypes: ['medium', 'large'],
      cheapest: 'medium',
      usdPerHour: 0.2,
      requests: { cpu: 3000, memory: 2 ** 30, pods: 1 },
    });
  });

  it('launches the nodes of first-fit and returns the error if packing fails', () => {
    const failing = {
      valueOf() {
        throw new Error('out of luck');
      },
    };
    const plan = planOf({ pendingPods: [pod('web', { cpu: '3' })] }, { packingWork: invalid(failing) });
    expect(onlyClaim(plan)).toMatchObject({ pods: ['default/web'], cheapest: 'medium' });
    expect(plan.unpacked).toEqual([{ reason: 'error', text: 'out of luck' }]);
  });

  it('returns the NodePools that reached a limit of packing, with the reason', () => {
    const pendingPods = replicas(12, 'web', { cpu: '1' });
    const reasonOf = (options: Partial<SolveOptions>) => planOf({ pendingPods }, options).unpacked;
    expect(reasonOf({})).toBeUndefined();
    expect(reasonOf({ packingWork: 1 })).toMatchObject([{ nodePool: 'default', reason: 'work' }]);
    let elapsedMs = 0;
    const slow = { deadlineMs: 1_000, elapsedMs: () => (elapsedMs += 70) };
    expect(reasonOf(slow)).toMatchObject([{ nodePool: 'default', reason: 'time' }]);
  });

  it('packs pods together, largest first, until the largest type is full', () => {
    const plan = planOf({ pendingPods: [...replicas(10, 'small', { cpu: '1' }), pod('big', { cpu: '6' })] });
    expect(podsPerClaim(plan)).toEqual([3, 8]);
    expect(onlyClaim(plan)?.pods[0]).toBe('default/big');
  });

  it('leaves a pod pending if no type can hold it, and reports the reason', () => {
    const plan = planOf({ pendingPods: [pod('huge', { cpu: '9' })] });
    expect(plan.claims).toEqual([]);
    expect(refusalText(plan, 'huge')).toMatch(/^no instance type has enough resources, requirements=.*"cpu":"9"/);
    expect(plan.refusals.get('default/huge')).toMatchObject({
      code: 'no-fit',
      pools: [{ nodePool: 'default', misfit: { code: 'instance-types', incompatible: false, tooSmall: true } }],
    });
  });

  it('suggests the suffix m if a pod requests a million cores', () => {
    const plan = planOf({ pendingPods: [pod('typo', { cpu: '1M' })] });
    expect(refusalText(plan, 'typo')).toContain('(CPU request >= 1 Million, m vs M typo?)');
  });

  it('returns identical plans for the same snapshot, byte for byte', () => {
    const pods = [
      ...replicas(20, 'a', { cpu: '700m' }),
      ...replicas(9, 'b', { cpu: '1', nodeSelector: { team: 'x' } }),
    ];
    const input = snapshot({
      pendingPods: pods,
      pools: [nodePool('one', { labels: { team: 'x' } }), nodePool('two', { weight: 5 })],
    });
    const text = (plan: Plan): string => JSON.stringify([plan, [...plan.refusals]]);
    expect(text(solve(structuredClone(input), OPTIONS))).toBe(text(solve(input, OPTIONS)));
  });

  it('refuses all pods if there is no NodePool', () => {
    const plan = planOf({ pools: [], pendingPods: [pod('web')] });
    expect(plan.refusals.get('default/web')).toEqual({ code: 'no-pools', text: 'no dynamic nodepools found' });
  });

  it('stops at the deadline and names the remaining pods', () => {
    let elapsed = 0;
    const elapsedMs = (): number => elapsed++;
    const plan = planOf({ pendingPods: replicas(4, 'web', { cpu: '1' }) }, { deadlineMs: 2, elapsedMs });
    expect(podsPerClaim(plan)).toEqual([2]);
    expect(plan.notEvaluated).toEqual(['default/web-2', 'default/web-3']);
    expect(plan.refusals.size).toBe(0);
  });

  it('returns the first claims of the plan if the number of launches is limited, and the other pods for the next solve', () => {
    const pendingPods = replicas(10, 'web', { cpu: '3' });
    const all = planOf({ pendingPods });
    const some = planOf({ pendingPods }, { mostLaunches: 2 });
    expect(all.claims.length).toBeGreaterThan(2);
    expect(some.claims).toEqual(all.claims.slice(0, 2));
    expect(some.notEvaluated).toEqual(all.claims.slice(2).flatMap(({ pods }) => pods));
    expect(planOf({ pendingPods }, { mostLaunches: all.claims.length })).toEqual(all);
  });

  it('never exceeds the capacity of any listed type, and accounts for every pod', () => {
    const parts: fc.Arbitrary<PodParts> = fc.record({
      cpu: fc.constantFrom('100m', '900m', '2', '7', '12'),
      memory: fc.constantFrom('128Mi', '3Gi', '20Gi'),
    });
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 25 }), (all) => {
        const pods = all.map((each, index) => pod(`p-${index}`, each));
        const plan = planOf({ pendingPods: pods });
        const byKey = new Map(pods.map((each) => [`default/${each.metadata.name}`, podRequests(each)]));
        for (const claim of plan.claims) {
          const total = { cpu: 0, memory: 0, pods: 0 };
          for (const key of claim.pods) {
            const requests = byKey.get(key) ?? {};
            total.cpu += requests.cpu ?? 0;
            total.memory += requests.memory ?? 0;
            total.pods += 1;
          }
          for (const name of claim.instanceTypes) {
            const type = TYPES.find((each) => each.name === name);
            expect(fits(total, type?.capacity ?? {})).toBe(true);
          }
        }
        const seen = [...plan.claims.flatMap((claim) => claim.pods), ...plan.refusals.keys()];
        expect(seen.sort()).toEqual([...byKey.keys()].sort());
      }),
      { numRuns: 50 },
    );
  });
});

describe('a NodePool', () => {
  it('is tried by weight, then in reverse alphabetical order', () => {
    const chosen = (...pools: Parameters<typeof nodePool>[]): string | undefined =>
      onlyClaim(planOf({ pools: pools.map((each) => nodePool(...each)), pendingPods: [pod('web')] }))?.nodePool;
    expect(chosen(['a', { weight: 10 }], ['b', { weight: 20 }])).toBe('b');
    expect(chosen(['a'], ['b'])).toBe('b');
    expect(chosen(['a', { weight: 1 }], ['b'])).toBe('a');
  });

  it('is used with less weight if heavier ones are not possible, and every reason is reported', () => {
    const pools = [nodePool('spare', { labels: { team: 'b' } }), nodePool('main', { weight: 9, taints: [GPU_TAINT] })];
    const plan = planOf({ pools, pendingPods: [pod('web'), pod('x', { nodeSelector: { team: 'c' } })] });
    expect(onlyClaim(plan)?.nodePool).toBe('spare');
    expect(refusalText(plan, 'x')).toBe(
      'did not tolerate taint (taint=gpu=yes:NoSchedule); incompatible requirements, key team, team In [c] not in team In [b]',
    );
  });

  it('is reported without instance types, and its pods are refused', () => {
    const plan = planOf({
      pools: [
        nodePool('default', { requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['s390x'] }] }),
      ],
      types: [instanceType('t', { requirements: [oneOf('kubernetes.io/arch', 'amd64')] })],
      pendingPods: [pod('web')],
    });
    expect(plan.emptyPools).toEqual([{ nodePool: 'default', dueToMinValues: false }]);
    expect(refusalText(plan, 'web')).toBe(
      'nodepool requirements filtered out all available instance types; NodePool default is not used ' +
        '(no-instance-types): no available instance type matches its requirements',
    );
  });

  it('respects its limits, which count the largest possible type of each planned node', () => {
    const pools = [nodePool('default', { limits: { cpu: '10' } })];
    const node = stateNode('n', { allocatable: { cpu: '2' }, pods: [pod('old', { cpu: '2', nodeName: 'n' })] });
    const plan = planOf({ pools, nodes: [node], pendingPods: replicas(9, 'web', { cpu: '1' }) });
    // 10 minus 2 allows one claim of up to 8 CPUs, and no second claim.
    expect(podsPerClaim(plan)).toEqual([8]);
    expect(refusalText(plan, 'web-8')).toBe(
      'all available instance types exceed limits for nodepool (NodePool=default)',
    );
  });

  it('launches no node if the limit of nodes is reached', () => {
    const plan = planOf({
      pools: [nodePool('default', { limits: { nodes: '1' } })],
      nodes: [stateNode('n', { allocatable: { cpu: '0' } })],
      pendingPods: [pod('web', { cpu: '1' })],
    });
    expect(refusalText(plan, 'web')).toBe('node limits have been exhausted for nodepool (NodePool=default)');
  });
});

describe('a requirement', () => {
  it('narrows the claim and its offerings if it is that of a pod', () => {
    const plan = planOf({
      pendingPods: [
        pod('web', { cpu: '1', nodeSelector: { [ZONE_LABEL]: 'zone-b', [CAPACITY_TYPE_LABEL]: 'on-demand' } }),
      ],
    });
    expect(requirement(plan, ZONE_LABEL)?.values).toEqual(['zone-b']);
    expect(requirement(plan, CAPACITY_TYPE_LABEL)?.values).toEqual(['on-demand']);
    expect(onlyClaim(plan)?.usdPerHour).toBe(0.2);
  });

  it('separates pods that require different zones', () => {
    const inZone = (zone: string) => ({ cpu: '100m', nodeSelector: { [ZONE_LABEL]: zone } });
    const plan = planOf({
      pendingPods: [...replicas(2, 'a', inZone('zone-a')), ...replicas(2, 'b', inZone('zone-b'))],
    });
    expect(podsPerClaim(plan)).toEqual([2, 2]);
  });

  it('distinguishes a missing offering from a missing type', () => {
    const spotInA = [
      offering('spot', 'zone-a', 1),
      offering('on-demand', 'zone-b', 1),
      offering('spot', 'zone-b', 1, false),
    ];
    const plan = planOf({
      types: [instanceType('t', { offerings: spotInA })],
      pendingPods: [pod('web', { nodeSelector: { [ZONE_LABEL]: 'zone-b', [CAPACITY_TYPE_LABEL]: 'spot' } })],
    });
    expect(refusalText(plan, 'web')).toMatch(/^no instance type had enough resources or had a required offering, /);
  });

  it('falls back to the next term of a required affinity', () => {
    const term = (zone: string) => ({ matchExpressions: [oneOf(ZONE_LABEL, zone)] });
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term('nowhere'), term('zone-c')] },
      },
    };
    const plan = planOf({ pendingPods: [pod('web', { affinity })] });
    expect(requirement(plan, ZONE_LABEL)?.values).toEqual(['zone-c']);
  });

  it('becomes a label of the node unless AWS sets it', () => {
    const pools = [
      nodePool('default', { requirements: [{ key: 'tier', operator: 'In', values: ['silver', 'gold'] }] }),
    ];
    const claim = onlyClaim(planOf({ pools, pendingPods: [pod('web')] }));
    expect(claim?.labels).toEqual({
      tier: 'gold',
      'karpenter.sh/nodepool': 'default',
      'karpenter.k8s.aws/ec2nodeclass': 'default',
    });
    expect(claim?.requirements.map(({ key }) => key)).toEqual([
      'karpenter.k8s.aws/ec2nodeclass',
      CAPACITY_TYPE_LABEL,
      'karpenter.sh/nodepool',
      INSTANCE_TYPE_LABEL,
      'tier',
    ]);
  });

  it('is validated before solving if it is that of a pod', () => {
    const plan = planOf({ pendingPods: [pod('web', { nodeSelector: { 'karpenter.sh/bogus': 'x' } })] });
    expect(plan.refusals.get('default/web')).toMatchObject({ code: 'ignored', optedOut: false });
    const away = { matchExpressions: [{ key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' as const }] };
    const affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [away] } },
    };
    const out = planOf({ pendingPods: [pod('web', { affinity })] });
    expect(out.refusals.get('default/web')).toMatchObject({ code: 'ignored', optedOut: true });
  });
});

describe('a taint with PreferNoSchedule', () => {
  it('is tolerated as a last resort', () => {
    const plan = planOf({ pools: [nodePool('default', { taints: [PREFERRED_TAINT] })], pendingPods: [pod('web')] });
    expect(podsPerClaim(plan)).toEqual([1]);
  });

  it('is avoided if another NodePool is possible', () => {
    const pools = [nodePool('z', { taints: [PREFERRED_TAINT], weight: 50 }), nodePool('a')];
    expect(onlyClaim(planOf({ pools, pendingPods: [pod('web')] }))?.nodePool).toBe('a');
  });
});

describe('a DaemonSet', () => {
  it('uses a part of every type on which it runs', () => {
    const plan = planOf({
      daemonPods: [daemon('agent', { cpu: '500m' })],
      pendingPods: [pod('web', { cpu: '3500m' })],
    });
    expect(onlyClaim(plan)).toMatchObject({ instanceTypes: ['medium', 'large'], requests: { cpu: 4000, pods: 2 } });
    const tight = planOf({
      daemonPods: [daemon('agent', { cpu: '501m' })],
      pendingPods: [pod('web', { cpu: '3500m' })],
    });
    expect(onlyClaim(tight)?.instanceTypes).toEqual(['large']);
  });

  it('counts only on nodes that its selector and tolerations allow', () => {
    const plan = planOf({
      pools: [nodePool('default', { taints: [GPU_TAINT] })],
      daemonPods: [
        daemon('intolerant', { cpu: '1' }),
        daemon('elsewhere', { cpu: '1', nodeSelector: { team: 'x' }, tolerations: [{ operator: 'Exists' }] }),
        daemon('big-only', {
          cpu: '1',
          nodeSelector: { [INSTANCE_TYPE_LABEL]: 'large' },
          tolerations: [{ operator: 'Exists' }],
        }),
      ],
      pendingPods: [pod('web', { cpu: '4', tolerations: [{ operator: 'Exists' }] })],
    });
    expect(onlyClaim(plan)).toMatchObject({ instanceTypes: ['medium', 'large'], requests: { cpu: 4000 } });
  });

  it('runs on types that any term of its affinity allows', () => {
    const term = (name: string) => ({ matchExpressions: [oneOf(INSTANCE_TYPE_LABEL, name)] });
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term('small'), term('medium')] },
      },
    };
    const plan = planOf({
      daemonPods: [daemon('agent', { cpu: '1', affinity })],
      pendingPods: [pod('web', { cpu: '3500m' })],
    });
    expect(onlyClaim(plan)?.instanceTypes).toEqual(['large']);
  });
});

describe('a host port', () => {
  it('separates pods that use the same port', () => {
    const plan = planOf({ pendingPods: replicas(3, 'web', { cpu: '100m', hostPort: 80 }) });
    expect(podsPerClaim(plan)).toEqual([1, 1, 1]);
  });

  it('is used on every node if it is that of a DaemonSet', () => {
    const plan = planOf({
      daemonPods: [daemon('agent', { hostPort: 80 })],
      pendingPods: [pod('web', { hostPort: 80 })],
    });
    expect(plan.refusals.get('default/web')).toMatchObject({ pools: [{ misfit: { code: 'host-port' } }] });
  });

  it('is used on the node of its running pod', () => {
    const node = stateNode('n', { pods: [pod('old', { hostPort: 80, nodeName: 'n' })] });
    const plan = planOf({ nodes: [node], pendingPods: [pod('web', { hostPort: 80 }), pod('other', { hostPort: 81 })] });
    expect(plan.placements).toEqual([{ node: 'n', providerId: 'aws:///n', pods: ['default/other'] }]);
  });
});

describe('an existing node', () => {
  it('is filled first, initialized nodes before others, then by name', () => {
    const nodes = [stateNode('b'), stateNode('a', { initialized: false }), stateNode('c')];
    const plan = planOf({ nodes, pendingPods: replicas(3, 'web', { cpu: '3' }) });
    expect(plan.placements.map(({ node }) => node)).toEqual(['b', 'c', 'a']);
    expect(plan.claims).toEqual([]);
  });

  it('reserves room for DaemonSet pods that are not yet running', () => {
    const agent = daemon('agent', { cpu: '1' });
    const running = { ...agent, spec: { ...agent.spec, nodeName: 'n' } };
    const placed = (pods: Snapshot['pendingPods']): number =>
      planOf({
        nodes: [stateNode('n', { pods })],
        daemonPods: [agent],
        pendingPods: replicas(4, 'web', { cpu: '1' }),
      }).placements[0]?.pods.length ?? 0;
    expect(placed([])).toBe(3);
    expect(placed([running])).toBe(3);
  });

  it('accepts no pods if it is overcommitted or being deleted', () => {
    const full = stateNode('full', { pods: [pod('old', { memory: '17Gi', nodeName: 'full' })] });
    const going = stateNode('going', { markedForDeletion: true });
    expect(planOf({ nodes: [full, going], pendingPods: [pod('web', { cpu: '1' })] }).placements).toEqual([]);
  });

  it('does not satisfy selectors on labels that it does not have', () => {
    const selecting = (nodeSelector: Readonly<Record<string, string>>) =>
      planOf({ nodes: [stateNode('n')], pendingPods: [pod('web', { nodeSelector })] }).placements.length;
    expect(selecting({ [ZONE_LABEL]: 'zone-a' })).toBe(1);
    expect(selecting({ 'kubernetes.io/arch': 'amd64' })).toBe(0);
  });

  it('ignores the requests of finished pods', () => {
    const done = { ...pod('done', { cpu: '4', nodeName: 'n' }), status: { phase: 'Succeeded' as const } };
    const plan = planOf({ nodes: [stateNode('n', { pods: [done] })], pendingPods: [pod('web', { cpu: '4' })] });
    expect(plan.placements).toHaveLength(1);
  });
});

describe('minValues', () => {
  const variety = (minValues: number) => [
    nodePool('default', { requirements: [{ key: INSTANCE_TYPE_LABEL, operator: 'Exists', minValues }] }),
  ];

  it('refuses a pod if too few types satisfy it', () => {
    const plan = planOf({ pools: variety(2), pendingPods: [pod('big', { cpu: '5' }), pod('web', { cpu: '3' })] });
    expect(podsPerClaim(plan)).toEqual([1]);
    expect(refusalText(plan, 'big')).toMatch(
      /^minValues requirement is not met for label\(s\) \(label\(s\)=\[node\.kubernetes\.io\/instance-type\]\), requirements=/,
    );
  });

  it('stops a claim from growing beyond the required types', () => {
    expect(podsPerClaim(planOf({ pools: variety(2), pendingPods: replicas(8, 'web', { cpu: '1' }) }))).toEqual([4, 4]);
  });

  it('is lowered on a new claim as far as needed under BestEffort', () => {
    const plan = planOf(
      { pools: variety(2), pendingPods: [pod('big', { cpu: '5' })] },
      { minValuesPolicy: 'BestEffort' },
    );
    expect(requirement(plan, INSTANCE_TYPE_LABEL)).toEqual({ ...oneOf(INSTANCE_TYPE_LABEL, 'large'), minValues: 1 });
    expect(onlyClaim(plan)?.annotations['karpenter.sh/nodeclaim-min-values-relaxed']).toBe('true');
  });

  it('leaves no instance types of a NodePool if no type list satisfies it', () => {
    const plan = planOf({ pools: variety(4), pendingPods: [pod('web')] });
    expect(plan.emptyPools).toEqual([{ nodePool: 'default', dueToMinValues: true }]);
  });
});

describe('an unsupported feature', () => {
  it('refuses the pods that need it', () => {
    const plan = planOf({
      pendingPods: [pod('device', { resourceClaims: [{ name: 'd' }] })],
    });
    expect(plan.claims).toEqual([]);
    expect(plan.refusals.get('default/device')?.code).toBe('unsupported');
    expect(refusalText(plan, 'device')).toBe(
      'pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter',
    );
  });
});

it('compiles the requirements of a type once', () => {
  const type = instanceType('t');
  expect(requirementsOf(type)).toBe(requirementsOf(type));
  expect(resourcesOf(undefined)).toEqual({});
});
