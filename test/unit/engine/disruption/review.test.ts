/** Review of one method with its candidates, budgets and totals. */
import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { Method, MethodInput } from '../../../../src/engine/disruption/method.ts';
import type { PassInput } from '../../../../src/engine/disruption/pass.ts';
import { enabledMethods, METHODS, methodsOf, review } from '../../../../src/engine/disruption/review.ts';
import type { PoolInput, Snapshot, StateNode } from '../../../../src/engine/model.ts';
import { passOn } from '../../../support/cluster-course.ts';
import { at, instanceType, NOW, pod, pool, stateNode } from './objects.ts';

const types = [instanceType('m.large', 2, 0.1)];

const passFor = (nodes: readonly StateNode[], pools: readonly PoolInput[]): PassInput =>
  passOn(
    {
      snapshot: {
        nowMs: NOW,
        pools,
        nodes,
        pendingPods: [],
        daemonPods: [],
        namespaces: [],
        podDisruptionBudgets: [],
        persistentVolumeClaims: [],
        persistentVolumes: [],
        storageClasses: [],
      } satisfies Snapshot,
      pools: new Map(pools.map((input) => [input.nodePool.metadata.name, input])),
    },
    { spotToSpot: false, consolidation: 'compatible', simulate: async () => undefined },
  );

/** A method that selects nodes with pods and records its input. */
function listener() {
  const heard: MethodInput[] = [];
  const method: Method = {
    name: 'listener',
    reason: 'Underutilized',
    class: 'graceful',
    consolidationType: '',
    evaluates: 'nodes',
    filter: ({ reschedulablePods }) =>
      reschedulablePods.length > 0 ? undefined : { reason: { code: 'empty', text: 'empty' }, isReported: false },
    decide: async (input) => {
      heard.push(input);
      return { commands: [], exhausted: true, events: [] };
    },
  };
  return { method, heard };
}

describe('review', () => {
  it('passes the selected nodes with their budgets to the method, and reports the reason for other nodes', async () => {
    const { method, heard } = listener();
    const nodes = [
      stateNode('a', { pods: [pod('p')] }),
      stateNode('b'),
      stateNode('c', { state: { markedForDeletion: true } }),
    ];
    const pools = [
      { nodePool: pool('default', { consolidateAfter: '0s', budgets: [{ nodes: '2' }] }), instanceTypes: types },
    ];
    const { blocks, declined, candidates, allowances } = await review(method, passFor(nodes, pools));
    expect(heard.map((each) => each.candidates.map(({ name }) => name))).toEqual([['a']]);
    expect(heard[0]?.budgets).toEqual(new Map([['default', 1]]));
    expect(candidates.map(({ name }) => name)).toEqual(['a']);
    expect([...declined.keys()]).toEqual(['aws:///b']);
    expect([...blocks].map(([id, { code }]) => [id, code])).toEqual([['aws:///c', 'deleting']]);
    expect(allowances.get('default')).toMatchObject({ total: 3, disrupting: 1, allowed: 2, remaining: 1 });
  });

  it('does not run a method without candidates', async () => {
    const { method, heard } = listener();
    const { result: findings } = await review(
      method,
      passFor([stateNode('a')], [{ nodePool: pool(), instanceTypes: types }]),
    );
    expect({ heard, findings }).toMatchObject({ heard: [], findings: { commands: [], exhausted: true } });
  });

  it('excludes nodes whose NodePool has no instance types, because prices are unknown', async () => {
    const { method } = listener();
    const nodes = [stateNode('a', { pods: [pod('p')] }), stateNode('b', { pool: 'bare', pods: [pod('q')] })];
    const pools = [
      { nodePool: pool(), instanceTypes: types },
      { nodePool: pool('bare'), instanceTypes: [] },
    ];
    const { blocks, candidates } = await review(method, passFor(nodes, pools));
    expect(candidates.map(({ name }) => name)).toEqual(['a']);
    expect(blocks.get('aws:///b')).toMatchObject({ code: 'no-pool', object: { kind: 'NodePool', name: 'bare' } });
  });

  it('gives each method its full deadline, whatever time other methods used', async () => {
    const { method, heard } = listener();
    let nowMs = 7_000;
    const nodes = [stateNode('a', { pods: [pod('p')] })];
    const pass = { ...passFor(nodes, [{ nodePool: pool(), instanceTypes: types }]), elapsedMs: () => nowMs };
    for (const _ of ['one', 'another']) {
      await review(method, pass);
      const { elapsedMs } = heard.at(-1) ?? {};
      expect(elapsedMs?.()).toBe(0);
      nowMs += 21_000;
      expect(elapsedMs?.()).toBe(21_000);
    }
  });

  it('includes all disruptable nodes in the totals of NodePools, even nodes that the method does not select', async () => {
    const { method, heard } = listener();
    const going = pod('going', { metadata: { deletionTimestamp: at(NOW) } }); // would count on a node that is not disruptable
    const nodes = [stateNode('a', { pods: [pod('p')] }), stateNode('b', { pods: [going] })];
    await review(method, passFor(nodes, [{ nodePool: pool(), instanceTypes: types }]));
    expect(heard[0]?.totals.get('default')?.disruption).toBe(3);
  });
});

const FOLDER = new URL('../../../../src/engine/disruption/methods/', import.meta.url);
const isMethod = (value: unknown): value is Method =>
  typeof value === 'object' && value !== null && 'decide' in value && 'filter' in value;

describe('the list of methods', () => {
  it('contains the methods of all files, each with its own name', async () => {
    const files = readdirSync(FOLDER).filter((name) => name.endsWith('.ts'));
    const modules: readonly object[] = await Promise.all(files.map((name) => import(new URL(name, FOLDER).pathname)));
    const declared = modules.flatMap((module) => Object.values(module).filter(isMethod));
    expect(new Set(declared)).toEqual(new Set(METHODS));
    expect(new Set(METHODS.map(({ name }) => name)).size).toBe(declared.length);
  });

  it('runs in order of increasing disruption', () => {
    const inOrder = [
      'emptiness',
      'static drift',
      'drift',
      'multi-node consolidation',
      'single-node consolidation',
      'swap consolidation',
    ];
    expect(methodsOf('thorough').map(({ name }) => name)).toEqual(inOrder);
    expect(methodsOf('compatible').map(({ name }) => name)).toEqual(inOrder.slice(0, 5));
    expect(METHODS).toEqual(methodsOf('thorough'));
  });

  it.each([
    'thorough',
    'compatible',
  ] as const)('skips static NodePools without the feature gate: %s', (consolidation) => {
    const asked = (staticCapacity: boolean) => enabledMethods(consolidation, staticCapacity);
    expect(asked(true)).toEqual(methodsOf(consolidation));
    expect(asked(false)).toEqual(methodsOf(consolidation).filter(({ name }) => name !== 'static drift'));
  });
});
