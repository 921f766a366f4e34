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
  it('wait for a change of the cluster, at most a minute', () => {
    expect(dueAt(59_999)).toEqual([]);
    expect(dueAt(60_000)).toHaveLength(4);
  });

  it.each<[Helped, readonly string[]]>([
    ['all', ['plain', 'near', 'choosy', 'stateful']],
    ['drawn', ['near']],
    ['choosy', ['near', 'choosy']],
    ['with-volumes', ['stateful']],
  ])('are retried after their back-off if a change helps %s', (helped, names) => {
    queue.retry(helped);
    expect([dueAt(999), dueAt(1_000)]).toEqual([[], names]);
  });

  it('are not retried if they were removed, replaced or already retried', () => {
    const [plain, near, choosy] = PODS as [Pod, Pod, Pod];
    queue.remove(plain);
    queue.put({ ...near, metadata: { ...near.metadata, uid: 'another' } }, 5);
    queue.retry('choosy');
    queue.refuse(choosy, 2_000);
    queue.retry('drawn');
    expect(dueAt(3_999)).toEqual(['near']);
    queue.retry('all');
    expect(dueAt(4_000)).toEqual(['choosy', 'stateful', 'near']);
  });
});
