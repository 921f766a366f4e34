import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Pod, PodSpec } from '../../../../../src/api/kubernetes.ts';
import { type Helped, SchedulingQueue } from '../../../../../src/local/kubernetes/scheduler/queue.ts';

const podWith = (name: string, spec: Partial<PodSpec> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', uid: name },
  spec: { containers: [], ...spec },
});
const PODS = [
  podWith('plain'),
  podWith('near', { affinity: { podAffinity: {} } }),
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
    queue.put(pod, 0);
    queue.refuse(pod, 0);
  }
});

const dueAt = (ms: number): readonly string[] => queue.due(ms).map(({ metadata }) => metadata.name);

describe('unschedulable pods', () => {
  it('wait for an event, at most five minutes, which are checked every 30 seconds', () => {
    expect(dueAt(299_999)).toEqual([]);
    expect(dueAt(300_000)).toHaveLength(5);
    const [plain] = PODS as [Pod];
    queue.refuse(plain, 301_000);
    expect([queue.due(629_999), queue.due(630_000)].map((due) => due.includes(plain))).toEqual([false, true]);
  });

  it.each<[Helped, readonly string[]]>([
    ['all', ['plain', 'near', 'choosy', 'stateful', 'spread']],
    ['counting', ['near', 'spread']],
    ['choosy', ['near', 'choosy']],
    ['with-volumes', ['stateful']],
  ])('are retried without a back-off if an event helps %s', (helped, names) => {
    queue.retry(helped);
    expect(dueAt(0)).toEqual(names);
  });

  it('are not retried if the event cannot help them', () => {
    queue.retry('all', ({ metadata }) => metadata.name !== 'plain');
    expect(dueAt(0)).not.toContain('plain');
    expect(dueAt(0)).toHaveLength(4);
  });

  it('are retried if their specification or their labels change, but not if their status changes', () => {
    const [plain, near] = PODS as [Pod, Pod];
    queue.put({ ...plain, status: { phase: 'Pending' } }, 5);
    expect(dueAt(5)).toEqual([]);
    queue.put({ ...plain, spec: { ...plain.spec, tolerations: [{ operator: 'Exists' }] } }, 5);
    queue.put({ ...near, metadata: { ...near.metadata, labels: { app: 'other' } } }, 5);
    expect(dueAt(5)).toEqual(['plain', 'near']);
  });

  it('wait for 1 to 10 seconds after an error, also if an event helps them', () => {
    const [plain] = PODS as [Pod];
    const delays = Array.from({ length: 5 }, () => {
      queue.put(plain, 0);
      queue.delay(plain, 0);
      queue.retry();
      return [1, 2, 4, 8, 10].find((seconds) =>
        queue.due(seconds * 1000).some(({ metadata }) => metadata.name === 'plain'),
      );
    });
    // the refusal before was the first attempt
    expect(delays).toEqual([2, 4, 8, 10, 10]);
  });

  it('are not retried if they were removed, replaced or already retried', () => {
    const [plain, near, choosy] = PODS as [Pod, Pod, Pod];
    queue.remove(plain);
    queue.put({ ...near, metadata: { ...near.metadata, uid: 'another' } }, 5);
    queue.retry('choosy');
    queue.refuse(choosy, 2_000);
    queue.retry('counting');
    expect(dueAt(3_999)).toEqual(['spread', 'near']);
    queue.retry('all');
    expect(dueAt(4_000)).toEqual(['choosy', 'stateful', 'spread', 'near']);
  });
});
