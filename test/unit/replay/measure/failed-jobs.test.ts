/** Jobs that fail in a replay, and their pods that never succeed. */
import { expect, it } from '@jest/globals';
import type { Job } from '#local/cluster';
import { FailedJobsMeter } from '../../../../src/replay/measure/failed-jobs.ts';

const job = (spec: object, type: string, succeeded?: number): Job =>
  ({
    metadata: { name: 'job' },
    spec,
    status: { succeeded, conditions: [{ type, status: 'True' }] },
  }) as unknown as Job;

it('counts each failed Job once, with the pods that did not succeed', () => {
  const meter = new FailedJobsMeter();
  const running = job({ completions: 5 }, 'Suspended', 1);
  const failed = job({ completions: 5 }, 'Failed', 2);
  meter.changed(running, undefined);
  meter.changed(failed, running);
  meter.changed(failed, failed);
  meter.changed(undefined, failed);
  meter.changed(job({}, 'Failed'), undefined);
  meter.changed(job({ completions: 5 }, 'Complete', 5), undefined);
  expect(meter.total).toEqual({ jobs: 2, pods: 4 });
});
