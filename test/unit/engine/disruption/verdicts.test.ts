import { describe, expect, it } from '@jest/globals';
import type { Method } from '../../../../src/engine/disruption/method.ts';
import { currentBlock, simulateOn } from '../../../../src/engine/disruption/pass.ts';
import { methodsOf, review } from '../../../../src/engine/disruption/review.ts';
import { Simulator } from '../../../../src/engine/disruption/simulations/simulator.ts';
import {
  type MethodReview,
  type Verdict,
  VerdictHistory,
  verdictsOf,
} from '../../../../src/engine/disruption/verdicts.ts';
import type { Offering, Snapshot, StateNode } from '../../../../src/engine/model.ts';
import { passOn } from '../../../support/cluster-course.ts';
import { at, budget, claim, instanceType, NOW, pod, pool, stateNode } from './objects.ts';

const types = [instanceType('m.small', 1, 0.05), instanceType('m.large', 2, 0.1)];
const busy = (name: string, cpu = '1500m') =>
  pod(name, { spec: { nodeName: 'x', containers: [{ name: 'main', resources: { requests: { cpu } } }] } });

const isOnDemand = ({ requirements }: Offering): boolean =>
  requirements.some(({ values }) => values?.includes('on-demand'));

interface Question {
  readonly nodes: readonly StateNode[];
  readonly disruption?: Partial<NonNullable<Parameters<typeof pool>[1]>>;
  readonly onDemandOnly?: boolean;
  readonly budgets?: Snapshot['podDisruptionBudgets'];
}

async function reviewsOf({
  nodes,
  disruption,
  budgets = [],
  onDemandOnly = false,
}: Question): Promise<readonly MethodReview[]> {
  const nodePool = pool('default', { consolidateAfter: '0s', budgets: [{ nodes: '100%' }], ...disruption });
  const sold = onDemandOnly ? types.map((type) => ({ ...type, offerings: type.offerings.filter(isOnDemand) })) : types;
  const input = { nodePool, instanceTypes: sold };
  const snapshot: Snapshot = {
    nowMs: NOW,
    pools: [input],
    nodes,
    pendingPods: [],
    daemonPods: [],
    namespaces: [],
    podDisruptionBudgets: budgets,
    persistentVolumeClaims: [],
    persistentVolumes: [],
    storageClasses: [],
  };
  const solve = {
    preferencePolicy: 'Respect',
    minValuesPolicy: 'Strict',
    reservedMode: 'off',
    ignoreDraRequests: true,
  } as const;
  const simulate = simulateOn(new Simulator(snapshot, { nodePools: [nodePool], solve }));
  const pools = new Map([['default', input]]);
  const pass = passOn({ snapshot, pools }, { spotToSpot: false, consolidation: 'compatible', simulate });
  return Promise.all(methodsOf('compatible').map((method) => review(method, pass)));
}

const verdictsFor = async (question: Question): Promise<readonly Verdict[]> =>
  verdictsOf(question.nodes, await reviewsOf(question), NOW);

const conditions = (...isTrue: readonly string[]) =>
  claim('a', {
    status: { conditions: isTrue.map((type) => ({ type, status: 'True' as const, lastTransitionTime: at(NOW) })) },
  });

function leaving(deadline: string): ReturnType<typeof claim> {
  const leaver = claim('a');
  const annotations = { 'karpenter.sh/nodeclaim-termination-timestamp': deadline };
  return { ...leaver, metadata: { ...leaver.metadata, annotations } };
}

describe('a verdict', () => {
  const cases: readonly { readonly why: string; readonly question: Question; readonly verdict: Partial<Verdict> }[] = [
    {
      why: 'a PDB that has nothing to spare',
      question: {
        nodes: [stateNode('a', { pods: [busy('p')] })],
        budgets: [
          {
            ...budget('web', { selector: {} }, 0),
            status: { disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2 },
          },
        ],
      },
      verdict: {
        code: 'pdb',
        object: { kind: 'PodDisruptionBudget', namespace: 'default', name: 'web' },
        nearestMiss: 'healthy pods: 2, required: 2',
      },
    },
    {
      why: 'a pod that is to be left alone for a while',
      question: {
        nodes: [
          stateNode('a', {
            pods: [
              pod('p', {
                metadata: { annotations: { 'karpenter.sh/do-not-disrupt': '1h' } },
                status: { phase: 'Running', startTime: at(NOW - 60_000) },
              }),
            ],
          }),
        ],
      },
      verdict: {
        code: 'pod-do-not-disrupt',
        object: { kind: 'Pod', namespace: 'default', name: 'p' },
        nearestMiss: 'until 2026-01-15T12:59:00.000Z',
      },
    },
    {
      why: 'pods that resist while it goes, and when they will be forced',
      question: {
        nodes: [
          stateNode('a', {
            state: { markedForDeletion: true },
            pods: [busy('p')],
            claim: leaving('2026-01-15T13:00:00Z'),
          }),
        ],
      },
      verdict: { code: 'deleting', nearestMiss: '1 pod left to evict, no later than 2026-01-15T13:00:00Z' },
    },
    {
      why: 'pods that resist for as long as they like while it goes',
      question: { nodes: [stateNode('a', { state: { markedForDeletion: true }, pods: [busy('p'), busy('q')] })] },
      verdict: {
        code: 'deleting',
        nearestMiss: expect.stringMatching(/^2 pods left to evict, without a time limit/) as unknown as string,
      },
    },
    {
      why: 'what comes when its pods are gone',
      question: { nodes: [stateNode('a', { state: { markedForDeletion: true } })] },
      verdict: {
        code: 'deleting',
        nearestMiss: 'no pods are left to evict; volumes are detached and the instance is terminated next',
      },
    },
    {
      why: 'the price',
      question: { nodes: [stateNode('a', { pods: [busy('p')] })], onDemandOnly: true },
      verdict: {
        code: 'not-cheaper',
        nearestMiss: 'the cheapest replacement is m.large at $0.1000/h, the node costs $0.1000/h',
      },
    },
    {
      why: 'its quiet time',
      question: {
        nodes: [stateNode('a', { pods: [busy('p')], claim: conditions('Initialized') })],
        disruption: { consolidateAfter: '5m' },
      },
      verdict: { code: 'not-consolidatable', nearestMiss: 'in 5m0s, if no pod is added or removed' },
    },
    {
      why: 'its budget although it is empty',
      question: { nodes: [stateNode('a')], disruption: { budgets: [{ nodes: '0' }] } },
      verdict: {
        code: 'budget',
        object: { kind: 'NodePool', name: 'default' },
        nearestMiss: '0 of 1 nodes are not ready or being deleted, 0 allowed',
      },
    },
    {
      why: 'the window of a budget, which touches the next one',
      question: {
        nodes: [stateNode('a')],
        disruption: {
          budgets: [{ nodes: '50%' }, { nodes: '0', reasons: ['Empty'], schedule: '0 11,13 * * *', duration: '2h' }],
        },
      },
      verdict: {
        code: 'budget',
        nearestMiss: '0 of 1 nodes are not ready or being deleted, 0 allowed: by budgets[1] until 2026-01-15T15:00:00Z',
      },
    },
    {
      why: 'a window that never ends',
      question: {
        nodes: [stateNode('a')],
        disruption: { budgets: [{ nodes: '0', schedule: '@hourly', duration: '1h' }] },
      },
      verdict: { code: 'budget', nearestMiss: '0 of 1 nodes are not ready or being deleted, 0 allowed' },
    },
    {
      why: 'a budget that cannot be read',
      question: {
        nodes: [stateNode('a')],
        disruption: { budgets: [{ nodes: '1', schedule: '61 * * * *', duration: '1h' }] },
      },
      verdict: {
        code: 'budget',
        nearestMiss: expect.stringMatching(
          / 0 allowed: invalid cron schedule "61 \* \* \* \*", expected/,
        ) as unknown as string,
      },
    },
    {
      why: 'its budget although it has drifted, and consolidation has nothing to say',
      question: {
        nodes: [stateNode('a', { pods: [busy('p')], claim: conditions('Initialized', 'Drifted') })],
        disruption: { consolidateAfter: 'Never', budgets: [{ nodes: '0', reasons: ['Drifted'] }] },
      },
      verdict: { code: 'budget' },
    },
    {
      why: 'the policy of its NodePool',
      question: { nodes: [stateNode('a', { pods: [busy('p')] })], disruption: { consolidationPolicy: 'WhenEmpty' } },
      verdict: { code: 'only-when-empty' },
    },
  ];
  it.each(cases)('reports $why', async ({ question, verdict }) => {
    const [found] = await verdictsFor(question);
    expect(found).toMatchObject({ node: 'a', nodePool: 'default', ...verdict });
  });

  it('names the next node and the node that would follow', async () => {
    const nodes = [
      stateNode('b', { pods: [busy('p', '100m')] }),
      stateNode('a'),
      stateNode('c', { pods: [busy('q')] }),
    ];
    const [a, b] = await verdictsFor({ nodes });
    expect(a).toMatchObject({
      node: 'a',
      code: 'chosen',
      command: { method: 'emptiness', decision: 'delete', nodes: ['a'], savings: 0.1 },
    });
    expect(b).toMatchObject({ node: 'b', code: 'next', text: expect.stringMatching(/emptiness comes first/) });
    expect(b?.methods.map(({ method }) => method)).toEqual(methodsOf('compatible').map(({ name }) => name));
  });

  it('ranks a new method by its reason, after methods that evaluate each node', async () => {
    const nodes = [stateNode('a', { pods: [busy('p')] })];
    const reviews = await reviewsOf({ nodes, disruption: { consolidationPolicy: 'WhenEmpty' } });
    const [single] = reviews.filter(({ method }) => method.consolidationType === 'single');
    if (single === undefined) throw new Error('no single-node consolidation');
    const added = (reason: Method['reason'], evaluates: Method['evaluates']): MethodReview => {
      const declined = new Map(
        [...single.declined].map(([id, each]) => [id, { ...each, reason: { code: 'limits', text: reason } as const }]),
      );
      return { ...single, method: { ...single.method, name: 'new', reason, evaluates }, declined };
    };
    const codeWith = (...others: readonly MethodReview[]) => verdictsOf(nodes, [...others, ...reviews], NOW)[0]?.code;
    expect(codeWith()).toBe('only-when-empty');
    expect(codeWith(added('Underutilized', 'sets'))).toBe('only-when-empty');
    expect(codeWith(added('Empty', 'nodes'))).toBe('only-when-empty');
    expect(codeWith(added('Drifted', 'sets'))).toBe('limits');
  });

  it('reports a command for several nodes before the reason that blocks a node alone', async () => {
    const empty = stateNode('c', { state: { allocatable: { cpu: 100, memory: 0, pods: 58 } } }); // no room for other pods
    const nodes = [stateNode('a', { pods: [busy('p')] }), stateNode('b', { pods: [busy('q')] }), empty];
    const reviews = await reviewsOf({ nodes, onDemandOnly: true });
    expect(verdictsOf(nodes, reviews, NOW)[0]?.code).toBe('not-cheaper');
    const together = reviews.map((each) =>
      each.method.name === 'multi-node consolidation'
        ? {
            ...each,
            result: {
              ...each.result,
              commands: [{ reason: 'Underutilized' as const, candidates: each.candidates, replacements: [] }],
            },
          }
        : each,
    );
    expect(verdictsOf(nodes, together, NOW).map(({ code }) => code)).toEqual(['next', 'next', 'chosen']);
  });

  it('replaces a block that has ended or changed since the decision, and has the time of the decision', async () => {
    const nodes = [stateNode('a', { pods: [busy('p', '100m')] })];
    const budgets = [budget('web', { selector: {}, maxUnavailable: 0 }, 0)];
    const reviews = await reviewsOf({ nodes, budgets });
    const history = new VerdictHistory();
    for (const each of reviews) history.record({ ...each, decidedMs: NOW });
    const codesWith = (podDisruptionBudgets: Snapshot['podDisruptionBudgets'], of = nodes) =>
      history
        .verdicts(of, NOW + 60_000, (node, disruptionClass) =>
          currentBlock(node, { nowMs: NOW + 60_000, podDisruptionBudgets, class: disruptionClass }),
        )
        .map(({ code, decided, methods }) => [decided, ...new Set([code, ...methods.map((each) => each.code)])]);
    const decided = new Date(NOW).toISOString().replace('.000Z', 'Z');
    expect(codesWith(budgets)).toEqual([[decided, 'pdb']]);
    expect(codesWith([])).toEqual([[decided, 'not-reached']]);
    const leaving = nodes.map((node) => ({ ...node, markedForDeletion: true }));
    expect(codesWith([], leaving)).toEqual([[decided, 'deleting']]);
    expect(history.verdicts(nodes, NOW)[0]).toMatchObject({ code: 'pdb', decided });
  });

  it('reports "others go first" for a node that a budget excludes because other nodes used it', async () => {
    const nodes = [stateNode('a'), stateNode('b')];
    const verdicts = await verdictsFor({ nodes, disruption: { budgets: [{ nodes: '1' }] } });
    expect(verdicts).toMatchObject([
      { code: 'chosen' },
      {
        code: 'budget',
        nearestMiss: '0 of 2 nodes are not ready or being deleted, 1 allowed: other nodes are disrupted first',
      },
    ]);
  });

  it('omits consolidation reasons for a drifted node that waits for other nodes', async () => {
    const drifted = conditions('Initialized', 'Drifted');
    const nodes = ['a', 'b'].map((name) => stateNode(name, { pods: [busy('p')], claim: drifted }));
    const verdicts = await verdictsFor({ nodes, disruption: { consolidateAfter: 'Never' } });
    expect(verdicts.map(({ code }) => code)).toEqual(['chosen', 'not-reached']);
  });
});
