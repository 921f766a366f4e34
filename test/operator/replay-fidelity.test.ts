/** A replay matches the operator: the same trace leads to the same nodes over HTTP and in virtual time. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { startCaches } from '#local/testing';
import type { NodeEvent } from '#replay/run';
import { awsOf, kubeletsOf, Measure, play, run } from '#replay/testing';
import { NEUTRAL_WORLD, SHORT_LIFE, SHORT_LIFE_OBJECTS } from '../support/short-life.ts';
import { type Scenario, startScenario } from './harness.ts';

let scenario: Scenario | undefined;
let life = new AbortController();
afterEach(async () => {
  life.abort();
  life = new AbortController();
  await scenario?.stop();
});

/** Time in which NodePools and NodeClasses become Ready, as in a replay. */
const SETTLING_MS = 60_000;
const VISIBLE_MS = 15 * 60_000;
const END_SECONDS = SHORT_LIFE.header.seconds;

interface Life {
  readonly log: readonly NodeEvent[];
  readonly usd: number;
}

async function overHttp(args: readonly string[]): Promise<Life> {
  const { signal } = life;
  const opened = await startScenario({
    ...{ clusterName: 'replay', argv: args, timeScale: 1 },
    aws: { ...awsOf(NEUTRAL_WORLD, 0), terminatedVisibleMs: VISIBLE_MS },
    kubelets: kubeletsOf(NEUTRAL_WORLD),
  });
  scenario = opened;
  const { world, kube } = opened;
  const { clock } = world;
  const startMs = clock.now() + SETTLING_MS;
  const measure = new Measure({
    ...{ clock, startMs, stepSeconds: 60, signal },
    caches: startCaches({ client: kube, clock, signal, log: () => {} }),
    instances: world.aws.instances,
    rateOf: ({ usdPerHour }) => ({ instance: usdPerHour, extras: 0 }),
  });
  const reached = (seconds: number): Promise<void> =>
    opened.pass(Math.max(0, startMs + 1000 * seconds - clock.now()), FACTOR);
  for (const object of SHORT_LIFE_OBJECTS) await play(kube, { at: 0, apply: object });
  for await (const event of SHORT_LIFE.events()) {
    await reached(event.at);
    await play(kube, event);
  }
  await reached(END_SECONDS);
  const { log, cost } = measure.result(END_SECONDS, 1);
  return { log, usd: cost.instancesUsd };
}

/** Virtual seconds by which an event may differ: two passes of disruption. */
const LATE_SECONDS = 20;

/** Virtual seconds in a second of waiting. */
const FACTOR = 30;

async function inVirtualTime(args: readonly string[]): Promise<Life> {
  const { log, cost } = await run({
    trace: SHORT_LIFE,
    world: NEUTRAL_WORLD,
    set: { name: 'as is', says: [], args, objects: SHORT_LIFE_OBJECTS },
    signal: undefined,
    onProgress: () => {},
  });
  return { log, usd: cost.instancesUsd };
}

const told = ({ what, nodePool, instanceType, zone, capacityType, reason = '' }: NodeEvent): string =>
  [what, nodePool, instanceType, zone, capacityType, reason].join(' ');

/**
 * Returns the sizes of groups of events that are so close together that their order is irrelevant. For example,
 * disruption may find two empty nodes in one pass or in two, depending on fractions of a second.
 */
function batches(log: readonly NodeEvent[]): readonly number[] {
  const lengths: number[] = [];
  let beganAt = Number.NEGATIVE_INFINITY;
  for (const { at } of log) {
    if (at - beganAt < LATE_SECONDS) lengths.push((lengths.pop() ?? 0) + 1);
    else {
      lengths.push(1);
      beganAt = at;
    }
  }
  return lengths;
}

function inBatches(log: readonly NodeEvent[], lengths: readonly number[]): readonly (readonly string[])[] {
  const left = log.map(told);
  const cut = lengths.map((length) => left.splice(0, length).sort());
  return left.length === 0 ? cut : [...cut, left];
}

/** Returns the difference in seconds between the nth events. Events within a group may be swapped. */
const lateness = (one: readonly NodeEvent[], other: readonly NodeEvent[]): readonly number[] =>
  one.map(({ at }, index) => Math.abs(at - (other[index]?.at ?? Number.NaN)));

/** Reasons that must occur in the trace; otherwise the comparison would prove little. */
const REASONS = ['Empty', 'Underutilized'];
/** Maximum relative difference of the costs. */
const SHARE = 0.01;

describe('replay', () => {
  it.each([
    [['--consolidation=compatible']],
    // steering is the default, which the harness changes; with the default price, no move pays in such a short life
    [['--steering=true', '--eviction-price=0.01']],
  ])('launches and removes the same nodes as the operator over HTTP, in the same order and at the same cost, with %j', async (args) => {
    const [virtual, real] = [await inVirtualTime(args), await overHttp(args)];
    expect(virtual.log.map(({ reason }) => reason)).toEqual(expect.arrayContaining(REASONS));
    const lengths = batches(virtual.log);
    expect(inBatches(real.log, lengths)).toEqual(inBatches(virtual.log, lengths));
    expect(Math.max(...lateness(real.log, virtual.log))).toBeLessThan(LATE_SECONDS);
    expect(Math.abs(real.usd / virtual.usd - 1)).toBeLessThan(SHARE);
  });
});
