import { expect, it } from '@jest/globals';
import { createMetrics } from '../../../src/observe/metrics.ts';
import { memoryWatch } from '../../../src/process/process-watch.ts';
import { recordingLog } from '../kube/fakes.ts';

const MIB = 2 ** 20;

it('logs once that the limit is near, and once that it is no longer near', async () => {
  const { log, lines } = recordingLog();
  const metrics = createMetrics();
  let resident = 100 * MIB;
  const limit = { bytes: 512 * MIB, source: 'the container' } as const;
  const look = memoryWatch({ limit, metrics, log, residentBytes: () => resident });
  const told: (readonly [number, number, string])[] = [];
  for (const mib of [100, 430, 440, 500, 430, 440, 390, 380, 430, 436]) {
    resident = mib * MIB;
    const before = lines.length;
    look();
    const near = /^karpenter_memory_near_limit (\d)$/m.exec(await metrics.text())?.[1];
    told.push([
      mib,
      Number(near),
      lines
        .slice(before)
        .map(({ level }) => level)
        .join(),
    ]);
  }
  expect(told).toEqual([
    [100, 0, ''],
    [430, 0, ''],
    [440, 1, 'error'],
    [500, 1, ''],
    [430, 1, ''],
    [440, 1, ''],
    [390, 1, ''],
    [380, 0, 'info'],
    [430, 0, ''],
    [436, 1, 'error'],
  ]);
  expect(lines[0]).toMatchObject({
    message: 'memory in use is near the limit at which the container is killed',
    fields: {
      'used-mib': 440,
      'limit-mib': 512,
      'limit-of': 'the container',
      remedy: 'raise controller.resources.limits.memory of the chart',
    },
  });
  expect(await metrics.text()).toContain('karpenter_memory_limit_bytes 536870912');
});
