import { describe, expect, it } from '@jest/globals';
import type { ContainerStatus, Pod } from '#api/objects';
import { activeWished } from '../../../../../src/local/kubernetes/controllers/workloads/job.ts';
import {
  hasRestartedTooOften,
  JobHistory,
} from '../../../../../src/local/kubernetes/controllers/workloads/job-history.ts';
import type { Job } from '../../../../../src/local/kubernetes/controllers/workloads/kinds.ts';

const START = Date.parse('2026-01-01T12:00:00Z');
const at = (seconds: number): string => new Date(START + seconds * 1000).toISOString();

const job = (spec: object, status: Job['status'] = {}): Job => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'j' },
  spec: { template: { spec: { containers: [{ name: 'main' }] } }, ...spec },
  status,
});

describe('activeWished', () => {
  it.each<[string, Job, number, number, number]>([
    ['a plain job', job({}), 0, 0, 1],
    ['a completed plain job', job({}), 1, 0, 0],
    ['at most the missing completions', job({ completions: 3, parallelism: 2 }), 2, 2, 1],
    ['a work queue', job({ parallelism: 2 }), 0, 1, 2],
    ['running pods of a work queue after its first success', job({ parallelism: 2 }), 1, 1, 1],
    ['a suspended job', job({ suspend: true }), 0, 1, 0],
  ])('is computed: %s', (_, target, succeeded, active, expected) => {
    expect(activeWished(target, succeeded, active)).toBe(expected);
  });
});

describe('JobHistory', () => {
  const pod = (name: string, phase: 'Running' | 'Succeeded' | 'Failed', endedAfter = 0): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, uid: name },
    spec: { containers: [{ name: 'main' }] },
    status: { phase, conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: at(endedAfter) }] },
  });
  const evicted = (name: string, after: number): Pod => {
    const running = pod(name, 'Running');
    return {
      ...running,
      metadata: { ...running.metadata, deletionTimestamp: at(after + 30), deletionGracePeriodSeconds: 30 },
      status: { phase: 'Running', conditions: [{ type: 'DisruptionTarget', status: 'True' }] },
    };
  };
  const countsOf = ({ succeeded, failed }: JobHistory) => ({ succeeded, failed });
  const secondsLeft = (history: JobHistory, after: number): number => history.backoffMs(START + after * 1000) / 1000;

  it('counts each pod once, also after it is gone', () => {
    const history = new JobHistory(job({}), []);
    const [done, failed] = [pod('a', 'Succeeded'), pod('b', 'Failed')];
    history.count(job({}), [done, failed, pod('c', 'Running')]);
    history.removed(done);
    history.count(job({}), [failed]);
    expect(countsOf(history)).toEqual({ succeeded: 1, failed: 1 });
  });

  it('counts a pod that was removed while it ran as failed', () => {
    const history = new JobHistory(job({}), []);
    history.removed(pod('a', 'Running'));
    history.count(job({}), []);
    expect(countsOf(history)).toEqual({ succeeded: 0, failed: 1 });
  });

  it('goes on with the counts of a Job that another process has begun', () => {
    const begun = job({}, { startTime: at(0), succeeded: 3, failed: 1 });
    const history = new JobHistory(begun, [pod('a', 'Succeeded')]);
    history.count(begun, [pod('a', 'Succeeded'), pod('b', 'Succeeded')]);
    expect(countsOf(history)).toEqual({ succeeded: 4, failed: 1 });
  });

  it('doubles the back-off from 10 s to 10 min with each failure, until a pod succeeds', () => {
    const history = new JobHistory(job({}), []);
    expect(secondsLeft(history, 0)).toBe(0);
    const waits = Array.from({ length: 8 }, (_, index) => {
      history.count(job({}), [pod(`failed-${index}`, 'Failed', index)]);
      return secondsLeft(history, index);
    });
    expect(waits).toEqual([10, 20, 40, 80, 160, 320, 600, 600]);
    history.count(job({}), [pod('done', 'Succeeded', 20)]);
    expect(secondsLeft(history, 20)).toBe(0);
    history.count(job({}), [pod('again', 'Failed', 30)]);
    expect(secondsLeft(history, 34)).toBe(6);
  });

  it('counts an evicted pod as failed from the eviction on', () => {
    const history = new JobHistory(job({}), []);
    history.count(job({}), [evicted('a', 5)]);
    expect(countsOf(history)).toEqual({ succeeded: 0, failed: 1 });
    expect(secondsLeft(history, 5)).toBe(10);
  });

  it('counts an evicted pod when it has ended if only failed pods are replaced', () => {
    const target = job({ podReplacementPolicy: 'Failed' });
    const history = new JobHistory(target, []);
    history.count(target, [evicted('a', 5)]);
    expect(history.failed).toBe(0);
    history.removed(evicted('a', 5));
    history.count(target, []);
    expect(history.failed).toBe(1);
  });

  it('leaves failures out that the policy for pod failures ignores', () => {
    const rules = [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }];
    const target = job({ podFailurePolicy: { rules } });
    const history = new JobHistory(target, []);
    history.removed(evicted('a', 5));
    history.count(target, [pod('b', 'Failed')]);
    expect(history.failed).toBe(1);
  });
});

describe('hasRestartedTooOften', () => {
  const restarted = (restartCount: number): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'main' }] },
    status: { containerStatuses: [{ name: 'main', restartCount } as ContainerStatus] },
  });
  const restarting = (backoffLimit: number): Job => {
    const template = { spec: { containers: [{ name: 'main' }], restartPolicy: 'OnFailure' } };
    return job({ backoffLimit, template });
  };

  it.each([
    [3, [1, 1], false],
    [3, [1, 2], true],
    [0, [0, 0], false],
    [0, [1, 0], true],
  ])('returns with a limit of %d and restarts of %j: %s', (limit, restarts, expected) => {
    expect(hasRestartedTooOften(restarting(limit), restarts.map(restarted))).toBe(expected);
  });

  it('does not count restarts of pods that are not restarted on failure', () => {
    expect(hasRestartedTooOften(job({ backoffLimit: 1 }), [restarted(5)])).toBe(false);
  });
});
