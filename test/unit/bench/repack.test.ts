/** Search and summary of the benchmark for moves of many nodes. */
import { describe, expect, it } from '@jest/globals';
import { bestSet, type Moment, repackLine } from '../../../bench/repack.ts';

type Found = Moment['best'];

const found = (nodes: number, savingsUsdPerHour: number, netUsd: number): Found => ({
  ...{ nodes, pods: 10 * nodes, savingsUsdPerHour, netUsd },
});

describe('search for a set of nodes', () => {
  const NODES = ['a', 'b', 'c', 'd', 'e', 'f'];
  const scoreOf = ({ netUsd }: Found): number => netUsd;

  it('finds nodes that pay together and are not adjacent', async () => {
    const findMove = async (set: readonly string[]): Promise<Found> => {
      const together = ['b', 'e', 'f'].every((node) => set.includes(node)) ? 6 : 0;
      return found(set.length, together, together - set.length);
    };
    expect(await bestSet(NODES, findMove, { work: 100, scoreOf })).toEqual(found(3, 6, 3));
  });

  it('returns an empty set if pods find no node, or if every move costs more than it saves', async () => {
    const empty = found(0, 0, 0);
    expect(await bestSet(NODES, async () => undefined, { work: 50, scoreOf })).toEqual(empty);
    expect(await bestSet(NODES, async (set) => found(set.length, 1, -1), { work: 50, scoreOf })).toEqual(empty);
    expect(await bestSet([], async () => found(1, 1, 1), { work: 50, scoreOf })).toEqual(empty);
  });
});

it('compares savings with the price of the nodes until the next moment', () => {
  const moment: Moment = {
    ...{ minutes: 30, nodes: 4, usdPerHour: 10, scratchUsdPerHour: 8 },
    ...{ cheapest: found(3, 1, -4), best: found(1, 0.5, 0.25), chosen: found(1, 0.5, 0.1) },
  };
  const unmovable: Moment = { ...moment, usdPerHour: 30, scratchUsdPerHour: undefined };
  expect(repackLine('small', [moment, unmovable], 30)).toEqual({
    ...{ workload: 'repack-small', moments: 2, nodes: 4 },
    scratch: 0.2,
    // $2 of $40 an hour, and −$8 of $20 in two half hours
    ...{ savings: 0.05, movedPods: 30, netOfSavings: -0.4 },
    ...{ net: 0.025, netPods: 10, netOfChosen: 0.01 },
  });
});
