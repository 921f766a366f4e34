import { expect, it } from '@jest/globals';
import { createMetrics } from '#observe/setup';
import { type ClusterSize, neededLimitMb } from '../../../src/process/memory-capacity.ts';
import { clusterWatch, memoryWatch } from '../../../src/process/process-watch.ts';
import { recordingLog } from '../kube/fakes.ts';

const MIB = 2 ** 20;

it('logs once that the limit is near, and once that it is no longer near', async () => {
  const { log, lines } = recordingLog();
  const metrics = createMetrics();
  let resident = 100 * MIB;
  const limit = { bytes: 512 * MIB, source: 'the container' } as const;
  const shares: number[] = [];
  const pressure = { resident: (share: number) => void shares.push(share) };
  const look = memoryWatch({ limit, metrics, log, residentBytes: () => resident, pressure });
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
  expect(shares[2]).toBe(440 / 512);
});

it('compares the limit with the cluster when its size is known, and again when the cluster outgrows the limit', () => {
  const { log, lines } = recordingLog();
  const limit = { bytes: 256 * MIB, source: 'the container' } as const;
  let size: ClusterSize | undefined;
  const look = clusterWatch({ limit, log, clusterSize: () => size });
  look();
  expect(lines).toEqual([]);
  for (const pods of [100, 200, 5_000, 5_000, 5_001, 100, 20_000]) {
    size = { pods, nodes: pods / 10 };
    look();
  }
  expect(lines.map(({ level, message, fields }) => [level, message, fields.pods])).toEqual([
    ['info', 'the memory limit is sufficient for the cluster', 100],
    ['error', 'the memory limit is too low for the cluster, working with less of it when it is short', 5_000],
    ['error', 'the memory limit is too low for the cluster, working with less of it when it is short', 20_000],
  ]);
  const needed = neededLimitMb({ pods: 20_000, nodes: 2_000 });
  expect(lines[2]?.fields).toMatchObject({
    'limit-mib': 256,
    'needed-mib': needed,
    remedy: `set controller.resources.limits.memory of the chart to at least ${needed}Mi`,
  });
});
