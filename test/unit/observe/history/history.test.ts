/** The history that the operator records. It is bounded, and it survives a restart. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  CostHours,
  HOUR_MS,
  hoursIn,
  MOST_HOURS,
  MOST_POOLS,
  OTHER_POOLS,
} from '../../../../src/observe/history/cost-hours.ts';
import { type Bought, type Disrupted, MOST_DECISIONS } from '../../../../src/observe/history/decision-log.ts';
import { historyTexts, newHistory, restoreHistory } from '../../../../src/observe/history/document.ts';

const START = Date.UTC(2026, 5, 3, 10);
const at = (minutes: number): number => START + minutes * 60_000;
/** After all stored times. */
const NOW = START + 10_000 * 3_600_000;

const cost = (effective: number, surplusCredits = 0) => ({
  ...{ effective, list: 2 * effective, idle: effective / 2, daemonSets: 0, surplusCredits },
});
const pools = (costs: Readonly<Record<string, number>>) =>
  new Map(Object.entries(costs).map(([name, usd]) => [name, cost(usd)]));

const bought = (nodeClaim: string, more: Partial<Bought> = {}): Bought => ({
  kind: 'bought',
  at: '2026-06-03T10:00:00Z',
  nodeClaim,
  nodePool: 'default',
  reason: 'provisioned',
  pods: 2,
  examples: ['shop/web-1'],
  usdPerHour: 0.1,
  ...more,
});

const disrupted = (id: string): Disrupted => ({
  ...{ kind: 'disrupted', at: '2026-06-03T11:00:00Z', id, method: 'emptiness', decision: 'delete', reason: 'empty' },
  ...{ command: 'delete: [a]', nodePools: ['default'], nodes: 1, replacements: 0, pods: 0, predictedUsdPerHour: 0.1 },
});

const texts = (history: ReturnType<typeof newHistory>): readonly string[] => [...historyTexts(history)];

describe('a cost', () => {
  it('is an average over the observed part of an hour, with zero for the time before a NodePool existed', () => {
    const hours = new CostHours();
    hours.sample(at(54), pools({ web: 9 }));
    hours.sample(at(55), pools({ web: 1 }));
    hours.sample(at(56), pools({ web: 3, batch: 4 }));
    hours.sample(at(64), pools({ web: 5 }));
    hours.sample(at(100), pools({ web: 5 }));
    expect(hours.hours).toEqual([
      { hourMs: START, minutes: 6, nodePools: pools({ web: (1 + 3 + 4 * 5) / 6, batch: 4 / 6 }) },
      // ten of the 36 minutes are known
      { hourMs: START + HOUR_MS, minutes: 14, nodePools: pools({ web: 5 }) },
    ]);
  });

  it('is the integral of the prices while an operator ran, up to the changes between two samples', () => {
    const change = fc.record({ seconds: fc.integer({ min: 20, max: 400 }), usd: fc.integer({ min: 0, max: 100 }) });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 400 }), fc.nat(3_600), (changes, offset) => {
        const hours = new CostHours();
        let nowMs = START + offset * 1_000;
        let spent = 0;
        for (const [index, { seconds, usd }] of changes.entries()) {
          const elapsedMs = index === 0 ? 0 : seconds * 1_000;
          nowMs += elapsedMs;
          hours.sample(nowMs, pools({ web: usd }));
          spent += (usd * elapsedMs) / HOUR_MS;
        }
        const found = hours.hours.reduce(
          (sum, { minutes, nodePools }) => sum + hoursIn(minutes) * (nodePools.get('web')?.effective ?? 0),
          0,
        );
        expect(found).toBeCloseTo(spent, 6);
      }),
      { numRuns: 100 },
    );
  });

  it('is kept for 35 days', () => {
    const hours = new CostHours();
    for (let hour = -1; hour < MOST_HOURS + 10; hour += 1) hours.sample(at(hour * 60 + 30), pools({ web: hour }));
    expect(hours.hours).toHaveLength(MOST_HOURS);
    expect(hours.hours[0]?.hourMs).toBe(at(600));
  });

  it('lists the most expensive NodePools, and sums up the remaining NodePools', () => {
    const hours = new CostHours();
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`pool-${index}`, index]));
    for (const minute of [1, 2, 3, 4]) hours.sample(at(minute), pools(many));
    const [hour] = hours.hours;
    expect(hour?.nodePools.size).toBe(MOST_POOLS);
    expect(hour?.nodePools.get(OTHER_POOLS)?.effective).toBeCloseTo(210, 9);
    expect([...(hour?.nodePools.values() ?? [])].reduce((sum, { effective }) => sum + effective, 0)).toBeCloseTo(1_225);
  });

  it('includes the time of both processes in an hour with a restart', () => {
    const before = newHistory();
    for (let minute = 0; minute <= 30; minute += 1) before.hours.sample(at(minute), pools({ web: 1 }));
    const history = newHistory();
    for (const minute of [31, 32]) history.hours.sample(at(minute), pools({ web: 32 }));
    restoreHistory(history, texts(before)[0] ?? '', NOW);
    expect(history.hours.hours).toEqual([{ hourMs: START, minutes: 31, nodePools: pools({ web: 2 }) }]);
  });

  it('makes room for the present hour if the clock is set back from a distant future', () => {
    const hours = new CostHours();
    for (let hour = 0; hour < MOST_HOURS; hour += 1) hours.sample(at((9_000 + hour) * 60 + 30), pools({ web: 1 }));
    for (let hour = -1; hour < 3; hour += 1) hours.sample(at(hour * 60 + 30), pools({ web: 2 }));
    expect(hours.hours).toHaveLength(MOST_HOURS);
    expect(hours.hours.slice(0, 3).map(({ hourMs }) => hourMs)).toEqual([at(0), at(60), at(120)]);
  });

  it('stays in order if the clock is set back', () => {
    const hours = new CostHours();
    for (const minute of [130, 131, 10, 11, 190, 70, 71, 72]) hours.sample(at(minute), pools({ web: 1 }));
    expect(hours.hours.map(({ hourMs, minutes }) => [(hourMs - START) / HOUR_MS, minutes])).toEqual([
      [0, 1],
      [1, 2],
      [2, 1],
      [3, 10],
    ]);
  });
});

describe('the list of decisions', () => {
  it('is limited to the latest, and includes the launched instance and the outcome', () => {
    const { decisions } = newHistory();
    for (let index = 0; index < MOST_DECISIONS + 5; index += 1) decisions.record(bought(`claim-${index}`));
    expect(decisions.entries).toHaveLength(MOST_DECISIONS);
    expect(decisions.entries[0]).toMatchObject({ nodeClaim: 'claim-5' });
    decisions.launched('claim-7', { instanceType: 'm5.large', zone: 'a', capacityType: 'spot' });
    expect(decisions.entries[2]).toMatchObject({ nodeClaim: 'claim-7', instanceType: 'm5.large' });
    decisions.record(disrupted('x'));
    decisions.ended('x', { predictedUsd: 1, realisedUsd: 0.5 });
    expect(decisions.entries.at(-1)).toMatchObject({ id: 'x', outcome: { realisedUsd: 0.5 } });
    const { changes } = decisions;
    decisions.launched('unknown', {});
    decisions.ended('unknown', { predictedUsd: 1, realisedUsd: 1 });
    expect(decisions.changes).toBe(changes);
  });
});

describe('a history', () => {
  it('does not change in a restart, up to a millionth of a USD', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ hour: fc.nat(2_000), usd: fc.double({ min: 0, max: 1e4, noNaN: true }) }), {
          maxLength: 30,
        }),
        fc.nat(20),
        (samples, count) => {
          const before = newHistory();
          for (const { hour, usd } of samples)
            before.hours.sample(at(hour * 60 + 30), pools({ web: usd, [`p${hour}`]: 1 }));
          for (let index = 0; index < count; index += 1) before.decisions.record(bought(`claim-${index}`));
          before.decisions.record(disrupted('x'));
          const after = newHistory();
          restoreHistory(after, texts(before)[0] ?? '', NOW);
          expect(after.decisions.entries).toEqual(before.decisions.entries);
          expect(texts(after)[0]).toBe(texts(before)[0]);
          expect(after.hours.hours.map(({ hourMs, minutes }) => [hourMs, minutes])).toEqual(
            before.hours.hours.map(({ hourMs, minutes }) => [hourMs, minutes]),
          );
        },
      ),
      { numRuns: 50 },
    );
  });

  it('stores surplus CPU credits, and reads amounts that were stored without them', () => {
    const history = newHistory();
    const sampled = new Map([
      ['burstable', cost(2, 0.5)],
      ['plain', cost(1)],
    ] as const);
    for (const minute of [0, 1]) history.hours.sample(at(minute), sampled);
    const [text = ''] = texts(history);
    expect(JSON.parse(text).hours[0].nodePools).toEqual({
      burstable: [2e6, 4e6, 1e6, 0, 0.5e6],
      plain: [1e6, 2e6, 0.5e6, 0],
    });
    const after = newHistory();
    restoreHistory(after, text, NOW);
    expect(after.hours.hours[0]?.nodePools).toEqual(sampled);
  });

  it('is offered in shorter forms, each without more of the oldest entries', () => {
    const history = newHistory();
    for (let index = 0; index < 100; index += 1) {
      history.decisions.record(bought(`claim-${index}`));
      history.hours.sample(at(index * 60 + 30), pools({ web: 1 }));
      history.hours.sample(at(index * 60 + 31), pools({ web: 1 }));
    }
    const forms = texts(history).map((text) => JSON.parse(text) as { decisions: Bought[]; hours: unknown[] });
    expect(forms.map(({ decisions, hours }) => [decisions.length, hours.length]).slice(0, 3)).toEqual([
      [100, 100],
      [50, 50],
      [25, 25],
    ]);
    expect(forms.at(-1)?.decisions.map(({ nodeClaim }) => nodeClaim)).toEqual(['claim-99']);
  });

  it.each([
    ['no JSON', 'nonsense'],
    ['a list', '[]'],
    ['null', 'null'],
    ['a later version', JSON.stringify({ version: 2, hours: [], decisions: [] })],
    ['without hours', JSON.stringify({ version: 1, decisions: [] })],
  ])('is rejected completely if it is %s', (_, text) => {
    const history = newHistory();
    expect(() => restoreHistory(history, text, NOW)).toThrow();
    expect(history.hours.hours).toEqual([]);
  });

  it('skips the future, which would keep the present out', () => {
    const before = newHistory();
    for (let hour = -1; hour < MOST_HOURS; hour += 1) before.hours.sample(at(hour * 60 + 30), pools({ web: 1 }));
    before.decisions.record(bought('now'));
    before.decisions.record(bought('later', { at: new Date(at(600)).toISOString() }));
    const history = newHistory();
    restoreHistory(history, texts(before)[0] ?? '', at(0));
    for (const minute of [40, 42]) history.hours.sample(at(minute), pools({ web: 3 }));
    expect(history.hours.hours.map(({ hourMs, minutes }) => [hourMs, minutes])).toEqual([
      [START, 12],
      [START + HOUR_MS, 10],
    ]);
    expect(history.decisions.entries.map((entry) => entry.kind === 'bought' && entry.nodeClaim)).toEqual(['now']);
  });

  it('skips invalid entries', () => {
    const hours = [
      null,
      7,
      { hour: 1.5, samples: 1, nodePools: {} },
      { hour: 5, samples: 0, nodePools: {} },
      { hour: 5, samples: 1e15, nodePools: {} },
      { hour: -5, samples: 1, nodePools: {} },
      { hour: 6, samples: 1, nodePools: null },
      { hour: 7, samples: 1, nodePools: { web: [1, 2], odd: ['a', 1, 1, 1], fine: [1e6, 2e6, 5e5, 0] } },
    ];
    const decisions = [
      null,
      'text',
      { kind: 'sold', at: '2026-06-03T10:00:00Z' },
      { ...bought('no-time'), at: 'soon' },
      { ...bought('no-number'), pods: 'many' },
      { ...bought('no-list'), examples: 'web' },
      { ...disrupted('y'), outcome: { realisedUsd: 'much' } },
      { ...disrupted('z'), outcome: null },
      bought('fine'),
    ];
    const history = newHistory();
    restoreHistory(history, JSON.stringify({ version: 1, hours, decisions }), NOW);
    expect(history.hours.hours).toEqual([{ hourMs: 7 * HOUR_MS, minutes: 1, nodePools: new Map([['fine', cost(1)]]) }]);
    expect(history.decisions.entries).toEqual([bought('fine')]);
  });
});
