import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Candidate, MethodInput, MethodResult } from '#engine/disruption';
import { emptiness, singleNode } from '#engine/testing';
import type { DisruptionInput } from '#planner';
import { DecisionMemo } from '../../../../src/controllers/disruption/snapshots.ts';
import { partial } from '../../../support/partial.ts';
import { methodInputOf } from '../../engine/disruption/objects.ts';

const METHODS = [emptiness, singleNode];
const snapshotNamed = (name: string): DisruptionInput => ({ name }) as unknown as DisruptionInput;
const [first, second] = [snapshotNamed('first'), snapshotNamed('second')];

let state: number;
let memo: DecisionMemo;
beforeEach(() => {
  state = 1;
  memo = new DecisionMemo({ consolidationState: () => state });
});

describe('the list of methods that are due', () => {
  it('excludes a method without commands in the same snapshot', () => {
    expect(memo.due(METHODS, first)).toEqual(METHODS);
    memo.passed(new Map([[emptiness, true]]), first);
    expect(memo.due(METHODS, first)).toEqual([singleNode]);
    expect(memo.due(METHODS, second)).toEqual(METHODS);
  });

  it('includes a method that may find a command in the same snapshot', () => {
    memo.passed(new Map([[singleNode, true]]), first);
    memo.passed(new Map([[singleNode, false]]), first);
    expect(memo.due(METHODS, first)).toEqual(METHODS);
  });
});

describe('a search without a result', () => {
  const nothing = { commands: [], events: [] };
  const whole: MethodResult = { ...nothing, exhausted: true };
  const constrained: MethodResult = { ...nothing, exhausted: false };
  const inputOf = (names: string, more: Partial<MethodInput> = {}): MethodInput =>
    methodInputOf(
      [...names].map((providerId) => ({ providerId }) as Candidate),
      { consolidation: 'thorough', ...more },
    );

  it.each<[string, MethodResult, MethodInput, boolean]>([
    ['covers the same candidates', whole, inputOf('ab'), true],
    ['covers fewer candidates', whole, inputOf('a'), true],
    ['does not cover another candidate', whole, inputOf('abc'), false],
    ['covers other budgets', whole, inputOf('ab', { budgets: new Map() }), true],
    ['covers the same choice if budgets ended it', constrained, inputOf('ab'), true],
    ['does not cover fewer candidates if budgets ended it', constrained, inputOf('a'), false],
    ['does not cover other budgets if budgets ended it', constrained, inputOf('ab', { budgets: new Map() }), false],
    ['covers nothing if it failed', { ...constrained, failures: [{ node: 'a', error: '' }] }, inputOf('ab'), false],
    ['covers nothing if it timed out', { ...constrained, timeout: { message: '', fields: {} } }, inputOf('ab'), false],
  ])('%s', (_, result, later, isCovered) => {
    memo.searched(singleNode, inputOf('ab'), result);
    expect(memo.isCovered(singleNode, later)).toBe(isCovered);
    state = 2;
    expect(memo.isCovered(singleNode, later)).toBe(false);
  });

  it('covers other candidates if consolidation is compatible with Karpenter', () => {
    memo.searched(singleNode, inputOf('ab', { consolidation: 'compatible' }), whole);
    expect(memo.isCovered(singleNode, inputOf('abc'))).toBe(true);
  });

  it('leaves the NodePools that it did not reach to the next search', () => {
    const timeout = { message: '', fields: {} };
    memo.searched(singleNode, inputOf('a'), { ...constrained, timeout, unseenPools: new Set(['other']) });
    expect([...memo.unseenPools(singleNode)]).toEqual(['other']);
    memo.searched(singleNode, inputOf('a'), { ...constrained, commands: [partial({})], unseenPools: new Set() });
    expect([...memo.unseenPools(singleNode)]).toEqual(['other']);
    memo.searched(singleNode, inputOf('a'), constrained);
    expect([...memo.unseenPools(singleNode)]).toEqual([]);
  });
});
