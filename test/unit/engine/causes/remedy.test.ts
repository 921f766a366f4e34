/** Checks of remedies: the change of each kind of cause, further causes, the limit of the work, and random clusters. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ARCH_LABEL, INSTANCE_CATEGORY_LABEL, INSTANCE_FAMILY_LABEL, NODEPOOL_LABEL, ZONE_LABEL } from '#api/objects';
import { type Cause, causeText } from '../../../../src/engine/causes/cause.ts';
import { applyEdit, remedyEdit } from '../../../../src/engine/causes/remedy.ts';
import { NOT_CHECKED, type RemedyProof } from '../../../../src/engine/causes/remedy-proof.ts';
import type { Plan, Snapshot, SolveOptions } from '../../../../src/engine/model.ts';
import { podKey } from '../../../../src/engine/pods.ts';
import { checkRemedies, provePodRemedy } from '../../../../src/engine/remedy-check.ts';
import { solve } from '../../../../src/engine/solve.ts';
import {
  daemon,
  instanceType,
  nodePool,
  OPTIONS,
  offering,
  oneOf,
  type PodParts,
  pod,
  type SnapshotParts,
  snapshot as snapshotOf,
  stateNode,
} from '../build.ts';
import { drawnSnapshot } from '../scenarios.ts';

const EXPLAINED: SolveOptions = { ...OPTIONS, explain: true };

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
const CATEGORIES = { requirements: [oneOf(INSTANCE_CATEGORY_LABEL, 'c', 'm', 'r')] };
const GENERAL = nodePool('general', CATEGORIES);

interface Checked {
  readonly cause: Cause | undefined;
  readonly proof: RemedyProof | undefined;
}

/** Returns the refusals of a snapshot with checked remedies, and the input of the check. */
async function solveChecked(snapshot: Snapshot, mayCheck?: () => boolean) {
  const solved = { snapshot, options: EXPLAINED, plan: solve(snapshot, EXPLAINED), solve };
  return { ...solved, plan: { refusals: await checkRemedies(solved, mayCheck) } };
}

/** Returns the cause for which a pod stays pending, and the check of its remedy. */
async function check(parts: PodParts, cluster: SnapshotParts = {}, mayCheck?: () => boolean): Promise<Checked> {
  const pendingPods = [pod('web', parts)];
  const solved = await solveChecked(snapshotOf({ types: TYPES, pools: [GENERAL], ...cluster, pendingPods }), mayCheck);
  return { cause: causesOf(solved.plan).get('default/web'), proof: await provePodRemedy('default/web', solved) };
}

const causesOf = ({ refusals }: Pick<Plan, 'refusals'>): ReadonlyMap<string, Cause> =>
  new Map(
    [...refusals].flatMap(([key, refusal]) =>
      refusal.code === 'no-fit' && refusal.cause !== undefined ? [[key, refusal.cause] as const] : [],
    ),
  );

const P5 = { nodeSelector: { [INSTANCE_FAMILY_LABEL]: 'p5' } };
const labels = { app: 'web' };
const apart = (topologyKey: string) => ({
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels: labels } }],
  },
});
const inEachZone = ['zone-a', 'zone-b', 'zone-c'].map((zone) =>
  stateNode(`node-${zone}`, {
    labels: { [ZONE_LABEL]: zone },
    allocatable: { cpu: '1' },
    pods: [pod(`old-${zone}`, { labels, nodeName: `node-${zone}` })],
  }),
);

interface Kind extends SnapshotParts {
  readonly code: Cause['code'];
  readonly parts?: PodParts;
  readonly change: string;
}

describe('the check of a remedy', () => {
  it.each<Kind>([
    {
      code: 'no-such-nodepool',
      parts: { nodeSelector: { [NODEPOOL_LABEL]: 'generel' } },
      change: `the pod requires "general" for ${NODEPOOL_LABEL}`,
    },
    {
      code: 'no-such-nodepool',
      parts: { nodeSelector: { [NODEPOOL_LABEL]: 'x' } },
      change: `the pod does not require ${NODEPOOL_LABEL}`,
    },
    { code: 'requirements', parts: P5, change: `"p" is allowed for ${INSTANCE_CATEGORY_LABEL} of NodePool "general"` },
    {
      code: 'requirements',
      parts: P5,
      pools: [
        nodePool('cheap', { requirements: [{ key: INSTANCE_CATEGORY_LABEL, operator: 'NotIn', values: ['p'] }] }),
      ],
      change: `"p" is allowed for ${INSTANCE_CATEGORY_LABEL} of NodePool "cheap"`,
    },
    {
      code: 'requirements',
      parts: { nodeSelector: { team: 'a' } },
      pools: [nodePool('b', { labels: { team: 'b' } })],
      change: 'the pod does not require team',
    },
    {
      code: 'undefined-label',
      parts: { nodeSelector: { team: 'a' } },
      change: 'team with "a" is added to the requirements of NodePool "general"',
    },
    {
      code: 'undefined-label',
      parts: { nodeSelector: { 'topology.kubernetes.io/zonee': 'zone-a' } },
      change: `the pod requires the label ${ZONE_LABEL} instead of topology.kubernetes.io/zonee`,
    },
    {
      code: 'unknown-instance-type',
      parts: { nodeSelector: { [INSTANCE_FAMILY_LABEL]: 'm55' } },
      change: `the pod requires "m5" for ${INSTANCE_FAMILY_LABEL}`,
    },
    {
      code: 'not-offered',
      parts: { nodeSelector: { [ZONE_LABEL]: 'zone-x' } },
      change: `the pod does not require ${ZONE_LABEL}`,
    },
    {
      code: 'not-offered',
      pools: [nodePool('east', { requirements: [oneOf(ZONE_LABEL, 'us-east-1a')] })],
      change: `${ZONE_LABEL} of NodePool "east" is not restricted`,
    },
    {
      code: 'sold-out',
      types: [instanceType('m5.xlarge', { offerings: [offering('spot', 'zone-a', 1, false)] })],
      change: 'all offerings of NodePool "general" are available',
      pools: [nodePool('general')],
    },
    { code: 'too-large', parts: { cpu: '64' }, change: 'the pod requests less' },
    {
      code: 'too-large',
      parts: { cpu: '3' },
      daemonPods: [daemon('agent', { cpu: '2' })],
      change: 'the pod requests less',
    },
    {
      code: 'taint',
      pools: [nodePool('gpu', { taints: [{ key: 'gpu', value: 'true', effect: 'NoSchedule' }] })],
      change: 'the pod tolerates gpu',
    },
    {
      code: 'limits',
      parts: { cpu: '1' },
      pools: [nodePool('general', { limits: { cpu: '0', memory: '0' } })],
      change: 'spec.limits.cpu and spec.limits.memory of NodePool "general" is increased',
    },
    {
      code: 'min-values',
      pools: [
        nodePool('general', { requirements: [{ key: INSTANCE_FAMILY_LABEL, operator: 'Exists', minValues: 9 }] }),
      ],
      change: 'minValues of NodePool "general" are removed',
    },
    {
      code: 'topology',
      parts: { cpu: '2', labels, affinity: apart(ZONE_LABEL) },
      nodes: inEachZone,
      change: 'the pod has no topology constraints',
    },
    {
      code: 'host-port',
      parts: { hostPort: 80 },
      daemonPods: [daemon('agent', { hostPort: 80 })],
      change: 'the pod uses no host ports',
    },
  ])('applies the remedy of the code $code: $change', async ({ code, parts = {}, change, ...cluster }) => {
    const { cause, proof } = await check(parts, cluster);
    expect(cause).toMatchObject({ code });
    expect(cause?.remark).toBeUndefined();
    expect(proof).toMatchObject({ steps: [{ cause: { code }, change }], place: { nodePool: expect.any(String) } });
  });

  it('shows the cause that remains, and applies the remedies of further causes', async () => {
    const { cause, proof } = await check(P5, { pools: [nodePool('general', { ...CATEGORIES, limits: { cpu: '4' } })] });
    expect(cause?.remark).toMatch(/^A further cause remains: NodePool "general" .*Increase spec\.limits\.cpu/);
    expect(cause && causeText(cause)).toContain(`Add "p" to ${INSTANCE_CATEGORY_LABEL}. A further cause remains: `);
    expect(proof?.steps.map((step) => step.cause.code)).toEqual(['requirements', 'limits']);
    expect(proof?.place).toEqual({ nodePool: 'general', instanceType: 'p5.48xlarge' });
  });

  it('prefers the cause of an equally close NodePool whose remedy places the pod', async () => {
    const limited = nodePool('aaa', { ...CATEGORIES, limits: { cpu: '4' } });
    const { cause } = await check(P5, { pools: [limited, GENERAL] });
    expect(cause).toMatchObject({ object: { name: 'general' }, code: 'requirements' });
    expect(cause?.remark).toBeUndefined();
    // the label of the pod names the NodePool, whose causes are shown
    const named = { nodeSelector: { ...P5.nodeSelector, [NODEPOOL_LABEL]: 'aaa' } };
    expect((await check(named, { pools: [limited, GENERAL] })).cause).toMatchObject({ object: { name: 'aaa' } });
  });

  it('checks each value of a label that several pods require', async () => {
    const pendingPods = ['a', 'b', 'c'].map((team) => pod(`web-${team}`, { nodeSelector: { team } }));
    const { plan } = await solveChecked(snapshotOf({ types: TYPES, pools: [GENERAL], pendingPods }));
    const remarks = [...plan.refusals.values()].map((refusal) => refusal.code === 'no-fit' && refusal.cause?.remark);
    expect(remarks).toEqual([undefined, undefined, undefined]);
  });

  it('has no result for a remedy that no solve can apply', async () => {
    const misfit = { code: 'not-ready', text: 'SubnetsReady=False' } as const;
    const idle = {
      idlePools: [{ nodePool: 'gpu', misfit }],
      idleNodePools: [nodePool('gpu', { labels: { team: 'a' } })],
    };
    const { cause, proof } = await check({ nodeSelector: { team: 'a' } }, idle);
    expect(cause).toMatchObject({ code: 'not-ready' });
    expect(cause?.remark).toBeUndefined();
    expect(proof).toMatchObject({
      steps: [],
      remaining: { code: 'not-ready' },
      problem: expect.stringContaining('solve'),
    });
  });

  it('shows that a NodePool is not ready after its other cause', async () => {
    const misfit = { code: 'not-ready', text: 'SubnetsReady=False' } as const;
    const tainted = nodePool('gpu', { taints: [{ key: 'gpu', effect: 'NoSchedule' }] });
    const idle = { pools: [], idlePools: [{ nodePool: 'gpu', misfit }], idleNodePools: [tainted] };
    expect((await check({}, idle)).cause).toMatchObject({
      code: 'taint',
      remark: expect.stringContaining('is not ready'),
    });
  });

  it('has a remark if it is not made', async () => {
    expect((await check(P5, {}, () => false)).cause?.remark).toBe('No solve has checked this change.');
  });

  it('is made for 20 kinds of pods, and less often in large clusters', async () => {
    const unchecked = async (kinds: number, others: number): Promise<number> => {
      const refused = Array.from({ length: kinds }, (_, at) =>
        pod(`web-${at}`, { cpu: '64', labels: { at: `${at}` } }),
      );
      const placed = Array.from({ length: others }, (_, at) => pod(`small-${at}`, { cpu: '10m' }));
      const { plan } = await solveChecked(
        snapshotOf({ types: TYPES, pools: [GENERAL], pendingPods: [...refused, ...placed] }),
      );
      return [...causesOf(plan).values()].filter(({ remark }) => remark !== undefined).length;
    };
    expect(await unchecked(25, 0)).toBe(5);
    expect(await unchecked(25, 975)).toBe(15);
  });

  it('places the pod of a random cluster if its remedy has no remark', async () => {
    const found = { placed: 0, remarks: 0 };
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 1_000_000 }), fc.constantFrom('0', '3', '40'), async (seed, cpu) => {
        const drawn = drawnSnapshot(seed, { nodes: 4, workloads: 8 });
        const pools = drawn.pools.map((input, at) =>
          at === 0
            ? { ...input, nodePool: { ...input.nodePool, spec: { ...input.nodePool.spec, limits: { cpu } } } }
            : input,
        );
        const snapshot: Snapshot = { ...drawn, pools };
        const { plan } = await solveChecked(snapshot);
        for (const [key, cause] of causesOf(plan)) {
          if (cause.remark === NOT_CHECKED) continue;
          const own = snapshot.pendingPods.find((each) => podKey(each) === key);
          const edit = remedyEdit(cause);
          if (own === undefined || edit === undefined) continue;
          const changed = applyEdit(edit, { pod: own, name: cause.object.name, snapshot });
          const { refusals } = solve(changed, { ...OPTIONS, packing: 'compatible' });
          expect([seed, cpu, key, causeText(cause), refusals.has(key)]).toEqual([
            ...[seed, cpu, key, causeText(cause)],
            cause.remark !== undefined,
          ]);
          found[cause.remark === undefined ? 'placed' : 'remarks'] += 1;
        }
      }),
      { numRuns: 25, seed: 11, endOnFailure: true },
    );
    expect(found.placed).toBeGreaterThan(30);
    expect(found.remarks).toBeGreaterThan(3);
  });
});
