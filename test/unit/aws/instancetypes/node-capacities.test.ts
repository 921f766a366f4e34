import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { NodeCapacities } from '../../../../src/aws/instancetypes/node-capacities.ts';
import { sumsOf } from '../../../../src/engine/capacity-terms.ts';
import { settableClock } from '../../virtualclock.ts';

const DAY_MS = 24 * 3_600_000;
const PREDICTED = {
  cpu: 16_000,
  memory: 1_000,
  'ephemeral-storage': 600_000,
  pods: 110,
  'nvidia.com/gpu': 4,
  'aws/efa': 0,
};

const PREDICTED_TERMS = Object.fromEntries(
  Object.entries(PREDICTED).map(([name, amount]) => [name, [{ text: 'predicted', amount }]]),
);
type Amounts = Readonly<Record<string, number>>;
const add = (capacities: NodeCapacities, uid: string, capacity: Amounts): boolean =>
  capacities.add('type', { uid, node: `ip-${uid}`, image: 'ami-1', capacity });
const learned = (capacities: NodeCapacities): Amounts => sumsOf(capacities.learned('type', PREDICTED_TERMS));

function learnedFrom(...reports: readonly Amounts[]) {
  const capacities = new NodeCapacities(settableClock());
  for (const [index, report] of reports.entries()) add(capacities, `node-${index}`, report);
  return learned(capacities);
}

describe('the learned capacity', () => {
  it('is the prediction without a report', () => {
    expect(learnedFrom()).toEqual(PREDICTED);
  });

  it('is the lesser value of every resource after one node has reported slightly less', () => {
    expect(learnedFrom({ ...PREDICTED, 'ephemeral-storage': 599_400 })).toEqual({
      ...PREDICTED,
      'ephemeral-storage': 599_400,
    });
  });

  it('is never more than predicted, except for memory, which is an estimate', () => {
    expect(learnedFrom({ ...PREDICTED, cpu: 32_000, memory: 1_050 })).toEqual({ ...PREDICTED, memory: 1_050 });
  });

  it('ignores one node with much less, and resources that a node does not report', () => {
    const strange = { ...PREDICTED, 'ephemeral-storage': 1, memory: 10, 'nvidia.com/gpu': 0 };
    expect(learnedFrom(strange)).toEqual(PREDICTED);
    expect(learnedFrom(strange, PREDICTED, PREDICTED)).toEqual(PREDICTED);
  });

  it('follows much lower values of at least two nodes that are half of all nodes, for a day', async () => {
    const clock = settableClock();
    const capacities = new NodeCapacities(clock);
    add(capacities, 'a', { pods: 58 });
    add(capacities, 'b', { pods: 58 });
    add(capacities, 'c', { pods: 1 });
    expect(learned(capacities).pods).toBe(58);
    const before = capacities.sequence;
    await clock.advance(DAY_MS);
    expect(capacities.sequence).toBeGreaterThan(before);
    expect(capacities.changeOf('type')).toBe(capacities.sequence);
    expect(learned(capacities).pods).toBe(110);
  });

  it('counts each node once, and the last eight nodes', () => {
    const capacities = new NodeCapacities(settableClock());
    expect(add(capacities, 'a', { pods: 109 })).toBe(true);
    expect(add(capacities, 'a', { pods: 100 })).toBe(false);
    expect(learned(capacities).pods).toBe(109);
    for (let node = 0; node < 8; node++) add(capacities, `later-${node}`, { pods: 110 });
    expect(learned(capacities).pods).toBe(110);
  });

  it('is the prediction again after 60 days', async () => {
    const clock = settableClock();
    const capacities = new NodeCapacities(clock);
    add(capacities, 'a', { pods: 109 });
    await clock.advance(60 * DAY_MS);
    expect(learned(capacities)).toEqual(PREDICTED);
  });

  it('is reduced by at most a tenth by any single node', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -5, max: 2_000 }),
        fc.array(fc.constant(1_000), { maxLength: 7 }),
        (own, others) => {
          const { memory } = learnedFrom({ memory: own }, ...others.map((memory) => ({ memory })));
          expect(memory).toBeGreaterThanOrEqual(900);
        },
      ),
    );
  });
});
