import { execFileSync } from 'node:child_process';
import { expect, it } from '@jest/globals';

const SCRIPT = `
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { getHeapStatistics } from 'node:v8';
import { watchProcess } from '${new URL('../../../src/process/process-watch.ts', import.meta.url)}';
const { workerLimits } = watchProcess(512 * 2 ** 20);
const worker = new Worker('setInterval(() => {}, 1_000)', { eval: true, resourceLimits: workerLimits });
await once(worker, 'online');
const { heap_size_limit: ofWorker } = await worker.getHeapStatistics();
await worker.terminate();
console.log(JSON.stringify([getHeapStatistics().heap_size_limit, ofWorker].map((bytes) => bytes / 2 ** 20)));
`;

const limits = (...options: readonly string[]): unknown =>
  JSON.parse(
    execFileSync(process.execPath, [...options, '--input-type=module', '--eval', SCRIPT], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    }),
  );

it("limits a worker's heap by the budget, regardless of the limit of the main thread", () => {
  // main thread: 26 % of 512 MiB and three semi-spaces; worker: half of the rest without the reserve
  expect(limits('--max-old-space-size=133', '--max-semi-space-size=4')).toEqual([145, 132]);
  expect(limits('--max-old-space-size=100', '--max-semi-space-size=4')).toEqual([112, 149]);
});
