import { beforeEach, describe, expect, it } from '@jest/globals';
import { Start } from '../../../src/process/start.ts';
import { type Line, recordingLog } from '../kube/fakes.ts';
import { type VirtualClock, virtualClock } from '../virtualclock.ts';

const MINUTE = 60_000;

let clock: VirtualClock;
let interrupt: AbortController;
let start: Start;
beforeEach(() => {
  clock = virtualClock();
  interrupt = new AbortController();
  start = new Start(clock, interrupt.signal);
});

const never = (): Promise<never> => new Promise(() => undefined);

describe('a start', () => {
  it('returns the result of its work', async () => {
    expect(await start.unlessAborted(Promise.resolve(7))).toBe(7);
    await expect(start.unlessAborted(Promise.reject(new Error('x')))).rejects.toThrow('x');
  });

  it('ends if it is interrupted while it waits', async () => {
    const work = start.unlessAborted(never());
    interrupt.abort(new Error('SIGTERM'));
    await expect(work).rejects.toThrow('SIGTERM');
    await expect(start.unlessAborted(never())).rejects.toThrow('SIGTERM');
  });

  it('ignores a failure of work that continues after the interrupt', async () => {
    const { promise, reject } = Promise.withResolvers<never>();
    const work = start.unlessAborted(promise);
    interrupt.abort(new Error('SIGTERM'));
    await expect(work).rejects.toThrow('SIGTERM');
    reject(new Error('an unhandled rejection would fail this test'));
    await clock.settle();
  });

  it('fails after ten minutes', async () => {
    const work = start.unlessAborted(never());
    const failed = expect(work).rejects.toMatchObject({
      message: 'the start did not complete in time',
      remedy: expect.any(String),
    });
    await clock.advance(10 * MINUTE - 1);
    expect(start.signal.aborted).toBe(false);
    await clock.advance(1);
    await failed;
  });

  it('leaves no timer behind when it ends', async () => {
    start.end();
    expect(clock.waiting).toBe(0);
  });
});

describe('the report of a start', () => {
  let lines: readonly Line[];
  let waiting: readonly string[];
  let until: AbortController;
  let report: Promise<void>;
  beforeEach(() => {
    const recording = recordingLog();
    lines = recording.lines;
    waiting = ['EC2'];
    until = new AbortController();
    report = start.report({ waitingFor: async () => waiting, log: recording.log, until: until.signal });
  });

  it('names the remaining work every ten seconds until the start is complete', async () => {
    await clock.advance(9_999);
    expect(lines).toEqual([]);
    await clock.advance(20_001);
    const line = (after: string) => ({
      level: 'info',
      message: 'waiting for the start to complete',
      fields: { 'waiting-for': ['EC2'], after },
    });
    expect(lines).toEqual([line('10s'), line('20s'), line('30s')]);
    waiting = [];
    await clock.advance(MINUTE);
    await report;
    expect(lines.slice(3)).toEqual([{ level: 'info', message: 'the start is complete', fields: { after: '40s' } }]);
  });

  it('is not logged if the start is quick', async () => {
    waiting = [];
    await clock.advance(MINUTE);
    await report;
    expect(lines).toEqual([]);
  });

  it.each(['interrupted', 'closed'])('ends when the start is %s', async (how) => {
    (how === 'closed' ? until : interrupt).abort();
    await report;
    await clock.advance(MINUTE);
    expect(lines).toEqual([]);
  });
});
