import { describe, expect, it } from '@jest/globals';
import { NODE, POD } from '#api/objects';
import { ApiError } from '#kube/client';
import { type Bench, bench, condition, errors, leaving, nodeOf, podOf } from './bench.ts';

const SECOND = 1_000;
const ON = ['--drain-conditions'];
const TYPES = ['DrainInProgress', 'Drained'];
const WRITES = 'Node conditions';

const shown = (b: Bench): readonly string[] =>
  (b.node('node')?.status?.conditions ?? [])
    .filter(({ type }) => TYPES.includes(type))
    .map(({ type, status, reason }) => `${type}=${status} ${reason}`);

/** Starts the drain of a node with one pod. */
async function drain(b: Bench): Promise<void> {
  b.world.instance.stubborn = 2;
  b.put(POD, podOf('web'));
  leaving(b);
  await b.clock.advance(3 * SECOND);
}

describe('the conditions of a drain', () => {
  it('are written once at the start and once when the node is empty', async () => {
    const b = bench(ON);
    await drain(b);
    await b.clock.advance(60 * SECOND);
    expect(shown(b)).toEqual(['DrainInProgress=True NodeTermination']);
    expect(b.writesTo(WRITES)).toBe(1);
    expect(b.node('node')?.status?.conditions?.[0]).toMatchObject({ type: 'Ready', status: 'True' });
    b.gone('web');
    await b.clock.advance(3 * SECOND);
    expect(shown(b)).toEqual(['DrainInProgress=False DrainCompleted', 'Drained=True DrainCompleted']);
    expect(b.writesTo(WRITES)).toBe(2);
    await b.clock.advance(20 * SECOND);
    expect(b.node('node')).toBeUndefined();
    expect(b.writesTo(WRITES)).toBe(2);
  });

  it('are not written without the setting', async () => {
    const b = bench();
    await drain(b);
    b.gone('web');
    await b.clock.advance(30 * SECOND);
    expect(b.writesTo(WRITES)).toBe(0);
    expect(b.node('node')).toBeUndefined();
  });

  it('are not written again by the next leader', async () => {
    const b = bench(ON);
    b.put(POD, podOf('web'));
    leaving(b);
    const conditions = [condition('Ready'), condition('DrainInProgress', { reason: 'NodeTermination' })];
    b.put(NODE, { ...nodeOf('node', { deletionTimestamp: b.time() }), status: { conditions } });
    await b.clock.advance(30 * SECOND);
    expect(b.writesTo(WRITES)).toBe(0);
  });

  it('change back if pods appear on an empty node', async () => {
    const b = bench(ON);
    b.put(POD, podOf('web'));
    leaving(b);
    const conditions = [condition('Ready'), condition('Drained', { reason: 'DrainCompleted' })];
    b.put(NODE, { ...nodeOf('node', { deletionTimestamp: b.time() }), status: { conditions } });
    await b.clock.advance(3 * SECOND);
    expect(shown(b)).toEqual(['DrainInProgress=True NodeTermination', 'Drained=False NodeTermination']);
  });

  it.each<[string, number, number, RegExp[]]>([
    ['the right is missing, which is reported once', 403, 1, [/forbidden/]],
    ['the API server fails', 500, 10, []],
  ])('do not delay the drain if %s', async (_, status, atLeast, reported) => {
    const b = bench(ON);
    let tries = 0;
    b.world.failure = (operation) => {
      if (operation !== `patch ${WRITES}`) return undefined;
      tries += 1;
      return new ApiError(status, 'Failure', 'nodes "node" is forbidden');
    };
    await drain(b);
    await b.clock.advance(20 * SECOND);
    expect(b.calls).toEqual(['evicted web']);
    b.gone('web');
    await b.clock.advance(30 * SECOND);
    expect(b.node('node')).toBeUndefined();
    expect(tries).toBeGreaterThanOrEqual(atLeast);
    if (status === 403) expect(tries).toBe(1);
    expect(errors(b)).toEqual(reported.map((text) => expect.stringMatching(text)));
  });
});
