import { execFileSync } from 'node:child_process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { silent } from '#observe/logger';
import { collectFully } from '../../../src/process/full-collection.ts';
import { returnMemory } from '../../../src/process/memory-return.ts';
import { timeline } from '../../support/timeline.ts';

const MIB = 2 ** 20;
const MINUTE_MS = 60_000;
/** Waits until the worker has responded and the next check is scheduled. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn++) await nextTurn();
};

/** Simulates a process that keeps 200 MiB and grows by `mibPerMinute`. `pass` returns the collections of some minutes. */
function played(mibPerMinute: number) {
  const clock = timeline(0);
  const collected: string[] = [];
  let mib = 240;
  const worker = {
    isIdle: true,
    giveBack: async () => {
      await nextTurn();
      collected.push(`worker at ${clock.now() / MINUTE_MS}`);
      mib = 200;
    },
  };
  const collect = (): void => void collected.push(`main at ${clock.now() / MINUTE_MS}`);
  returnMemory({ clock, log: silent, residentBytes: () => mib * MIB, workers: [worker], collect });
  const pass = async (minutes: number): Promise<readonly string[]> => {
    const before = collected.length;
    for (let minute = 0; minute < minutes; minute++) {
      await clock.advance(MINUTE_MS, settle);
      mib += mibPerMinute;
    }
    return collected.slice(before);
  };
  return { pass, worker };
}

describe('returnMemory', () => {
  it('collects after ten minutes, first in this thread and then in workers, and at most every half an hour', async () => {
    const { pass } = played(5);
    expect(await pass(9)).toEqual([]);
    expect(await pass(1)).toEqual(['main at 10', 'worker at 10']);
    expect(await pass(29)).toEqual([]);
    expect(await pass(31)).toEqual(['main at 40', 'worker at 40', 'main at 70', 'worker at 70']);
  });

  it('collects only if the process has grown by 16 MiB since the last collection', async () => {
    const { pass } = played(0.25);
    expect(await pass(10)).toHaveLength(2);
    expect(await pass(63)).toEqual([]);
    expect(await pass(10)).toEqual(['main at 80', 'worker at 80']);
  });

  it('collects at the next check if a collection fails', async () => {
    const { pass, worker } = played(5);
    const { giveBack } = worker;
    worker.giveBack = () => Promise.reject(new Error('no such thread'));
    expect(await pass(10)).toEqual(['main at 10']);
    worker.giveBack = giveBack;
    expect(await pass(10)).toEqual(['main at 20', 'worker at 20']);
  });

  it('does not collect while a worker is busy', async () => {
    const { pass, worker } = played(5);
    worker.isIdle = false;
    expect(await pass(25)).toEqual([]);
    worker.isIdle = true;
    expect(await pass(10)).toEqual(['main at 30', 'worker at 30']);
  });
});

describe('collectFully', () => {
  it('returns emptied pages to the system, unlike other collections', () => {
    const { before, usual, full } = JSON.parse(
      execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', SCRIPT], {
        encoding: 'utf8',
        env: { PATH: process.env.PATH },
      }),
    );
    expect(usual).toBeGreaterThan(before - 20);
    expect(full).toBeLessThan(usual - 40);
  });

  it('does nothing if the heap is large', () => {
    expect(collectFully(MIB)).toBeUndefined();
    expect(collectFully(Number.MAX_SAFE_INTEGER)).toBeGreaterThan(0);
  });
});

/** Prints the resident MiB of a process with 60 MiB of objects, without them, and after a full collection. */
const SCRIPT = `
import { collectFully } from '${new URL('../../../src/process/full-collection.ts', import.meta.url)}';
const mib = () => process.memoryUsage.rss() / 2 ** 20;
let objects = Array.from({ length: 1_000_000 }, (_, at) => ({ at, inner: { at } }));
const before = mib();
objects = undefined;
gc();
await new Promise((resolve) => setTimeout(resolve, 200));
const usual = mib();
collectFully();
console.log(JSON.stringify({ before, usual, full: mib() }));
`;
