import { describe, expect, it } from '@jest/globals';
import { POD, type Pod } from '#api/objects';
import { annotationEvents } from '../../../src/controllers/annotations.ts';
import { bench, podOf } from './node/bench.ts';

const SHARE = 'karpenter-ts.sh/spot-share';

const replica = (name: string, value: string, owner = 'web'): Pod => {
  const pod = podOf(name);
  const controller = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: owner, uid: owner, controller: true };
  return { ...pod, metadata: { ...pod.metadata, annotations: { [SHARE]: value }, ownerReferences: [controller] } };
};

describe('an annotation that is not valid', () => {
  it('gets the same event for all pods of a workload', async () => {
    const b = bench([], (deps) => [annotationEvents(deps)]);
    for (const pod of [replica('web-0', 'half'), replica('web-1', 'half'), replica('api-0', '50%', 'api')])
      b.put(POD, pod);
    await b.clock.advance(1_000);
    expect(b.events.map(({ object, message }) => [object.metadata.name, message])).toEqual(
      ['web-0', 'web-1'].map((name) => [
        name,
        `Invalid annotation: StatefulSet default/web: annotation ${SHARE} "half" is not valid, it has no effect; use a share of the replicas such as "50%"`,
      ]),
    );
    const [first, second] = b.events;
    expect(first?.dedupe).toEqual(second?.dedupe);
    expect(first).toMatchObject({ isLasting: true, limit: { burst: 100 } });
  });

  it('gets an event when it is added to a pod, and no event for other changes', async () => {
    const b = bench([], (deps) => [annotationEvents(deps)]);
    const valid = replica('web-0', '50%');
    b.put(POD, valid);
    await b.clock.advance(1_000);
    expect(b.events).toEqual([]);
    const invalid = replica('web-0', 'half');
    b.put(POD, invalid);
    await b.clock.advance(1_000);
    b.put(POD, { ...invalid, status: { phase: 'Running' } });
    await b.clock.advance(1_000);
    expect(b.events).toHaveLength(1);
  });
});
