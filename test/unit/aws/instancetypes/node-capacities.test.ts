import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sumsOf } from '#engine/testing';
import { ConfigMapDocument } from '#kube/reconcilers';
import { silent } from '#observe/logger';
import { capacityKeeper, NODE_CAPACITIES_NAME } from '../../../../src/aws/instancetypes/capacity-keeper.ts';
import { NodeCapacities } from '../../../../src/aws/instancetypes/node-capacities.ts';
import { MemoryKube } from '../../../support/memory-kube.ts';
import { present } from '../../../support/present.ts';
import { recordingLog } from '../../kube/fakes.ts';
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
  Object.entries(PREDICTED).map(([name, amount]) => [
    name,
    name === 'memory'
      ? [
          { text: 'memory of EC2', amount: amount + 100 },
          { text: 'overhead', amount: -100 },
        ]
      : [{ text: 'predicted', amount }],
  ]),
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

  it('never has more memory than EC2 reports', () => {
    expect(learnedFrom({ memory: 1_100 }).memory).toBe(1_100);
    expect(learnedFrom({ memory: 1_101 }).memory).toBe(1_000);
  });

  it('names the node and the image', () => {
    const capacities = new NodeCapacities(settableClock());
    add(capacities, 'a', { pods: 109 });
    expect(capacities.learned('type', PREDICTED_TERMS).pods?.at(-1)).toEqual({
      text: 'report of node ip-a with image ami-1',
      amount: -1,
    });
    for (const uid of ['b', 'c']) add(capacities, uid, { pods: 20 });
    expect(capacities.learned('type', PREDICTED_TERMS).pods?.at(-1)).toEqual({
      text: 'report of node ip-b with image ami-1, as 2 of 3 nodes reported much less',
      amount: -90,
    });
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

describe('the stored form of reported capacities', () => {
  const textOf = (capacities: NodeCapacities): string => [...capacities.texts()][0] ?? '';

  it('has the same result after a restart, with the age of the reports', async () => {
    const clock = settableClock();
    const first = new NodeCapacities(clock);
    add(first, 'a', { pods: 109 });
    for (const uid of ['b', 'c']) add(first, uid, { pods: 20 });
    const text = textOf(first);
    await clock.advance(DAY_MS / 2);
    const second = new NodeCapacities(clock);
    second.restore(text);
    expect(learned(second).pods).toBe(20);
    expect(second.changeOf('type')).toBe(second.sequence);
    await clock.advance(DAY_MS / 2 + 1_000);
    expect(learned(second).pods).toBe(109);
  });

  it('is older than the reports of living nodes, which count once', () => {
    const first = new NodeCapacities(settableClock());
    for (let at = 0; at < 8; at++) add(first, `old-${at}`, { pods: 108 });
    const second = new NodeCapacities(settableClock());
    add(second, 'old-7', { pods: 108 });
    for (let at = 0; at < 7; at++) add(second, `new-${at}`, { pods: 109 });
    second.restore(textOf(first));
    expect(learned(second).pods).toBe(108);
    add(second, 'new-7', { pods: 109 });
    expect(learned(second).pods).toBe(109);
  });

  it('counts reports from the future as new', async () => {
    const clock = settableClock();
    const first = new NodeCapacities(clock);
    add(first, 'a', { pods: 109 });
    const text = textOf(first);
    clock.put(-1_000 * DAY_MS);
    const second = new NodeCapacities(clock);
    second.restore(text);
    expect(learned(second).pods).toBe(109);
    await clock.advance(60 * DAY_MS);
    expect(learned(second)).toEqual(PREDICTED);
  });

  it('has shorter forms, which keep the types that nodes reported last', () => {
    const capacities = new NodeCapacities(settableClock());
    const report = { uid: 'a', node: 'a', image: 'ami-1', capacity: { pods: 1 } };
    for (let at = 0; at < 5; at++) capacities.add(`type-${at}`, report);
    const keys = [...capacities.texts()].map((text) =>
      (JSON.parse(text) as { types: readonly { key: string }[] }).types.map(({ key }) => key),
    );
    expect(keys.map(({ length }) => length)).toEqual([5, 2, 1, 0]);
    expect(keys[1]).toEqual(['type-3', 'type-4']);
  });

  it('omits reports that no longer count', async () => {
    const clock = settableClock();
    const capacities = new NodeCapacities(clock);
    add(capacities, 'a', { pods: 109 });
    await clock.advance(60 * DAY_MS);
    expect(textOf(capacities)).toBe('{"version":1,"types":[]}');
  });

  const report = { uid: 'a', node: 'ip-a', image: 'ami-1', at: '2026-01-01T00:00:00Z', capacity: { pods: 109 } };
  const stored = (type: unknown, more: object = {}): string => JSON.stringify({ version: 1, types: [type], ...more });
  const withReport = (parts: object): string => stored({ key: 'type', reports: [{ ...report, ...parts }] });

  it('is accepted if it is valid', () => {
    const capacities = new NodeCapacities(settableClock());
    capacities.restore(withReport({}));
    expect(learned(capacities).pods).toBe(109);
  });

  it.each([
    ['no JSON', 'x'],
    ['null', 'null'],
    ['a newer version', withReport({}).replace('"version":1', '"version":2')],
    ['no list', JSON.stringify({ version: 1, types: {} })],
    ['null as type', stored(null)],
    ['no key', stored({ reports: [report] })],
    ['a key that is too long', stored({ key: 'x'.repeat(1_000), reports: [report] })],
    [
      'too many reports',
      stored({ key: 'type', reports: Array.from({ length: 9 }, (_, at) => ({ ...report, uid: `${at}` })) }),
    ],
    ['two reports of a node', stored({ key: 'type', reports: [report, report] })],
    ['null as report', stored({ key: 'type', reports: [null] })],
    ['no time', withReport({ at: 'soon' })],
    ['no node', withReport({ node: 7 })],
    ['a text as capacity', withReport({ capacity: 'much' })],
    ['a text as amount', withReport({ capacity: { pods: '1' } })],
    ['a negative amount', withReport({ capacity: { pods: -1 } })],
    ['an amount that is not exact', withReport({ capacity: { memory: 1e300 } })],
    ['too many types', stored(null, { types: Array.from({ length: 2_001 }, () => ({ key: 'a', reports: [] })) })],
  ])('is rejected with %s without any change', (_, text) => {
    const capacities = new NodeCapacities(settableClock());
    add(capacities, 'a', { pods: 108 });
    expect(() => capacities.restore(text)).toThrow();
    expect(learned(capacities).pods).toBe(108);
  });

  it('keeps the result for any reports', () => {
    const amounts = fc.record({ cpu: fc.nat(20_000), memory: fc.nat(1_200), pods: fc.nat(120) });
    fc.assert(
      fc.property(fc.array(amounts, { maxLength: 12 }), (reports) => {
        const clock = settableClock();
        const [first, second] = [new NodeCapacities(clock), new NodeCapacities(clock)];
        for (const [at, capacity] of reports.entries()) add(first, `${at}`, capacity);
        second.restore(textOf(first));
        expect(learned(second)).toEqual(learned(first));
      }),
    );
  });
});

describe('the ConfigMap of reported capacities', () => {
  const REF = { name: NODE_CAPACITIES_NAME, namespace: 'karpenter' };

  it('survives restarts, and a version that cannot read it', async () => {
    const clock = settableClock();
    const kube = new MemoryKube(clock);
    const { log, lines } = recordingLog();
    const client = kube.client();
    const start = async () => {
      const capacities = new NodeCapacities(clock);
      const keeper = present(capacityKeeper({ client, log, namespace: REF.namespace }, capacities));
      await keeper.reconcile();
      return { capacities, keeper };
    };
    const first = await start();
    add(first.capacities, 'a', { pods: 109 });
    await first.keeper.leaving();
    expect(learned((await start()).capacities).pods).toBe(109);
    expect(lines).toEqual([]);

    const document = new ConfigMapDocument({ client, log: silent, ...REF });
    await document.write(['{"version":2}']);
    const third = await start();
    expect(learned(third.capacities)).toEqual(PREDICTED);
    expect(lines).toMatchObject([
      { message: 'failed reading the stored document, keeping it and starting with an empty one' },
    ]);
    add(third.capacities, 'b', { pods: 108 });
    await third.keeper.leaving();
    await document.read();
    expect(await document.readUnread()).toBe('{"version":2}');
  });

  it('is not used without a namespace', () => {
    const clock = settableClock();
    const client = new MemoryKube(clock).client(new AbortController().signal);
    expect(capacityKeeper({ client, log: silent, namespace: '' }, new NodeCapacities(clock))).toBeUndefined();
  });
});
