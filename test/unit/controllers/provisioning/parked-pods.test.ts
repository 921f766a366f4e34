import { describe, expect, it } from '@jest/globals';
import { POD, type Pod } from '#api/objects';
import { parkedPods } from '../../../../src/controllers/provisioning/parked-pods.ts';
import { bench, podOf } from '../node/bench.ts';

const SECOND = 1_000;

describe('a pod that kube-scheduler has not tried', () => {
  const base = podOf('web');
  const waiting = (spec: Partial<Pod['spec']>, now: string): Pod => ({
    ...base,
    metadata: { ...base.metadata, creationTimestamp: now },
    spec: { containers: [], ...spec },
    status: {},
  });
  const claims = { resourceClaims: [{ name: 'gpu', resourceClaimName: 'shared' }] };
  const start = () => {
    const b = bench([], (deps) => [parkedPods(deps)]);
    const reports = () => b.events.map(({ reason, message }) => `${reason}: ${message}`);
    return { b, reports, now: new Date(b.clock.now()).toISOString() };
  };
  const tried = { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] } as const;

  it('is reported after 30 seconds if it has resource claims', async () => {
    const { b, reports, now } = start();
    b.put(POD, waiting(claims, now));
    await b.clock.advance(29 * SECOND);
    expect(reports()).toEqual([]);
    await b.clock.advance(2 * SECOND);
    expect(reports()).toEqual([
      'FailedScheduling: Failed to schedule pod, kube-scheduler has not tried the pod yet, and does not try it until its ' +
        'resource claims exist: shared',
    ]);
  });

  it.each<[string, (now: string) => Pod]>([
    ['it has no resource claims', (now) => waiting({}, now)],
    ['kube-scheduler has tried it', (now) => ({ ...waiting(claims, now), status: tried })],
    ['it is bound', (now) => waiting({ ...claims, nodeName: 'node' }, now)],
  ])('is not reported if %s', async (_, make) => {
    const { b, reports, now } = start();
    b.put(POD, waiting(claims, now));
    await b.clock.advance(SECOND);
    b.put(POD, make(now));
    await b.clock.advance(600 * SECOND);
    expect(reports()).toEqual([]);
  });
});
