/** The five commands of docs/dra.md, from a claim template to a running pod in the local cluster, with the real kubectl. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Guide, startGuide } from './harness/guide.ts';

let guide: Guide;

beforeAll(async () => {
  guide = await startGuide('docs/dra.md', 'Try it on a laptop');
}, 300_000);
afterAll(async () => {
  await guide?.stop();
}, 60_000);

it('leads from a claim template to a running pod', async () => {
  const { commands, shell, shows } = guide;
  expect(commands).toHaveLength(3);
  const [drivers = '', workload = '', show = ''] = commands;
  expect(await shell(drivers)).toContain('deviceclass.resource.k8s.io/gpu.nvidia.com created');
  expect(await shell(workload)).toContain('resourceclaimtemplate.resource.k8s.io/one-gpu created');
  const shown = await shows(show, /^pod\/inference-\S+ +1\/1 +Running/m);
  expect(shown).toMatch(/^resourceclaim\S+\/inference-\S+ +allocated,reserved/m);
  expect(shown).toMatch(/^resourceslice\S+\/\S+ +\S+ +gpu\.nvidia\.com/m);
  expect(shown).toMatch(/^nodeclaim\S+\/gpu-\S+ +g\d/m);
}, 600_000);
