import { execFileSync } from 'node:child_process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { silent } from '../../../src/observe/logger.ts';
import { collectFully } from '../../../src/process/full-collection.ts';
import { returnMemory } from '../../../src/process/memory-return.ts';
import { timeline } from '../../support/timeline.ts';

const MIB = 2 ** 20;
const MINUTE_MS = 60_000;
/** Until the worker has answered, and the next look is arranged. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn++) await nextTurn();
};

/** What is collected, minute by minute, in a process that grows by so much in each and keeps 200 MiB. */
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

describe('memory is given back', () => {
  it('ten minutes after the start, by this thread and then the others, and at most every half an hour', async () => {
    const { pass } = played(5);
    expect(await pass(9)).toEqual([]);
    expect(await pass(1)).toEqual(['main at 10', 'worker at 10']);
    expect(await pass(29)).toEqual([]);
    expect(await pass(31)).toEqual(['main at 40', 'worker at 40', 'main at 70', 'worker at 70']);
  });

  it('only when the process has grown by 16 MiB since', async () => {
    const { pass } = played(0.25);
    expect(await pass(10)).toHaveLength(2);
    expect(await pass(63)).toEqual([]);
    expect(await pass(10)).toEqual(['main at 80', 'worker at 80']);
  });

  it('at the next look where a collection fails', async () => {
    const { pass, worker } = played(5);
    const { giveBack } = worker;
    worker.giveBack = () => Promise.reject(new Error('no such thread'));
    expect(await pass(10)).toEqual(['main at 10']);
    worker.giveBack = giveBack;
    expect(await pass(10)).toEqual(['main at 20', 'worker at 20']);
  });

  it('not while a worker works', async () => {
    const { pass, worker } = played(5);
    worker.isIdle = false;
    expect(await pass(25)).toEqual([]);
    worker.isIdle = true;
    expect(await pass(10)).toEqual(['main at 30', 'worker at 30']);
  });
});

describe('a collection', () => {
  it('gives pages back to the system that V8 has emptied, which others leave to V8', () => {
    const { before, usual, full } = JSON.parse(
      execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', SCRIPT], {
        encoding: 'utf8',
        env: { PATH: process.env.PATH },
      }),
    );
    expect(usual).toBeGreaterThan(before - 20);
    expect(full).toBeLessThan(usual - 40);
  });

  it('is left to V8 where the heap is large', () => {
    expect(collectFully(MIB)).toBeUndefined();
    expect(collectFully(Number.MAX_SAFE_INTEGER)).toBeGreaterThan(0);
  });
});

/** MiB that the process has in memory, with 60 MiB of objects and without them. */
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
