/** Repetition and end of consolidation searches. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DO_NOT_DISRUPT_ANNOTATION, NODE, NODE_POOL } from '#api/objects';
import type { Method, MethodInput, MethodResult } from '#engine/disruption';
import { localSimulationRunner } from '#engine-worker';
import { present } from '../../../support/present.ts';
import { World } from '../harness.ts';
import { CLOSED, type Disruption, startWithNodes, WIDE } from './disruption-world.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const withNodes = (count: number, disruption: Disruption, small = 0, flags: readonly string[] = []): Promise<void> =>
  startWithNodes(world, { count, disruption, small, flags });
const fieldsOf = (wanted: string) =>
  world.lines.filter(({ message }) => message === wanted).map(({ fields }) => fields);

describe('a search', () => {
  /** Records the methods that run and their unseen NodePools, and returns the results by type of method. */
  function answering(answers: Partial<Record<Method['consolidationType'], (asked: MethodInput) => MethodResult>>) {
    const asked: [string, ...string[]][] = [];
    world.simulations = {
      ...localSimulationRunner(),
      decide: async (_, { consolidationType }, input) => {
        asked.push([consolidationType, ...input.unseenPools]);
        return answers[consolidationType]?.(input) ?? { commands: [], exhausted: true, events: [] };
      },
    };
    return { asked, count: (type: string) => asked.filter(([each]) => each === type).length };
  }

  it('is not repeated without a result until an input changes or five minutes have passed', async () => {
    const { count } = answering({ single: () => ({ commands: [], exhausted: false, events: [] }) });
    await withNodes(2, WIDE, 1);
    await world.pass(60);
    const before = [count('multi'), count('single')];
    await world.pass(60);
    expect(count('multi')).toBe(before[0]);
    // Candidates that were skipped for a budget, for example, would be skipped again.
    expect(count('single')).toBe(before[1]);

    world.deploy('small', 0);
    await world.pass(11);
    expect(count('multi')).toBe((before[0] ?? 0) + 1);
    await world.pass(4 * 60);
    expect(count('multi')).toBe((before[0] ?? 0) + 1);
    await world.pass(70);
    expect(count('multi')).toBe((before[0] ?? 0) + 2);
  });

  it.each([
    ['thorough', 1],
    ['compatible', 0],
  ])('is repeated if it was %s, for %d additional candidate(s) in an otherwise unchanged cluster', async (mode, more) => {
    const { count } = answering({});
    await withNodes(3, WIDE, 1, [`--consolidation=${mode}`]);
    const protect = (name: string, value: string | null): unknown =>
      world.kube.patch(NODE, { name }, { metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: value } } });
    const [first, second] = world.nodes.map(({ metadata }) => metadata.name);
    protect(present(first), 'true');
    world.removePods(present(world.pods.find(({ metadata }) => metadata.labels?.app === 'small')));
    await world.pass(60);
    const before = [count('multi'), count('single')];
    expect(before).not.toContain(0);

    // Neither the loss of one candidate nor its return triggers a search.
    protect(present(second), 'true');
    await world.pass(25);
    protect(present(second), null);
    await world.pass(25);
    expect([count('multi'), count('single')]).toEqual(before);

    protect(present(first), null);
    await world.pass(25);
    expect([count('multi'), count('single')]).toEqual(before.map((times) => times + more));
  });

  it('is repeated if the NodePool was not ready for a moment, as after each edit', async () => {
    const { count } = answering({});
    await withNodes(2, WIDE, 1);
    await world.pass(60);
    const before = count('multi');
    const { status } = present(world.kube.find(NODE_POOL, { name: 'default' }));
    const isReady = ({ type }: { readonly type: string }): boolean => type === 'Ready';
    const unsure = status?.conditions?.map((each) => (isReady(each) ? { ...each, status: 'Unknown' } : each));
    world.kube.patch(NODE_POOL, { name: 'default' }, { status: { conditions: unsure } }, 'status');
    await world.pass(15);
    expect(world.kube.find(NODE_POOL, { name: 'default' })?.status?.conditions?.find(isReady)?.status).toBe('True');
    expect(count('multi')).toBe(before + 1);
  });

  it('is repeated if budgets ended it and allow other nodes', async () => {
    const { count } = answering({ single: () => ({ commands: [], exhausted: false, events: [] }) });
    const third = { nodes: '1', schedule: '3 0 * * *', duration: '1m' };
    await withNodes(2, { ...WIDE, budgets: [{ nodes: '100%' }, third] }, 1);
    await world.pass(60);
    const before = [count('multi'), count('single')];
    await world.pass(Math.floor((Date.UTC(2026, 0, 1, 0, 3) - world.clock.now()) / 1000) - 1);
    expect([count('multi'), count('single')]).toEqual(before);
    await world.pass(15);
    // The other search was complete.
    expect([count('multi'), count('single')]).toEqual([before[0], (before[1] ?? 0) + 1]);
  });

  it('is counted and logged if it timed out, and the next search starts with unseen NodePools', async () => {
    const timeout = { message: 'too late', fields: { candidates_evaluated: 7 } };
    const late: MethodResult = {
      commands: [],
      exhausted: false,
      events: [],
      timeout,
      unseenPools: new Set(['default']),
    };
    const nothing: MethodResult = { commands: [], exhausted: false, events: [] };
    const forbidden = ({ candidates }: MethodInput): MethodResult => ({
      ...nothing,
      commands: [{ reason: 'Underutilized', candidates: candidates.slice(0, 1), replacements: [] }],
    });
    let next: ((asked: MethodInput) => MethodResult)[] = [];
    const { asked } = answering({ single: (question) => next.shift()?.(question) ?? late });
    await withNodes(2, CLOSED, 1);
    await world.pass(25);
    asked.length = 0;
    next = [forbidden, () => nothing, () => nothing];
    await world.pass(50);
    // A search that ends with a command has unseen NodePools too, even if budgets reject the command.
    expect(asked.filter(([type]) => type === 'single').slice(0, 3)).toEqual([
      ['single', 'default'],
      ['single', 'default'],
      ['single'],
    ]);
    expect(fieldsOf('too late')[0]).toMatchObject({ candidates_evaluated: 7 });
    expect(await world.metrics.text()).toMatch(/consolidation_timeouts_total\{consolidation_type="single"\} [1-9]/);
    const told = fieldsOf('prioritizing nodepools that have not yet been considered due to timeouts in previous runs');
    expect(told.at(-1)).toMatchObject({ nodepools: ['default'] });
  });

  it('logs the command if it timed out with one', async () => {
    const timeout = { message: 'better than nothing', fields: {} };
    answering({
      multi: ({ candidates }) => ({
        commands: [{ reason: 'Underutilized', candidates: candidates.slice(0, 2), replacements: [] }],
        exhausted: false,
        events: [],
        timeout,
      }),
    });
    await withNodes(2, CLOSED, 2);
    await world.pass(60);
    expect(fieldsOf('better than nothing').at(-1)).toMatchObject({
      command: expect.stringMatching(/^delete: \[node-\d+, node-\d+\]$/),
      decision: 'delete',
      'disrupted-node-count': 2,
    });
  });
});
