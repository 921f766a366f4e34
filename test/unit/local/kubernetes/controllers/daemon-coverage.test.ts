/** Coverage of nodes by a DaemonSet: a change is evaluated only for its nodes. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { DAEMON_SET, type DaemonSet, NODE, type Node, POD, type Pod } from '#api/objects';
import { realClock } from '#lib/clock';
import type { Caches } from '../../../../../src/local/cache.ts';
import type { ObjectClient } from '../../../../../src/local/client.ts';
import { cachesInProcess, connectInProcess } from '../../../../../src/local/in-process.ts';
import { openApi } from '../../../../../src/local/kubernetes/apiserver/api.ts';
import { Coverage } from '../../../../../src/local/kubernetes/controllers/workloads/daemon-coverage.ts';
import { nodeOfDaemon, podFor } from '../../../../../src/local/kubernetes/controllers/workloads/daemon-pods.ts';

let client: ObjectClient;
let caches: Caches;
let set: DaemonSet;
let coverage: Coverage;

const labels = { app: 'agent' };
const AGENT: DaemonSet = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'agent', namespace: 'default' },
  spec: {
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      // Tolerates nodes with a kubelet that has not reported yet.
      spec: {
        containers: [{ name: 'main', image: 'x' }],
        tolerations: [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists' }],
      },
    },
  },
};
const names = (objects: readonly (Pod | Node)[]): string => objects.map(({ metadata }) => metadata.name).join(' ');
const place = (node: Node, revision = 'new') => client.create(POD, podFor(set, node, revision));
const node = (name: string) => client.create(NODE, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
const ready = (pod: Pod) =>
  client.patch(
    POD,
    pod.metadata,
    { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
    { subresource: 'status' },
  );
const opened = (revision = 'new') => new Coverage({ set, revision, nodes: caches.of(NODE), pods: caches.of(POD) });
const next = () => coverage.difference([...coverage.take()]);

beforeEach(async () => {
  const api = openApi({ clock: realClock() });
  client = connectInProcess(api);
  caches = cachesInProcess(api);
  set = await client.create(DAEMON_SET, AGENT);
  for (const name of ['a', 'b', 'c']) await node(name);
  coverage = opened();
  caches.of(POD).subscribe((now, before) => {
    for (const pod of [now, before]) if (pod) coverage.changed(nodeOfDaemon(pod));
  });
  caches.of(NODE).subscribe((now, before) => coverage.changed((now ?? before)?.metadata.name ?? ''));
});

const taint = (name: string, effect: 'NoSchedule' | 'NoExecute') =>
  client.patch(NODE, { name }, { spec: { taints: [{ key: 'k', effect }] } });

describe('the coverage of a DaemonSet', () => {
  it('includes all nodes first, and then only changed nodes', async () => {
    expect(names(next().missing)).toBe('a b c');
    expect(coverage.take()).toEqual(new Set());
    coverage.changed('b');
    expect([...coverage.take()]).toEqual(['b']);
  });

  it('equals a full count of every node', async () => {
    const [a, b, c] = ['a', 'b', 'c'].map((name) => caches.of(NODE).get({ name }) as Node) as [Node, Node, Node];
    next();
    expect(coverage.status()).toMatchObject({ desiredNumberScheduled: 3, currentNumberScheduled: 0, numberReady: 0 });
    await ready(await place(a));
    await place(b, 'old');
    await place(c);
    await taint('c', 'NoSchedule');
    const status = {
      desiredNumberScheduled: 2,
      currentNumberScheduled: 2,
      numberMisscheduled: 1,
      numberReady: 1,
      numberAvailable: 1,
      numberUnavailable: 1,
      updatedNumberScheduled: 1,
    };
    expect(coverage.status()).toEqual(status);
    next();
    expect(coverage.status()).toEqual(status);
    expect(opened().status()).toEqual(status);
    await client.delete(NODE, { name: 'b' });
    expect(names(next().leaving)).toMatch(/^agent-/);
    expect(coverage.status()).toEqual(opened().status());
    expect(coverage.status()).toMatchObject({ desiredNumberScheduled: 1, numberMisscheduled: 2 });
  });

  it('removes pods that are not allowed, have ended, or are surplus', async () => {
    const [a, b, c] = ['a', 'b', 'c'].map((name) => caches.of(NODE).get({ name }) as Node) as [Node, Node, Node];
    const [first, second, third, over] = await Promise.all([place(a), place(a), place(b), place(c)]);
    await taint('b', 'NoExecute');
    await client.patch(POD, over.metadata, { status: { phase: 'Failed' } }, { subresource: 'status' });
    const { leaving, missing } = next();
    expect(names(leaving)).toBe(names([second, third, over]));
    expect(names(leaving)).not.toContain(first.metadata.name);
    expect(missing).toEqual([]);
  });

  it('removes one pod of an old template at a time, after all others are available', async () => {
    const pods = [];
    for (const each of caches.of(NODE).list()) pods.push(await place(each, 'old'));
    for (const pod of pods.slice(1)) await ready(pod);
    expect(next().leaving).toEqual([]);
    await ready(pods[0] as Pod);
    expect(names(next().leaving)).toBe(pods[0]?.metadata.name);
    await client.delete(POD, pods[0]?.metadata as Pod['metadata'], { gracePeriodSeconds: 0 });
    const { leaving, missing } = next();
    expect([names(leaving), names(missing)]).toEqual([pods[1]?.metadata.name, 'a']);
  });
});
