/** Objects in a recording. */
import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#api/objects';
import { readEvent } from '#replay/testing';
import type { TraceEvent, TraceHeader } from '#replay/trace';
import { AuditHistory } from '../../../../src/cli/trace/history.ts';
import { jobName } from '../../../../src/cli/trace/job-object.ts';
import { partial } from '../../../support/partial.ts';

const START = Date.parse('2026-01-05T10:00:00Z');
const ms = (seconds: number): number => START + seconds * 1000;
const HEADER: TraceHeader = { trace: 'karpenter/v1', name: 'a', start: '2026-01-05T10:00:00Z', seconds: 3_600 };
const history = (options: Partial<ConstructorParameters<typeof AuditHistory>[0]> = {}): AuditHistory =>
  new AuditHistory({ startMs: START, limitBytes: 2 ** 20, ...options });
const events = (of: AuditHistory, until = 1_000): readonly TraceEvent[] => [...of.until(ms(until))];
const applied = (of: AuditHistory): readonly KubeObject[] =>
  events(of).flatMap((event) => ('apply' in event ? [event.apply] : []));

const owner = (kind: string) => ({ apiVersion: 'x/v1', kind, name: 'o', uid: 'u', controller: true });
const object = (kind: string, metadata: object, spec: object = {}, apiVersion = 'apps/v1'): KubeObject =>
  partial({ apiVersion, kind, metadata: { namespace: 'shop', uid: 'x', ...metadata }, spec });
const template = (labels: object = { app: 'web' }, spec: object = {}) => ({
  metadata: { labels, annotations: { 'karpenter.sh/do-not-disrupt': 'true', 'kubectl.kubernetes.io/note': 'secret' } },
  spec: { containers: [{ name: 'main', image: 'secret', env: [], resources: { requests: { cpu: '1' } } }], ...spec },
});
const deployment = (replicas: number, spec: object = {}) =>
  object(
    'Deployment',
    { name: 'web' },
    { replicas, selector: { matchLabels: { app: 'web' } }, template: template(), ...spec },
  );
const pod = (metadata: object = {}, spec: object = {}, status: object = {}): KubeObject =>
  partial({ ...object('Pod', { name: 'one', ...metadata }, { ...template().spec, ...spec }, 'v1'), status });

describe('an object', () => {
  it('loses possible secrets without an effect on decisions', () => {
    const kept = history();
    kept.put(
      object(
        'Deployment',
        { name: 'web', labels: { team: 'secret' }, annotations: { note: 'secret' }, managedFields: ['secret'] },
        {
          replicas: 2,
          selector: { matchLabels: { app: 'web' } },
          strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } },
          template: template(
            { app: 'web', team: 'secret' },
            {
              volumes: [{ name: 'a', configMap: { name: 'secret' } }],
              nodeSelector: { disk: 'fast' },
              schedulerName: 'mine',
              serviceAccountName: 'secret',
            },
          ),
        },
      ),
      START,
    );
    expect(applied(kept)).toEqual([
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web', namespace: 'shop' },
        spec: {
          replicas: 2,
          selector: { matchLabels: { app: 'web' } },
          strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } },
          template: {
            metadata: { labels: { app: 'web' }, annotations: { 'karpenter.sh/do-not-disrupt': 'true' } },
            spec: {
              containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '1' } } }],
              volumes: [],
              nodeSelector: { disk: 'fast' },
            },
          },
        },
      },
    ]);
  });

  it('keeps labels that any selector uses, even one of another time', () => {
    const kept = history();
    kept.put(pod({ labels: { app: 'a', tier: 'b', zone: 'c', other: 'd' } }), START);
    const spread = {
      topologySpreadConstraints: [
        { matchLabelKeys: ['zone'], labelSelector: { matchExpressions: [{ key: 'tier', operator: 'Exists' }] } },
      ],
    };
    kept.put(deployment(1, { template: template({ app: 'web' }, spread) }), ms(1));
    const [found] = applied(kept);
    expect(found?.metadata.labels).toEqual({ app: 'a', tier: 'b', zone: 'c' });
  });

  it('keeps the volumes of a StatefulSet, and loses the user data of a NodeClass', () => {
    const kept = history();
    const claim = {
      metadata: { name: 'data', labels: { a: 'secret' } },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      status: {},
    };
    kept.put(
      object(
        'StatefulSet',
        { name: 'db' },
        { selector: {}, serviceName: 'db', template: template(), volumeClaimTemplates: [claim] },
      ),
      START,
    );
    const nodeClass = object(
      'EC2NodeClass',
      { name: 'default' },
      { userData: 'secret', role: 'r' },
      'karpenter.k8s.aws/v1',
    );
    kept.put({ ...nodeClass, metadata: { name: 'default' } }, START);
    const [set, node] = applied(kept) as unknown as readonly { readonly spec: Record<string, unknown> }[];
    expect(set?.spec.volumeClaimTemplates).toEqual([
      {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ]);
    expect(node?.spec).toEqual({ role: 'r' });
  });

  it('is recorded again if it changes, and scaled if only its replicas change', () => {
    const kept = history();
    kept.put(deployment(2), START);
    kept.put(partial({ ...deployment(2), status: { replicas: 2 } }), ms(1));
    kept.put(deployment(3), ms(2));
    kept.put(deployment(3, { template: template({ app: 'web' }, { hostNetwork: true }) }), ms(3));
    kept.remove(deployment(3), ms(4));
    kept.remove(deployment(3), ms(5));
    expect(events(kept).map((event) => [event.at, Object.keys(event)[1]])).toEqual([
      [0, 'apply'],
      [2, 'scale'],
      [3, 'apply'],
      [4, 'delete'],
    ]);
  });

  it('is not recorded if it belongs to a workload', () => {
    const kept = history();
    kept.put(
      { ...object('ReplicaSet', { name: 'web-1', ownerReferences: [owner('Deployment')] }, deployment(1)) },
      START,
    );
    for (const kind of ['ReplicaSet', 'StatefulSet', 'DaemonSet', 'Node'])
      kept.put(pod({ name: kind.toLowerCase(), ownerReferences: [owner(kind)] }), START);
    kept.put(pod({ name: 'spark', ownerReferences: [owner('SparkApplication')] }), START);
    expect(applied(kept).map(({ metadata }) => metadata.name)).toEqual(['spark']);
  });

  it('is skipped and counted if the reader would reject it', () => {
    const kept = history();
    kept.put(object('Deployment', { name: 'web' }, { replicas: 1, selector: {} }), START);
    expect(Object.fromEntries(kept.leftOut)).toEqual({
      'Deployment.spec.template is missing; it must be an object': 1,
    });
  });
});

describe('a pod', () => {
  const times = (seconds: readonly [number, number]) => ({
    containerStatuses: [
      {
        name: 'main',
        state: {
          terminated: {
            startedAt: new Date(ms(seconds[0])).toISOString(),
            finishedAt: new Date(ms(seconds[1])).toISOString(),
          },
        },
      },
    ],
  });

  it('has its run time since the start of the recording if it ended', () => {
    const kept = history();
    kept.put(pod({ name: 'old', creationTimestamp: '2026-01-05T09:00:00Z' }), START);
    kept.put(pod({ name: 'new', creationTimestamp: '2026-01-05T10:00:10Z', uid: 'y' }), ms(10));
    kept.put(pod({ name: 'old' }, {}, { phase: 'Succeeded', ...times([-3_000, 40]) }), ms(41));
    kept.put(pod({ name: 'new', uid: 'y' }, {}, { phase: 'Failed', ...times([15, 60]) }), ms(61));
    kept.put(pod({ name: 'new', uid: 'y' }, {}, { phase: 'Failed', ...times([15, 60]) }), ms(62));
    kept.remove(pod({ name: 'new', uid: 'y' }), ms(70));
    expect(events(kept).map((event) => [event.at, 'runsFor' in event ? event.runsFor : event])).toEqual([
      [0, 40],
      [10, 45],
    ]);
  });

  it('is deleted if it is deleted before it ends', () => {
    const kept = history();
    kept.put(pod(), START);
    kept.put(pod({ deletionTimestamp: '2026-01-05T10:01:00Z' }), ms(30));
    kept.put(pod({ deletionTimestamp: '2026-01-05T10:01:00Z' }, {}, { phase: 'Failed' }), ms(50));
    kept.remove(pod(), ms(60));
    expect(events(kept)).toMatchObject([
      { at: 0 },
      { at: 30, delete: { kind: 'Pod', namespace: 'shop', name: 'one' } },
    ]);
  });

  it('is skipped if it ended before the recording', () => {
    const kept = history();
    kept.put(pod({ creationTimestamp: '2026-01-05T09:00:00Z' }, {}, { phase: 'Succeeded' }), START);
    expect(events(kept)).toEqual([]);
  });

  it('follows another pod with the same name', () => {
    const kept = history();
    kept.put(pod({ uid: 'a' }), START);
    kept.put(pod({ uid: 'b', creationTimestamp: '2026-01-05T10:00:20Z' }), ms(20));
    expect(events(kept).map((event) => [event.at, Object.keys(event)[1]])).toEqual([
      [0, 'apply'],
      [20, 'delete'],
      [20, 'apply'],
    ]);
  });
});

describe('a pod of a Job', () => {
  const ofJob = (name: string, metadata: object = {}, status: object = {}): KubeObject =>
    pod({ name, uid: name, ownerReferences: [owner('Job')], ...metadata }, { restartPolicy: 'Never' }, status);
  const at = (seconds: number): string => new Date(ms(seconds)).toISOString();
  const target = { conditions: [{ type: 'DisruptionTarget', status: 'True' }] };
  const succeeded = (from: number, to: number) => ({
    phase: 'Succeeded',
    containerStatuses: [{ name: 'main', state: { terminated: { startedAt: at(from), finishedAt: at(to) } } }],
  });

  it('becomes a Job with one pod that starts again after an eviction', () => {
    const kept = history();
    kept.put(ofJob('j-1', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }), ms(10));
    kept.put(ofJob('j-1', {}, succeeded(10, 70)), ms(70));
    const [event] = events(kept);
    expect(event).toMatchObject({
      runsFor: 60,
      apply: {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'j-1', namespace: 'shop' },
        spec: {
          completions: 1,
          parallelism: 1,
          template: {
            metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } },
            spec: { restartPolicy: 'Never', containers: [{ resources: { requests: { cpu: '1' } } }] },
          },
        },
      },
    });
    // the reader of traces accepts the event
    expect(readEvent(event, HEADER, 0)).toEqual(event);
  });

  it('continues with the pod that replaced it if it was evicted, so that its work is in the trace once', () => {
    const kept = history();
    kept.put(ofJob('j-1', { creationTimestamp: at(10) }), ms(10));
    kept.put(ofJob('j-1', { creationTimestamp: at(10), deletionTimestamp: at(90) }, target), ms(90));
    kept.remove(ofJob('j-1'), ms(91));
    kept.put(ofJob('j-2', { creationTimestamp: at(92) }), ms(92));
    kept.put(ofJob('j-2', { creationTimestamp: at(92) }, succeeded(100, 220)), ms(220));
    expect(events(kept)).toMatchObject([{ at: 10, runsFor: 120, apply: { kind: 'Job', metadata: { name: 'j-1' } } }]);
  });

  it('continues as well if it failed with its node, and not after a failure of its own', () => {
    const kept = history();
    kept.put(ofJob('j-1', {}, { phase: 'Running' }), ms(10));
    kept.put(ofJob('j-1', {}, { phase: 'Failed', ...target }), ms(90));
    kept.put(ofJob('j-2', {}, { ...succeeded(100, 130), phase: 'Failed' }), ms(130));
    kept.put(ofJob('j-3', {}, succeeded(140, 150)), ms(150));
    expect(
      events(kept).map((event) => ['apply' in event && event.apply.metadata.name, 'runsFor' in event && event.runsFor]),
    ).toEqual([
      ['j-1', 30],
      ['j-3', 10],
    ]);
  });

  it('is deleted when it lost its node if nothing replaced it', () => {
    const kept = history();
    kept.put(ofJob('j-1', { creationTimestamp: at(10) }), ms(10));
    kept.evicted(ofJob('j-1'));
    kept.remove(ofJob('j-1'), ms(91));
    expect(events(kept)).toMatchObject([
      { at: 10, apply: { kind: 'Job' } },
      { at: 91, delete: { apiVersion: 'batch/v1', kind: 'Job', namespace: 'shop', name: 'j-1' } },
    ]);
  });

  it('has a name that fits a label', () => {
    const name = `${'long-'.repeat(13)}abcde`;
    expect(jobName(name)).toBe(`${'long-'.repeat(11)}lonabcde`);
    expect(jobName('short')).toBe('short');
  });
});

describe('a recording', () => {
  it('ends at its limit', () => {
    const kept = history({ limitBytes: 900 });
    for (let index = 0; index < 10; index++) kept.put(deployment(index), ms(index));
    expect(kept.isFull).toBe(true);
    expect(events(kept).length).toBeGreaterThan(0);
    expect(events(kept).length).toBeLessThan(9);
  });

  it('can be limited to namespaces', () => {
    const kept = history({ namespaces: ['web'] });
    kept.put(deployment(1), START);
    kept.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, START);
    kept.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'web' } }, START);
    expect(applied(kept).map(({ metadata }) => metadata.name)).toEqual(['web']);
  });
});
