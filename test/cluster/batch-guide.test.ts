/** The six commands of docs/batch.md, from an empty local cluster to a running gang, with the real kubectl. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Guide, startGuide } from './harness/guide.ts';

const WORKERS = 8;

let guide: Guide;

beforeAll(async () => {
  guide = await startGuide('docs/batch.md', 'Try it on a laptop');
}, 300_000);
afterAll(async () => {
  await guide?.stop();
}, 60_000);

it('leads from an empty cluster to a running gang', async () => {
  const { commands, shell, shows } = guide;
  expect(commands).toHaveLength(4);
  const [pool = '', gang = '', explain = '', show = ''] = commands;
  expect(await shell(pool)).toContain('nodepool.karpenter.sh/default created');
  expect(await shell(gang)).toContain('job.batch/train created');
  await shows(explain, /train-\d/);
  const shown = await shows(show, new RegExp(`(?:^pod/train-\\S+ +1/1 +Running.*\\n){${WORKERS}}`, 'm'));
  // each node has room for one or two workers, and all are in one zone
  const zones = [...shown.matchAll(/^nodeclaim\S+ +\S+ +\S+ +(\S+) /gm)].map(([, zone]) => zone);
  expect(zones.length).toBeGreaterThanOrEqual(WORKERS / 2);
  expect(new Set(zones).size).toBe(1);
}, 600_000);
