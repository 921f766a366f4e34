/** The end of a drain: the API server confirms that the node has no pods to wait for, because the cache may be outdated. */
import { describe, expect, it } from '@jest/globals';
import { POD } from '#api/objects';
import { ApiError } from '#kube/client';
import { bench, errors, failing, leaving, podOf } from './bench.ts';

const SECOND = 1_000;
const unavailable = new ApiError(503, 'ServiceUnavailable', 'try again');

describe('the end of a drain', () => {
  it('needs one list of the pods', async () => {
    const b = bench();
    b.put(POD, podOf('web'));
    leaving(b);
    await b.clock.advance(2 * SECOND);
    b.gone('web');
    await b.clock.advance(10 * SECOND);
    expect(b.node('node')).toBeUndefined();
    expect(b.lists()).toBe(1);
  });

  it('evicts pods that only the API server shows, in order, before the instance is terminated', async () => {
    const b = bench();
    b.world.unseen.set('web', podOf('web'));
    b.world.unseen.set('critical', podOf('critical', { priorityClassName: 'system-node-critical' }));
    leaving(b);
    await b.clock.advance(10 * SECOND);
    expect(b.calls).toEqual(['evicted web']);
    expect(b.condition('claim', 'Drained')).toBe('Unknown/Draining');
    b.world.unseen.delete('web');
    await b.clock.advance(5 * SECOND);
    expect(b.calls).toEqual(['evicted web', 'evicted critical']);
    b.world.unseen.delete('critical');
    await b.clock.advance(5 * SECOND);
    expect(b.node('node')).toBeUndefined();
    expect(b.calls.at(-1)).toBe('terminate claim');
  });

  it('does not evict a protected pod that only the API server shows', async () => {
    const b = bench();
    b.world.unseen.set('web', podOf('web', {}, { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }));
    leaving(b);
    await b.clock.advance(60 * SECOND);
    expect(b.calls).toEqual([]);
    expect(b.node('node')).toBeDefined();
  });

  it('waits while the pods cannot be listed, with an event that names the cause', async () => {
    const b = bench();
    failing(b, 'list Pod', unavailable, Number.POSITIVE_INFINITY);
    leaving(b);
    await b.clock.advance(120 * SECOND);
    expect(b.node('node')).toBeDefined();
    expect(b.calls).toEqual([]);
    expect(b.events.map(({ message }) => message)).toContain(
      'Failed to drain node, its pods cannot be read from the API server: try again',
    );
    expect(errors(b)).toContain('ApiError: try again');
    b.world.failure = () => undefined;
    await b.clock.advance(10 * SECOND);
    expect(b.node('node')).toBeUndefined();
  });

  it('does not wait for a list after the deadline of the NodeClaim', async () => {
    const b = bench();
    failing(b, 'list Pod', unavailable, Number.POSITIVE_INFINITY);
    leaving(b, b.time(60 * SECOND));
    await b.clock.advance(50 * SECOND);
    expect(b.calls).toEqual([]);
    await b.clock.advance(20 * SECOND);
    expect(b.node('node')).toBeUndefined();
  });

  it('deletes pods that only the API server shows by the deadline of the NodeClaim', async () => {
    const b = bench();
    b.world.refuse = () => new ApiError(429, 'TooManyRequests', 'the budget allows no disruption');
    b.world.unseen.set('web', podOf('web', { terminationGracePeriodSeconds: 10 }));
    leaving(b, b.time(60 * SECOND));
    await b.clock.advance(45 * SECOND);
    expect(b.calls.filter((call) => call.startsWith('delete'))).toEqual([]);
    // the back-off of the eviction is up to ten seconds
    await b.clock.advance(25 * SECOND);
    expect(b.calls.filter((call) => call.startsWith('delete'))[0]).toMatch(/^delete Pod web \d+s$/);
  });
});

describe('an eviction', () => {
  const guarded = podOf('web', {}, { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } });

  it('reads the pod from the API server if the watch of pods has been silent for some seconds', async () => {
    const b = bench();
    b.world.watches = [{ resource: 'pods', ageMs: 6 * SECOND, isStale: false }];
    b.put(POD, podOf('web'));
    b.world.unseen.set('web', guarded);
    leaving(b);
    await b.clock.advance(30 * SECOND);
    expect(b.calls).toEqual([]);
  });

  it('needs no read while the watch of pods delivers', async () => {
    const b = bench();
    b.world.watches = [{ resource: 'pods', ageMs: 4 * SECOND, isStale: false }];
    b.put(POD, podOf('web'));
    b.world.unseen.set('web', guarded);
    leaving(b);
    await b.clock.advance(2 * SECOND);
    expect(b.calls).toEqual(['evicted web']);
  });
});
