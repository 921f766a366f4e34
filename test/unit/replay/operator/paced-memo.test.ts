import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Condition, Pod } from '#api/objects';
import type { Method } from '#engine/disruption';
import type { StateNode } from '#engine/model';
import { drift, emptiness, singleNode, swap } from '#engine/testing';
import type { DisruptionInput } from '#planner';
import { FEW_NODES, PacedMemo } from '../../../../src/replay/operator/operator.ts';
import { partial } from '../../../support/partial.ts';
import { claim, pod, stateNode } from '../../engine/disruption/objects.ts';

const METHODS = [emptiness, drift, singleNode, swap];
const SEARCHES = [singleNode, swap];

const busy = (name: string, ...conditions: readonly Partial<Condition>[]): StateNode =>
  withConditions(name, [pod(`on-${name}`)], conditions);
const withConditions = (name: string, pods: readonly Pod[], conditions: readonly Partial<Condition>[]): StateNode =>
  stateNode(name, { pods, claim: claim(name, { status: { conditions: partial(conditions) } }) });
/** A snapshot with unique nodes. */
const snapshotOf = (...more: readonly StateNode[]): DisruptionInput =>
  partial({ nodes: [...Array.from({ length: FEW_NODES + 5 }, (_, at) => busy(`${at}`)), ...more] });

let nowMs: number;
let memo: PacedMemo;
beforeEach(() => {
  nowMs = 1_000_000;
  memo = new PacedMemo({ consolidationState: () => 1 }, () => nowMs);
});

/** Runs all methods that are due in a pass. */
function pass(snapshot = snapshotOf(), isOver = true): readonly Method[] {
  const due = memo.due(METHODS, snapshot);
  memo.passed(new Map(due.map((method) => [method, isOver])), snapshot);
  return due;
}

describe('PacedMemo', () => {
  it('searches again 600 ms per node after a search without a result, and half an hour later for swaps', () => {
    expect(pass()).toEqual(SEARCHES);
    nowMs += 11_999;
    expect(pass()).toEqual([]);
    nowMs += 1;
    expect(pass()).toEqual([singleNode]);
    nowMs += 30 * 60_000 - 12_000;
    expect(pass()).toEqual(SEARCHES);
  });

  it('searches immediately after a search with a result', () => {
    expect([pass(snapshotOf(), false), pass()]).toEqual([SEARCHES, SEARCHES]);
  });

  it('makes no search if no method found a command in the same snapshot', () => {
    const snapshot = snapshotOf();
    pass(snapshot);
    nowMs += 60 * 60_000;
    expect(pass(snapshot)).toEqual([]);
    expect(pass()).toEqual(SEARCHES);
  });

  it.each<[string, StateNode, readonly Method[]]>([
    [
      'is empty and can be disrupted',
      withConditions('x', [], [{ type: 'Consolidatable', status: 'True' }]),
      [emptiness],
    ],
    ['has drifted', busy('x', { type: 'Drifted', status: 'True' }), [emptiness]],
    ['is empty and cannot be disrupted yet', withConditions('x', [], []), []],
    ['has pods and can be disrupted', busy('x', { type: 'Consolidatable', status: 'True' }), []],
  ])('runs only methods without searches between searches if a node %s', (_, node, due) => {
    pass();
    expect(pass(snapshotOf(node))).toEqual(due);
  });

  it('evaluates drift as soon as a node is drifted and the last run is long enough ago', () => {
    pass();
    nowMs += 12_600;
    expect(pass(snapshotOf(busy('x', { type: 'Drifted', status: 'True' })))).toEqual([emptiness, drift, singleNode]);
  });
});
