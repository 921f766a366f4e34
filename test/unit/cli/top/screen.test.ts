/** The terminal of `karpenter top`, with the streams of a terminal that this test controls. */
import { PassThrough } from 'node:stream';
import { expect, it } from '@jest/globals';
import type { TopState } from '../../../../src/cli/top/choices.ts';
import { showScreen } from '../../../../src/cli/top/screen.ts';

const STATE: TopState = {
  summary: {
    clusterName: 'prod',
    atMs: Date.parse('2026-06-01T12:00:00Z'),
    isLeading: true,
    nodes: 1,
    pods: 0,
    pendingPods: 0,
    usdPerHour: 0,
    surplusCreditsUsdPerHour: 0,
    usdPerMonth: 0,
    idleUsdPerMonth: 0,
    requested: { cpu: 0, memory: 0 },
    spotShare: 0,
    unpriced: 1,
  },
  nodes: [
    {
      name: 'a.internal',
      nodePool: 'evil\u001b[2Jname',
      instanceType: 'm6g.large',
      zone: '',
      capacityType: 'spot',
      createdMs: 0,
      state: 'starting',
      pods: 0,
      shares: {},
      blocks: [],
      labels: {},
    },
  ],
  pending: [],
  decisions: [],
  costs: [],
};

it('draws on a screen of its own, follows keys, and restores the screen at the end', async () => {
  const written: string[] = [];
  const stdout = Object.assign(new PassThrough(), { columns: 100, rows: 20, isTTY: true });
  stdout.on('data', (chunk) => written.push(String(chunk)));
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: () => stdin,
    ref: () => stdin,
    unref: () => stdin,
  });
  const seen = async (text: string): Promise<void> => {
    while (!written.join('').includes(text)) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  const shown = showScreen({ state: () => STATE, verdictOf: () => undefined, problem: () => undefined }, {
    stdin,
    stdout,
  } as never);
  await seen('m6g.large');
  stdin.write('s');
  await seen('s: sort (cpu)');
  stdin.write('q');
  await shown;
  const output = written.join('');
  expect(output.indexOf('\u001b[?1049h')).toBe(output.indexOf('\u001b[?1049'));
  expect(output).toContain('\u001b[?1049l');
  // control characters of names are text
  expect(output).toContain('evil\\u001b[2Jname');
  expect(output).not.toContain('\u001b[2Jname');
});
