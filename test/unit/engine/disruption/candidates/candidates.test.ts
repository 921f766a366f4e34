import { describe, expect, it } from '@jest/globals';
import { DO_NOT_DISRUPT_ANNOTATION, type NodePool } from '#api/objects';
import {
  bySavings,
  type Candidate,
  isEmpty,
  longText,
  shortText,
} from '../../../../../src/engine/disruption/command.ts';
import { emptiness } from '../../../../../src/engine/disruption/methods/emptiness.ts';
import { candidateOf, isBlock } from '../../../../../src/engine/disruption/pass.ts';
import type { PlannedClaim, StateNode } from '../../../../../src/engine/model.ts';
import { invalid, partial } from '../../../../support/partial.ts';
import { at, budget, claim, instanceType, methodInputOf, NOW, pod, pool, stateNode } from '../objects.ts';

const types = [instanceType('m.large', 2, 0.1), instanceType('m.xlarge', 4, 0.2)];

type CandidateContext = Parameters<typeof candidateOf>[1];

const context = (more: Partial<CandidateContext> = {}): CandidateContext => ({
  nowMs: NOW,
  class: 'graceful',
  inProgress: new Set(),
  pools: new Map([['default', { nodePool: pool(), instanceTypes: types }]]),
  podDisruptionBudgets: [],
  ...more,
});

function candidate(node: StateNode, more: Partial<CandidateContext> = {}): Candidate {
  const result = candidateOf(node, context(more));
  if (isBlock(result)) throw new Error(`expected a candidate, got ${result.text}`);
  return result;
}

const protectedPod = pod('db', { metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } } });
const web = pod('web', { metadata: { labels: { app: 'web' } } });
const webBudget = budget('web', { selector: { matchLabels: { app: 'web' } } }, 0);

describe('the cost of a candidate', () => {
  it('includes the surplus CPU credits of its pods', () => {
    const cpuBurst = { baseline: 400, utilization: 0.5, usdPerVcpuHour: 0.04 };
    const burstable = { nodePool: pool(), instanceTypes: types.map((type) => ({ ...type, cpuBurst })) };
    const pods = [pod('a', { spec: { containers: [{ name: 'a', resources: { requests: { cpu: '1800m' } } }] } })];
    const pools = new Map([['default', burstable]]);
    const plain = candidate(stateNode('a', { pods })).usdPerHour;
    expect(candidate(stateNode('b', { pods }), { pools }).usdPerHour).toBeCloseTo(plain + 0.02, 12);
    expect(candidate(stateNode('c'), { pools }).usdPerHour).toBe(plain);
  });
});

describe('a node that cannot be evaluated', () => {
  it('is blocked, with the error', () => {
    const broken = stateNode('a', { pods: [pod('web', { spec: invalid({ tolerations: 5 }) })] });
    expect(candidateOf(broken, context({ podDisruptionBudgets: [webBudget] }))).toEqual({
      code: 'unreadable',
      text: expect.stringMatching(/^node cannot be evaluated, /),
    });
  });
});

describe('candidateOf', () => {
  const without = (key: 'node' | 'nodeClaim'): StateNode => {
    const { [key]: _, ...rest } = stateNode('a');
    return rest;
  };
  it.each([
    {
      when: 'a command already includes it',
      node: stateNode('a'),
      with: { inProgress: new Set(['aws:///a']) },
      code: 'in-progress',
      text: 'candidate is already being disrupted',
    },
    {
      when: 'Karpenter does not manage it',
      node: without('nodeClaim'),
      with: {},
      code: 'unmanaged',
      text: "node isn't managed by karpenter",
    },
    {
      when: 'it has no Node',
      node: without('node'),
      with: {},
      code: 'no-node',
      text: 'nodeclaim does not have an associated node',
    },
    {
      when: 'it is marked for deletion',
      node: stateNode('a', { state: { markedForDeletion: true } }),
      with: {},
      code: 'deleting',
      text: 'node is deleting or marked for deletion',
    },
    {
      when: 'it is nominated',
      node: stateNode('a', { state: { nominatedUntilMs: NOW + 1 } }),
      with: {},
      code: 'nominated',
      text: 'node is nominated for a pending pod',
    },
    {
      when: 'its Node has the annotation',
      node: stateNode('a', { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } }),
      with: {},
      code: 'do-not-disrupt',
      text: 'disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation',
    },
    {
      when: 'it has no NodePool',
      node: stateNode('a', { pool: '' }),
      with: {},
      code: 'no-pool-label',
      text: "node doesn't have required label (label=karpenter.sh/nodepool)",
    },
    {
      when: 'its NodePool does not exist',
      node: stateNode('a', { pool: 'gone' }),
      with: {},
      code: 'no-pool',
      text: 'NodePool not found (NodePool=gone)',
    },
    {
      when: 'a pod must not be disrupted',
      node: stateNode('a', { pods: [protectedPod] }),
      with: {},
      code: 'pod-do-not-disrupt',
      text: 'pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/db)',
    },
    {
      when: 'a PDB blocks eviction',
      node: stateNode('a', { pods: [web] }),
      with: { podDisruptionBudgets: [webBudget] },
      code: 'pdb',
      text: 'pdb prevents pod evictions (PodDisruptionBudget=[default/web])',
    },
    {
      when: 'two PDBs select a pod',
      node: stateNode('a', { pods: [web] }),
      with: { podDisruptionBudgets: [budget('x', { selector: {} }), budget('y', { selector: {} })] },
      code: 'several-pdbs',
      text: 'eviction does not support multiple PDBs (PodDisruptionBudget(s)=[default/x default/y])',
    },
  ])('blocks a node if $when', ({ node, with: more, code, text }) => {
    expect(candidateOf(node, context(more))).toMatchObject({ code, text });
  });

  it('ignores an expired nomination and a duration in the annotation of the Node', () => {
    candidate(stateNode('a', { state: { nominatedUntilMs: NOW } }));
    candidate(stateNode('a', { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: '1h' } }));
  });

  it('accepts pods that the grace period will end for eventual methods only', () => {
    const node = stateNode('a', {
      pods: [protectedPod],
      claim: claim('a', { spec: { terminationGracePeriod: '1h' } }),
    });
    expect(isBlock(candidateOf(node, context({ class: 'eventual' })))).toBe(false);
    expect(isBlock(candidateOf(node, context({ class: 'graceful' })))).toBe(true);
    expect(isBlock(candidateOf(stateNode('a', { pods: [protectedPod] }), context({ class: 'eventual' })))).toBe(true);
  });

  it('calculates the price of the node and the disruption cost of its pods', () => {
    const daemon = pod('agent', {
      metadata: { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'd' }] },
    });
    const found = candidate(stateNode('a', { pods: [web, daemon] }));
    expect(found).toMatchObject({ usdPerHour: 0.1, rescheduleCost: 2, savingsRatio: 0.05, zone: 'zone-a' });
    expect(found.reschedulablePods.map(({ metadata }) => metadata.name)).toEqual(['web']);
    expect(isEmpty(found)).toBe(false);
    expect(isEmpty(candidate(stateNode('a', { pods: [daemon] })))).toBe(true);
  });

  it('has no price if the type has no such offering', () => {
    expect(candidate(stateNode('a', { type: 'm.gone' }))).toMatchObject({ instanceType: undefined, usdPerHour: 0 });
  });

  it('ignores pods with the lowest deletion cost', () => {
    const gladly = pod('g', {
      metadata: { annotations: { 'controller.kubernetes.io/pod-deletion-cost': '-2147483648' } },
    });
    expect(isEmpty(candidate(stateNode('a', { pods: [gladly] })))).toBe(true);
  });
});

describe('a node that was evaluated before', () => {
  const codeOf = (node: StateNode, more: Partial<CandidateContext> = {}): string | undefined => {
    const result = candidateOf(node, context(more));
    return isBlock(result) ? result.code : undefined;
  };
  const timed = pod('job', {
    metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: '1h' } },
    status: { phase: 'Running', startTime: at(NOW) },
  });

  it('is no longer blocked when its nomination ends', () => {
    const node = stateNode('a', { state: { nominatedUntilMs: NOW + 1 } });
    expect([NOW, NOW + 1, NOW].map((nowMs) => codeOf(node, { nowMs }))).toEqual(['nominated', undefined, 'nominated']);
  });

  it('is no longer blocked when the protection of its pod ends', () => {
    const node = stateNode('a', { pods: [web, timed] });
    const times = [NOW, NOW + 3_599_999, NOW + 3_600_000];
    expect(times.map((nowMs) => codeOf(node, { nowMs }))).toEqual([
      'pod-do-not-disrupt',
      'pod-do-not-disrupt',
      undefined,
    ]);
  });

  it('is evaluated with the current selectors and allowances of its budgets', () => {
    const node = stateNode('a', { pods: [web] });
    const other = budget('web', { selector: { matchLabels: { app: 'other' } } }, 0);
    const lists = [
      [webBudget],
      [{ ...webBudget, status: { disruptionsAllowed: 1 } }],
      [webBudget],
      [other],
      [],
      [webBudget],
    ];
    expect(lists.map((podDisruptionBudgets) => codeOf(node, { podDisruptionBudgets }))).toEqual([
      'pdb',
      undefined,
      'pdb',
      undefined,
      undefined,
      'pdb',
    ]);
  });

  it('reports the current number of healthy pods that its budget lacks', () => {
    const node = stateNode('a', { pods: [web] });
    const missing = [1, 2].map((currentHealthy) => {
      const status = { disruptionsAllowed: 0, currentHealthy, desiredHealthy: 3 };
      return candidateOf(node, context({ podDisruptionBudgets: [{ ...webBudget, status }] }));
    });
    expect(missing).toMatchObject([
      { nearestMiss: 'healthy pods: 1, required: 3' },
      { nearestMiss: 'healthy pods: 2, required: 3' },
    ]);
  });

  it('has the current price and NodePool', () => {
    const node = stateNode('a', { pods: [web] });
    const nodePool = pool();
    const fee = { feeUsdPerHour: 0.5, volumesUsdPerHour: 0.25, publicIpv4UsdPerHour: 0 };
    const inputs = [
      { nodePool, instanceTypes: types },
      { nodePool, instanceTypes: [instanceType('m.large', 2, 0.3)] },
      { nodePool, instanceTypes: types, extras: fee },
      { nodePool, instanceTypes: [] },
      { nodePool: pool('default', { consolidateAfter: 'Never' }), instanceTypes: types },
    ];
    const found = inputs.map((input) => candidate(node, { pools: new Map([['default', input]]) }));
    expect(found.map(({ usdPerHour }) => usdPerHour)).toEqual([0.1, 0.3, 0.85, 0, 0.1]);
    expect(found.map(({ billedUsdPerHour }) => billedUsdPerHour)).toEqual([0.1, 0.3, 0.35, 0, 0.1]);
    expect(found.map((each) => each.nodePool)).toEqual(inputs.map((input) => input.nodePool));
  });
});

describe('bySavings', () => {
  it('sorts expensive and nearly empty nodes first', () => {
    const order = bySavings([
      candidate(stateNode('small', { type: 'm.large' })),
      candidate(stateNode('busy', { type: 'm.xlarge', pods: [web, pod('x'), pod('y')] })),
      candidate(stateNode('big', { type: 'm.xlarge' })),
    ]);
    expect(order.map(({ name }) => name)).toEqual(['big', 'small', 'busy']);
  });
});

describe('text of a command', () => {
  const command = {
    reason: 'Empty' as const,
    candidates: [candidate(stateNode('a')), candidate(stateNode('b'))],
    replacements: [],
  };
  const replacement: PlannedClaim = {
    nodePool: 'default',
    pods: [],
    instanceTypes: ['m.large'],
    requirements: [],
    requests: {},
    labels: {},
    annotations: {},
    cheapest: 'm.large',
    usdPerHour: 0.05,
  };
  it('contains nodes, NodePools and savings', () => {
    expect(shortText(command)).toBe('delete: [a, b]');
    expect(shortText({ ...command, replacements: [replacement] })).toBe('replace: [a, b] -> [1 replacement]');
    expect(longText({ ...command, replacements: [replacement, replacement] }, 'id')).toBe(
      'Empty/id: replace: nodepools=[default]: [a, b] -> [2 replacements] (savings: $0.10)',
    );
  });
});

describe('emptiness', () => {
  it.each([
    {
      when: 'nothing has to move',
      node: stateNode('a'),
      disruption: { consolidateAfter: '0s' },
      is: undefined,
    },
    {
      when: 'a pod runs',
      node: stateNode('a', { pods: [web] }),
      disruption: { consolidateAfter: '0s' },
      is: { isReported: false, reason: { code: 'not-empty' } },
    },
    {
      when: 'it is not consolidatable yet',
      node: stateNode('a', { claim: claim('a') }),
      disruption: { consolidateAfter: '0s' },
      is: { isReported: false, reason: { code: 'not-consolidatable' } },
    },
    {
      when: 'consolidation is off',
      node: stateNode('a'),
      disruption: { consolidateAfter: 'Never' },
      is: { isReported: true, reason: { text: 'NodePool "default" has consolidation disabled' } },
    },
    {
      when: 'nobody said after what time',
      node: stateNode('a'),
      disruption: partial<NonNullable<NodePool['spec']['disruption']>>({ budgets: [] }),
      is: { isReported: true, reason: { text: 'NodePool "default" has consolidation disabled' } },
    },
    {
      when: 'it holds buffer pods',
      node: stateNode('a', { state: { bufferPods: 2 } }),
      disruption: { consolidateAfter: '0s' },
      is: { isReported: true, reason: { text: 'Node "a" has buffer pods' } },
    },
  ])('returns $is if $when', ({ node, disruption, is }) => {
    const pools = new Map([['default', { nodePool: pool('default', disruption), instanceTypes: types }]]);
    const refusal = emptiness.filter(candidate(node, { pools }));
    if (is === undefined) expect(refusal).toBeUndefined();
    else expect(refusal).toMatchObject(is);
  });

  const empty = ['a', 'b', 'c'].map((name) => candidate(stateNode(name)));
  const input = (allowed: number, candidates = empty) =>
    methodInputOf(candidates, { budgets: new Map([['default', allowed]]) });

  it('disrupts as many nodes as the budget allows in one command', async () => {
    const { commands, exhausted } = await emptiness.decide(input(2));
    expect(commands.map(({ candidates }) => candidates.map(({ name }) => name))).toEqual([['a', 'b']]);
    expect(exhausted).toBe(false);
    expect(await emptiness.decide(input(0))).toMatchObject({ commands: [], exhausted: false });
    expect(await emptiness.decide(input(3, []))).toMatchObject({ commands: [], exhausted: true });
  });

  it('keeps only the candidates that are still valid at validation', async () => {
    const command = { reason: 'Empty' as const, candidates: empty, replacements: [] };
    const valid = await emptiness.validate?.(command, input(5, empty.slice(1)));
    expect(valid?.command?.candidates.map(({ name }) => name)).toEqual(['b', 'c']);
    const constrained = await emptiness.validate?.(command, input(1));
    expect(constrained).toMatchObject({ dropped: 2 });
    expect(constrained?.command?.candidates).toHaveLength(1);
    const [first, ...others] = empty.map((each) => ({
      ...each,
      stateNode: { ...each.stateNode, nominatedUntilMs: each.name === 'a' ? NOW + 1 : NOW },
    }));
    const expecting = await emptiness.validate?.(command, input(5, first ? [first, ...others] : []));
    expect(expecting).toMatchObject({ dropped: 1 });
    expect(expecting?.command?.candidates.map(({ name }) => name)).toEqual(['b', 'c']);
    expect(await emptiness.validate?.(command, input(0))).toMatchObject({
      failure: { category: 'budget' },
      dropped: 3,
    });
    expect(await emptiness.validate?.(command, input(5, []))).toMatchObject({
      failure: { category: 'churn', failed: 3 },
    });
  });
});
