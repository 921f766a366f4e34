/** Requests to the metrics API for `karpenter top`. */
import { describe, expect, it } from '@jest/globals';
import { ApiError } from '#kube/client';
import { UseSamples, usesIfServed } from '#live/view';
import { LiveView } from '../../../src/live/view.ts';
import { settableClock } from '../virtualclock.ts';
import { LiveCluster } from './live-cluster.ts';

describe('the use of pods', () => {
  it.each([
    ['is not requested again if the metrics API is not served', 404, 1],
    ['is requested again after another failure', 503, 4],
  ] as const)('%s', async (_, status, requests) => {
    const clock = settableClock(0);
    let count = 0;
    const raw = (): Promise<never> => {
      count += 1;
      return Promise.reject(new ApiError(status, 'NotFound', 'no metrics'));
    };
    const samples = new UseSamples(usesIfServed({ raw }), clock);
    for (let minute = 0; minute < 4; minute += 1) {
      expect((await samples.latest()).report).toBeUndefined();
      await clock.advance(61_000);
    }
    expect(count).toBe(requests);
  });

  it('is a share of each node', async () => {
    const live = new LiveCluster();
    live.fill(2, 1);
    const view = new LiveView(live.sources);
    expect(view.usedByNode()).toBeUndefined();
    const half = { p50: 0, p95: 4_000 };
    live.uses = new Map([['default/pod-0-0', { cpu: half, memory: { p50: 0, p95: 8 * 2 ** 30 } }]]);
    await live.clock.advance(61_000);
    await live.sources.use.latest();
    expect(view.usedByNode()).toEqual(
      new Map([
        ['node-0.internal', { cpu: 0.5, memory: 0.25 }],
        ['node-1.internal', { cpu: 0, memory: 0 }],
      ]),
    );
  });
});
