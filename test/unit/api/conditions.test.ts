import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type Conditioned,
  clearCondition,
  getCondition,
  initConditions,
  isTrue,
  NODECLAIM_CONDITIONS,
  setCondition,
} from '../../../src/api/conditions.ts';

const created = '2026-01-01T00:00:00Z';
const at = (seconds: number): number => Date.parse(created) + seconds * 1000;
const claim = (generation = 1): Conditioned => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: 'c', generation, creationTimestamp: created },
});
const set = NODECLAIM_CONDITIONS;
const types = (object: Conditioned): string[] => (object.status?.conditions ?? []).map(({ type }) => type);

const launched = (object: Conditioned, seconds: number): Conditioned =>
  setCondition(object, set, { type: 'Launched', status: 'True' }, at(seconds));

describe('initConditions', () => {
  it('adds missing conditions as Unknown since the creation, and adds no duplicates', () => {
    const touched = initConditions(claim(), set);
    expect(types(touched)).toEqual(['Launched', 'Registered', 'Initialized', 'Ready']);
    expect(getCondition(touched, 'Ready')).toEqual({
      type: 'Ready',
      status: 'Unknown',
      reason: 'AwaitingReconciliation',
      message: 'object is awaiting reconciliation',
      lastTransitionTime: created,
      observedGeneration: 1,
    });
    expect(initConditions(touched, set)).toBe(touched);
  });
});

describe('setCondition', () => {
  it('uses the type as default reason, and summarizes the remaining conditions in Ready', () => {
    const object = launched(claim(), 10);
    expect(getCondition(object, 'Launched')).toEqual({
      type: 'Launched',
      status: 'True',
      reason: 'Launched',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:10Z',
      observedGeneration: 1,
    });
    expect(getCondition(object, 'Ready')).toMatchObject({
      status: 'Unknown',
      reason: 'ReconcilingDependents',
      message: 'Initialized=Unknown, Registered=Unknown',
    });
  });

  it('sets Ready to True with the last dependent condition', () => {
    let object = launched(claim(), 10);
    object = setCondition(object, set, { type: 'Registered', status: 'True' }, at(20));
    object = setCondition(object, set, { type: 'Initialized', status: 'True' }, at(30));
    expect(getCondition(object, 'Ready')).toMatchObject({ status: 'True', reason: 'Ready', message: '' });
    expect(types(object)).toEqual(['Launched', 'Registered', 'Initialized', 'Ready']);
  });

  it('sets Ready to False with a failed dependent condition, newest transition first', () => {
    let object = launched(claim(), 10);
    object = setCondition(object, set, { type: 'Registered', status: 'False', reason: 'Odd', message: 'two' }, at(20));
    expect(getCondition(object, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'UnhealthyDependents',
      message: 'Registered=False, Initialized=Unknown',
    });
  });

  it('names the newest transition first, even within one second', () => {
    const found = (object: Conditioned) => getCondition(object, 'Ready')?.message;
    let object = setCondition(claim(), set, { type: 'Launched', status: 'False', reason: 'No' }, at(10));
    object = setCondition(object, set, { type: 'Registered', status: 'False', reason: 'No' }, at(10));
    expect(found(object)).toBe('Registered=False, Launched=False, Initialized=Unknown');
    object = setCondition(object, set, { type: 'Launched', status: 'False', reason: 'Still' }, at(11));
    expect(found(object)).toBe('Registered=False, Launched=False, Initialized=Unknown');
  });

  it('treats a condition of an earlier generation as unhealthy but not as failed', () => {
    let object = setCondition(claim(1), set, { type: 'Launched', status: 'False', reason: 'No' }, at(10));
    object = { ...object, metadata: { ...object.metadata, generation: 2 } };
    object = setCondition(object, set, { type: 'Registered', status: 'True' }, at(20));
    expect(getCondition(object, 'Ready')).toMatchObject({ status: 'Unknown', reason: 'ReconcilingDependents' });
  });

  it('changes the transition time only with the status', () => {
    const first = setCondition(claim(), set, { type: 'Launched', status: 'Unknown', reason: 'A' }, at(10));
    const second = setCondition(first, set, { type: 'Launched', status: 'Unknown', reason: 'B' }, at(20));
    expect(getCondition(second, 'Launched')).toMatchObject({ reason: 'B', lastTransitionTime: created });
  });

  it('returns the same object if nothing changes', () => {
    const object = launched(claim(), 10);
    expect(launched(object, 20)).toBe(object);
  });

  it('updates every condition of a deleting object to the current generation', () => {
    const object = launched(claim(1), 10);
    const metadata = { ...object.metadata, generation: 2, deletionTimestamp: created };
    const drained = setCondition({ ...object, metadata }, set, { type: 'Drained', status: 'True' }, at(20));
    expect(drained.status?.conditions?.every(({ observedGeneration }) => observedGeneration === 2)).toBe(true);
  });
});

describe('the order of conditions', () => {
  const set3 = (object: Conditioned, ...types: readonly [string, number][]): Conditioned =>
    types.reduce((before, [type, seconds]) => setCondition(before, set, { type, status: 'True' }, at(seconds)), object);

  it('is the order of their transitions, with Ready last', () => {
    const object = set3(claim(), ['Registered', 30], ['Drifted', 10], ['Launched', 20], ['Consolidatable', 40]);
    expect(types(object)).toEqual(['Initialized', 'Drifted', 'Launched', 'Registered', 'Consolidatable', 'Ready']);
  });

  it('is stable for transitions in the same second', () => {
    const object = set3(claim(), ['Drifted', 10], ['Consolidatable', 10], ['Launched', 10]);
    expect(types(object).slice(-4)).toEqual(['Drifted', 'Consolidatable', 'Launched', 'Ready']);
  });

  it('is alphabetical after one is cleared', () => {
    const object = set3(claim(), ['Registered', 10], ['Launched', 20], ['Drifted', 30], ['Consolidatable', 40]);
    expect(types(clearCondition(object, set, 'Drifted', at(50)))).toEqual([
      'Consolidatable',
      'Initialized',
      'Launched',
      'Ready',
      'Registered',
    ]);
  });

  it('is newest transition first in the message of Ready, and last in the list first for equal times', () => {
    const failed = (object: Conditioned, type: string, seconds: number) =>
      setCondition(object, set, { type, status: 'False', reason: 'No' }, at(seconds));
    const message = (object: Conditioned) => getCondition(object, 'Ready')?.message;
    expect(message(failed(failed(claim(), 'Registered', 10), 'Initialized', 20))).toBe(
      'Initialized=False, Registered=False, Launched=Unknown',
    );
    expect(message(failed(claim(), 'Drifted', 10))).toBe('Initialized=Unknown, Registered=Unknown, Launched=Unknown');
  });
});

describe('a condition that does not affect Ready', () => {
  it('exists from its first update, and does not set Ready to False', () => {
    const update = { type: 'ConsistentStateFound', status: 'False', reason: 'No', message: '' } as const;
    const object = setCondition(launched(claim(), 10), set, update, at(20));
    expect(getCondition(object, 'ConsistentStateFound')?.lastTransitionTime).toBe('2026-01-01T00:00:20Z');
    expect(getCondition(object, 'Ready')).toMatchObject({ status: 'Unknown', reason: 'ReconcilingDependents' });
  });
});

describe('the generation of a condition', () => {
  it('is updated to that of the object even if nothing else changes, and Ready follows', () => {
    const types = ['Launched', 'Registered', 'Initialized'];
    const set3 = (object: Conditioned): Conditioned =>
      types.reduce((before, type) => setCondition(before, set, { type, status: 'True' }, at(10)), object);
    const done = set3(claim(1));
    const edited = { ...done, metadata: { ...done.metadata, generation: 2 } };
    const [first] = types;
    const half = setCondition(edited, set, { type: first ?? '', status: 'True' }, at(20));
    expect(getCondition(half, 'Launched')).toMatchObject({
      observedGeneration: 2,
      lastTransitionTime: '2026-01-01T00:00:10Z',
    });
    expect(getCondition(half, 'Ready')).toMatchObject({
      status: 'Unknown',
      message: 'Initialized=True, Registered=True',
    });
    expect(getCondition(set3(edited), 'Ready')).toMatchObject({ status: 'True', observedGeneration: 2 });
  });
});

describe('a message that quotes user input', () => {
  it('is truncated to a length that the API server accepts', () => {
    const message = `invalid value ${'x'.repeat(100_000)}`;
    const object = setCondition(claim(), set, { type: 'Launched', status: 'False', message }, at(1));
    const shown = getCondition(object, 'Launched')?.message ?? '';
    expect(shown).toMatch(/^invalid value x+\.\.\. \(\d+ more characters\)$/);
    expect(shown.length).toBeLessThan(32_768);
  });
});

describe('clearCondition', () => {
  it('removes a condition that does not affect Ready', () => {
    const object = setCondition(claim(), set, { type: 'Drifted', status: 'True' }, at(10));
    expect(isTrue(object, 'Drifted')).toBe(true);
    expect(getCondition(clearCondition(object, set, 'Drifted', at(20)), 'Drifted')).toBeUndefined();
  });

  it.each(['Launched', 'Ready'])('keeps %s', (type) => {
    const object = launched(claim(), 10);
    expect(clearCondition(object, set, type, at(20))).toBe(object);
  });
});

describe('a property of each condition', () => {
  const update = fc.record({
    type: fc.constantFrom('Launched', 'Registered', 'Initialized', 'Drifted', 'Consolidatable'),
    status: fc.constantFrom('True' as const, 'False' as const, 'Unknown' as const),
  });

  it('keeps Ready last and types unique, and Ready is True exactly if all dependent conditions are', () => {
    fc.assert(
      fc.property(fc.array(update, { minLength: 1, maxLength: 12 }), (updates) => {
        const object = updates.reduce<Conditioned>(
          (before, next, index) => setCondition(before, set, next, at(index)),
          claim(),
        );
        expect(types(object).at(-1)).toBe('Ready');
        expect(new Set(types(object)).size).toBe(types(object).length);
        expect(isTrue(object, 'Ready')).toBe(set.dependents.every((type) => isTrue(object, type)));
      }),
    );
  });
});
