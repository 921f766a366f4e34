import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Pod, PodSpec } from '#api/objects';
import { type Helped, SchedulingQueue } from '../../../../../src/local/kubernetes/scheduler/queue.ts';

const podWith = (name: string, spec: Partial<PodSpec> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', uid: name },
  spec: { containers: [], ...spec },
});
const PODS = [
  podWith('plain'),
  podWith('near', {
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'zone', labelSelector: { matchLabels: { app: 'web' } } },
        ],
      },
    },
  }),
  podWith('choosy', { affinity: { nodeAffinity: {} } }),
  podWith('stateful', { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] }),
  podWith('spread', {
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
  }),
];

let queue: SchedulingQueue;
beforeEach(() => {
  queue = new SchedulingQueue();
  for (const pod of PODS) {
    queue.put(pod);
    queue.refuse(pod, 0);
  }
});

const dueAt = (ms: number): readonly string[] => queue.due(ms).map(({ metadata }) => metadata.name);

describe('an unschedulable pod', () => {
  it('waits for an event, at most five minutes, which are checked every 30 seconds', () => {
    expect(dueAt(299_999)).toEqual([]);
    expect(dueAt(300_000)).toHaveLength(5);
    queue.refuse(PODS[0] as Pod, 301_000);
    expect([629_999, 630_000].map((ms) => dueAt(ms).includes('plain'))).toEqual([false, true]);
  });

  it.each<[Helped, readonly string[]]>([
    ['all', ['plain', 'near', 'choosy', 'stateful', 'spread']],
    ['counting', ['near', 'spread']],
    ['with-volumes', ['stateful']],
  ])('is retried without a back-off if an event helps %s', (helped, names) => {
    queue.retry(helped);
    expect(dueAt(0)).toEqual(names);
  });

  it('is not retried if the event cannot help it', () => {
    queue.retry('all', ({ metadata }) => metadata.name !== 'plain');
    expect(dueAt(0)).not.toContain('plain');
    expect(dueAt(0)).toHaveLength(4);
  });

  it('is retried if its specification or its labels change, but not if its status changes', () => {
    const [plain, near] = PODS as [Pod, Pod];
    queue.put({ ...plain, status: { phase: 'Pending' } });
    expect(dueAt(5)).toEqual([]);
    queue.put({ ...plain, spec: { ...plain.spec, tolerations: [{ operator: 'Exists' }] } });
    queue.put({ ...near, metadata: { ...near.metadata, labels: { app: 'other' } } });
    expect(dueAt(5)).toEqual(['plain', 'near']);
  });

  it('is retried if its claims were created', () => {
    const [plain] = PODS as [Pod];
    queue.put({ ...plain, status: { resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'plain-gpu' }] } });
    expect(dueAt(5)).toEqual(['plain']);
  });

  it('is tried by priority, then in the order of its last attempt', () => {
    const low = podWith('low', { priority: -1 });
    const urgent = podWith('urgent', { priority: 1 });
    for (const pod of [low, urgent]) queue.put(pod);
    queue.retry();
    queue.refuse(PODS[0] as Pod, 4_000);
    queue.retry();
    expect(dueAt(60_000)).toEqual(['urgent', 'near', 'choosy', 'stateful', 'spread', 'plain', 'low']);
  });

  it('is tried after other pods until its back-off of 1 to 10 seconds ends', () => {
    const [plain, near] = PODS as [Pod, Pod];
    for (const _ of [1, 2, 3]) queue.refuse(plain, 10_000);
    queue.refuse(near, 10_000);
    queue.retry('all', ({ metadata }) => ['plain', 'near'].includes(metadata.name));
    queue.put(podWith('new', { priority: -1 }));
    expect(dueAt(10_000)).toEqual(['new', 'near', 'plain']);
    expect(dueAt(13_000)).toEqual(['near', 'new', 'plain']);
    expect(dueAt(19_000)).toEqual(['plain', 'near', 'new']);
  });

  it('waits for 1 to 10 seconds after an error, also if an event helps it', () => {
    const [plain] = PODS as [Pod];
    const delays = Array.from({ length: 5 }, () => {
      queue.put(plain);
      queue.delay(plain, 0);
      queue.retry();
      return [1, 2, 4, 8, 10].find((seconds) => dueAt(seconds * 1000).includes('plain'));
    });
    expect(delays).toEqual([1, 2, 4, 8, 10]);
  });

  it('is not retried if it was removed, replaced or already retried', () => {
    const [plain, near, choosy] = PODS as [Pod, Pod, Pod];
    queue.remove(plain);
    queue.put({ ...near, metadata: { ...near.metadata, uid: 'another' } });
    queue.retry('all', ({ metadata }) => metadata.name === 'choosy');
    queue.refuse(choosy, 2_000);
    queue.retry('counting');
    expect(dueAt(3_999)).toEqual(['spread', 'near']);
    queue.retry('all');
    expect(dueAt(4_000)).toEqual(['stateful', 'spread', 'near', 'choosy']);
  });
});
