import { describe, expect, it } from '@jest/globals';
import {
  ARCH_LABEL,
  CAPACITY_TYPE_LABEL,
  HOSTNAME_LABEL,
  INSTANCE_CATEGORY_LABEL,
  INSTANCE_FAMILY_LABEL,
  NODEPOOL_LABEL,
  ZONE_LABEL,
} from '#api/objects';
import { type Cause, causeText } from '../../../../src/engine/causes/cause.ts';
import { unlaunchedProviderId } from '../../../../src/engine/pool-usage.ts';
import {
  daemon,
  instanceType,
  nodePool,
  offering,
  oneOf,
  type PodParts,
  planOf,
  pod,
  type SnapshotParts,
  stateNode,
} from '../build.ts';

const typeOf = (name: string, category: string, family: string, cpu: number) =>
  instanceType(name, {
    cpu,
    gib: cpu * 4,
    requirements: [
      oneOf(INSTANCE_CATEGORY_LABEL, category),
      oneOf(INSTANCE_FAMILY_LABEL, family),
      oneOf(ARCH_LABEL, 'amd64'),
    ],
  });
const TYPES = [
  typeOf('c5.large', 'c', 'c5', 2),
  typeOf('m5.xlarge', 'm', 'm5', 4),
  typeOf('p5.48xlarge', 'p', 'p5', 192),
];
const GENERAL = nodePool('general', { requirements: [oneOf(INSTANCE_CATEGORY_LABEL, 'c', 'm', 'r')] });

/** Fields of a pod that shares its node with no pod of the same app. */
const apartFrom = (app: string): PodParts => ({
  labels: { app },
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: HOSTNAME_LABEL, labelSelector: { matchLabels: { app } } },
      ],
    },
  },
});

/** Returns the cause for which a pod stays pending. */
function causeOf(parts: PodParts, snapshot: SnapshotParts = {}): Cause | undefined {
  const plan = planOf(
    { types: TYPES, pools: [GENERAL], ...snapshot, pendingPods: [pod('web', parts)] },
    { explain: true },
  );
  const refusal = plan.refusals.get('default/web');
  return refusal?.code === 'no-fit' ? refusal.cause : undefined;
}
const textOf = (...args: Parameters<typeof causeOf>): string => {
  const cause = causeOf(...args);
  return cause === undefined ? '' : causeText(cause);
};

describe('the cause of a pending pod', () => {
  it('names the requirement of the NodePool that excludes the instance types of the pod', () => {
    const parts = { nodeSelector: { [INSTANCE_FAMILY_LABEL]: 'p5' } };
    expect(textOf(parts)).toBe(
      'NodePool "general" allows instance categories c, m, r; the pod requires instance family p5. ' +
        `Add "p" to ${INSTANCE_CATEGORY_LABEL}.`,
    );
    expect(causeOf(parts)).toMatchObject({
      code: 'requirements',
      object: { kind: 'NodePool', name: 'general' },
      field: INSTANCE_CATEGORY_LABEL,
    });
  });

  it('names the requirement that conflicts with the selector of the pod', () => {
    const pools = [nodePool('arm', { requirements: [oneOf(ARCH_LABEL, 'arm64')] })];
    const types = [instanceType('m7g.large', { requirements: [oneOf(ARCH_LABEL, 'arm64')] })];
    expect(textOf({ nodeSelector: { [ARCH_LABEL]: 'amd64' } }, { pools, types })).toBe(
      `NodePool "arm" allows architecture arm64; the pod requires architecture amd64. Add "amd64" to ${ARCH_LABEL}.`,
    );
  });

  it('suggests the removal of an excluded value', () => {
    const pools = [
      nodePool('cheap', { requirements: [{ key: INSTANCE_CATEGORY_LABEL, operator: 'NotIn', values: ['p'] }] }),
    ];
    expect(textOf({ nodeSelector: { [INSTANCE_FAMILY_LABEL]: 'p5' } }, { pools })).toContain(
      `Remove "p" from the excluded values of ${INSTANCE_CATEGORY_LABEL}.`,
    );
  });

  it('names a label that the nodes do not have', () => {
    expect(textOf({ nodeSelector: { team: 'a' } })).toBe(
      'NodePool "general" has no label team; the pod requires label team with value a. Add team to the requirements of the NodePool.',
    );
  });

  it('names an instance family that does not exist, with the nearest name', () => {
    expect(textOf({ nodeSelector: { [INSTANCE_FAMILY_LABEL]: 'm55' } })).toBe(
      `NodePool "general": no instance type has instance family m55. Correct ${INSTANCE_FAMILY_LABEL} in the pod's selector; did you mean "m5"?`,
    );
  });

  it('names the taint', () => {
    const pools = [nodePool('gpu', { taints: [{ key: 'nvidia.com/gpu', value: 'true', effect: 'NoSchedule' }] })];
    expect(textOf({}, { pools })).toBe(
      'NodePool "gpu" has the taint nvidia.com/gpu=true:NoSchedule, which the pod does not tolerate. ' +
        'Add a toleration for nvidia.com/gpu to the pod, or use another NodePool.',
    );
  });

  it('shows the usage and the limit of a NodePool', () => {
    const pools = [nodePool('general', { limits: { cpu: '5' } })];
    const nodes = [stateNode('node-a', { pool: 'general', taints: [{ key: 'full', effect: 'NoSchedule' }] })];
    expect(textOf({ cpu: '1' }, { pools, nodes })).toBe(
      'NodePool "general" has reached its limit: cpu 4 of 5 in use. Increase spec.limits.cpu of the NodePool.',
    );
  });

  it.each([
    { limits: { cpu: '7' }, shows: 'cpu 4 of 7 in use', field: 'cpu' },
    { limits: { memory: '100Gi', cpu: '7' }, shows: 'cpu 4 of 7, memory 16Gi of 100Gi in use', field: 'cpu' },
    {
      limits: { cpu: '7', nodes: '1' },
      shows: 'nodes 1 of 1, cpu 4 of 7 in use',
      field: 'nodes and spec.limits.cpu',
      all: true,
    },
    { limits: { cpu: '70', nodes: '1' }, shows: 'nodes 1 of 1, cpu 4 of 70 in use', field: 'nodes', all: true },
  ])('shows the limit $shows that leaves only smaller nodes than the pod needs', ({ limits, shows, field, all }) => {
    const pools = [nodePool('general', { limits })];
    const nodes = [stateNode('node-a', { pool: 'general', taints: [{ key: 'full', effect: 'NoSchedule' }] })];
    expect(textOf({ cpu: '3' }, { pools, nodes })).toBe(
      `NodePool "general" ${all ? `has reached its limit: ${shows}` : `cannot launch a node within its limits: ${shows}; the pod requests cpu 3`}. ` +
        `Increase spec.limits.${field} of the NodePool.`,
    );
  });

  it('names the requirement of a NodePool that is also at its limit if the pod cannot run there', () => {
    const pools = [
      nodePool('general', { limits: { cpu: '4' }, requirements: GENERAL.spec.template.spec.requirements }),
    ];
    const nodes = [stateNode('node-a', { pool: 'general' })];
    expect(textOf({ nodeSelector: { [INSTANCE_FAMILY_LABEL]: 'p5' } }, { pools, nodes })).toContain(
      'NodePool "general" allows instance categories c, m, r; the pod requires instance family p5.',
    );
  });

  it('counts planned nodes against the limit', () => {
    const plan = planOf(
      {
        types: TYPES.slice(0, 2),
        pools: [nodePool('general', { limits: { cpu: '7' } })],
        pendingPods: [pod('web-0', { cpu: '3' }), pod('web-1', { cpu: '3' })],
      },
      { explain: true },
    );
    const [refusal] = [...plan.refusals.values()];
    expect(refusal?.code === 'no-fit' && refusal.cause && causeText(refusal.cause)).toBe(
      'NodePool "general" cannot launch a node within its limits: cpu 4 of 7 (4 planned for new NodeClaims); the pod requests cpu 3. ' +
        'Increase spec.limits.cpu of the NodePool.',
    );
  });

  it('suggests no change of a limit that only reservations exceed', () => {
    const [small, large] = [typeOf('m5.large', 'm', 'm5', 2), typeOf('m5.4xlarge', 'm', 'm5', 16)];
    const going = stateNode('going', { pool: 'general', markedForDeletion: true });
    const starting = { ...stateNode('new', { pool: 'general' }), providerId: unlaunchedProviderId('new') };
    const cluster = { types: [small, large], pools: [nodePool('general', { limits: { cpu: '18' } })] };
    const needsLarge = { cpu: '500m', memory: '20Gi', ...apartFrom('web') };
    const spread = [pod('web-0', { cpu: '1', ...apartFrom('web') }), pod('web-1', needsLarge)];
    const wait = 'No change is needed: the operator tries again when this part of the limit is free.';
    const text = (parts: SnapshotParts) => textOf({ cpu: '15' }, { ...cluster, ...parts });
    expect(text({ nodes: [going] })).toBe(
      `NodePool "general" cannot launch a node within its limits: cpu 4 of 18 (4 on nodes that are being removed); the pod requests cpu 15. ${wait}`,
    );
    expect(text({ nodes: [starting] })).toContain(
      `cpu 4 of 18 (4 reserved for NodeClaims that are launching); the pod requests cpu 15. ${wait}`,
    );
    const full = { ...cluster, pools: [nodePool('general', { limits: { nodes: '1', cpu: '18' } })] };
    expect(textOf({ cpu: '15' }, { ...full, nodes: [starting] })).toContain('Increase spec.limits.nodes of');
    const plan = planOf({ ...cluster, pendingPods: spread }, { explain: true, packing: 'compatible' });
    const [refusal] = [...plan.refusals.values()];
    expect(refusal?.code === 'no-fit' && refusal.cause && causeText(refusal.cause)).toBe(
      `NodePool "general" cannot launch a node within its limits: cpu 16 of 18 (16 planned for new NodeClaims); the pod requests cpu 500m and memory 20Gi. ${wait}`,
    );
  });

  it.each([
    { what: 'requests', parts: { cpu: '500' }, code: 'too-large' },
    { what: 'zone', parts: { cpu: '1', nodeSelector: { [ZONE_LABEL]: 'zone-x' } }, code: 'not-offered' },
    { what: 'host port of a DaemonSet', parts: { cpu: '1', hostPort: 80 }, code: 'host-port' },
  ])('names the $what also if a NodePool has reached its limit', ({ parts, code }) => {
    const daemonPods = [daemon('agent', { cpu: '1', hostPort: 80 })];
    const right = causeOf(parts, { daemonPods });
    expect(right).toMatchObject({ code, object: { name: 'general' } });
    for (const limits of [{ cpu: '0' }, { nodes: '0' }]) {
      const pools = [GENERAL, nodePool('limited', { limits, weight: 9 })];
      expect(causeOf(parts, { daemonPods, pools })).toEqual(right);
      expect(causeOf(parts, { daemonPods, pools: pools.slice(1) })?.code).toBe(code);
    }
  });

  it('names a static NodePool instead of its taint, because a toleration would not help', () => {
    const taints = [{ key: 'fixed', effect: 'NoSchedule' as const }];
    const fixed = nodePool('fixed', { taints, replicas: 1 });
    const misfit = { code: 'static', text: 'it is static' } as const;
    const idle = { idlePools: [{ nodePool: 'fixed', misfit }], idleNodePools: [fixed] };
    expect(causeOf({ cpu: '1' }, { pools: [], ...idle })?.code).toBe('static');
  });

  it('reports sold-out capacity as sold out', () => {
    const types = [
      instanceType('p5.48xlarge', {
        offerings: [offering('spot', 'zone-a', 1, false), offering('on-demand', 'zone-a', 2, false)],
      }),
    ];
    for (const pools of [[nodePool('gpu')], [nodePool('gpu', { requirements: [oneOf(CAPACITY_TYPE_LABEL, 'spot')] })]])
      expect(textOf({ cpu: '1' }, { pools, types })).toMatch(
        /^NodePool "gpu" matches, but its capacity is sold out: EC2 has no .*spot capacity for p5\.48xlarge in zone-a\. /,
      );
  });

  it('names the error codes of the last launches and the first of the next attempts', () => {
    const failed = (zone: string, reason: string, untilMs: number) => ({
      ...offering('on-demand', zone, 2, false),
      outage: { reason, untilMs },
    });
    const offerings = [failed('zone-a', 'SomeNewCode', 90_000), failed('zone-b', 'VcpuLimitExceeded', 60_000)];
    expect(
      textOf({ cpu: '1' }, { pools: [nodePool('gpu')], types: [instanceType('p5.48xlarge', { offerings })] }),
    ).toMatch(
      /^NodePool "gpu" matches, but its capacity is not available now: the last launches of on-demand p5\.48xlarge in zone-a(, | and )zone-b failed with SomeNewCode(, | and )VcpuLimitExceeded\. The operator tries again at 1970-01-01T00:01:00Z; /,
    );
  });

  it('names the zone without offerings', () => {
    const pools = [nodePool('east', { requirements: [oneOf(ZONE_LABEL, 'us-east-1a')] })];
    expect(textOf({}, { pools })).toBe(
      'NodePool "east" offers zones zone-a, zone-b, zone-c; the NodePool requires zone us-east-1a. ' +
        `Correct ${ZONE_LABEL} in the NodePool, or select a subnet in this zone with EC2NodeClass "default".`,
    );
  });

  it('compares the requests with the largest instance type', () => {
    expect(textOf({ cpu: '64' })).toBe(
      'NodePool "general" has no instance type with enough room: the pod requests cpu 64, but the largest has cpu 4. ' +
        'Reduce the requests of the pod, or allow larger instance types.',
    );
  });

  it('includes the DaemonSets if only they leave no room', () => {
    expect(textOf({ cpu: '3' }, { daemonPods: [daemon('agent', { cpu: '2' })] })).toBe(
      'NodePool "general" has no instance type with enough room: the pod and the DaemonSets of a node request ' +
        '{"cpu":"5","pods":"2"}, but the largest has less. Reduce the requests, or allow larger instance types.',
    );
  });

  it('names the topology constraint without its counts', () => {
    const labels = { app: 'web' };
    const podAntiAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: ZONE_LABEL, labelSelector: { matchLabels: labels }, namespaces: ['default'] },
      ],
    };
    const nodes = ['zone-a', 'zone-b', 'zone-c'].map((zone) =>
      stateNode(`node-${zone}`, {
        labels: { [ZONE_LABEL]: zone },
        allocatable: { cpu: '1' },
        pods: [pod(`old-${zone}`, { labels, nodeName: `node-${zone}` })],
      }),
    );
    expect(textOf({ cpu: '2', labels, affinity: { podAntiAffinity } }, { nodes })).toMatch(
      /^NodePool "general" cannot satisfy a constraint of the pod: unsatisfiable topology constraint for [a-z -]+, key=topology\.kubernetes\.io\/zone\. Relax/,
    );
  });

  it('names the NodePool that the pod selects among many', () => {
    const others = Array.from({ length: 97 }, (_, at) =>
      nodePool(`pool-${at}`, { requirements: [oneOf('team', `t${at}`)] }),
    );
    const own = nodePool('zz-mine', {
      requirements: [oneOf(INSTANCE_CATEGORY_LABEL, 'c')],
      labels: { team: 'mine' },
      weight: 1,
    });
    const pools = [...others, own];
    const family = { [INSTANCE_FAMILY_LABEL]: 'm5' };
    const expected = /^NodePool "zz-mine" allows instance category c; the pod requires instance family m5\. Add "m"/;
    expect(textOf({ nodeSelector: { team: 'mine', ...family } }, { pools })).toMatch(expected);
    expect(textOf({ nodeSelector: { [NODEPOOL_LABEL]: 'zz-mine', ...family } }, { pools })).toMatch(expected);
  });

  it('names a selected NodePool that does not exist', () => {
    expect(textOf({ nodeSelector: { [NODEPOOL_LABEL]: 'generel' } })).toBe(
      'The pod selects NodePool generel, which does not exist (existing NodePools: general). Did you mean "general"?',
    );
  });

  it('names a selected NodePool that is not ready', () => {
    const idle = nodePool('gpu', { labels: { accelerator: 'gpu' } });
    const misfit = { code: 'not-ready', text: 'SubnetsReady=False, SubnetsNotFound' } as const;
    const idlePools = [{ nodePool: 'gpu', misfit }];
    expect(textOf({ nodeSelector: { accelerator: 'gpu' } }, { idlePools, idleNodePools: [idle] })).toMatch(
      /^NodePool "gpu" is not ready: SubnetsReady=False, SubnetsNotFound\. /,
    );
  });
});
