import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type TurnTaker, WorkerTurns } from '../../../src/engine-worker/worker-turns.ts';
import { type VirtualClock, virtualClock } from '../virtualclock.ts';

/** Worker whose requests last until a test ends them, or until the other worker ends its thread. */
class FakeWorker implements TurnTaker {
  hasThread = false;
  /** Number of threads that were ended for the other worker. */
  ended = 0;
  readonly name: string;
  readonly isUrgent: boolean;
  readonly turns: WorkerTurns;
  readonly running = new Set<() => void>();

  constructor(name: string, { isUrgent, turns }: { readonly isUrgent: boolean; readonly turns: WorkerTurns }) {
    this.name = name;
    this.isUrgent = isUrgent;
    this.turns = turns;
    turns.join(this);
  }

  async request(): Promise<void> {
    const end = await this.turns.begin(this);
    this.hasThread = true;
    await new Promise<void>((resolve) => this.running.add(resolve));
    end();
  }

  finish(): void {
    for (const resolve of this.running) resolve();
    this.running.clear();
  }

  async endThread(): Promise<void> {
    this.hasThread = false;
    this.ended += 1;
    this.finish();
  }
}

type Step = 'solve' | 'search' | 'solved' | 'searched' | 'wait';

/** Plays the steps, and checks after each that at most one worker exists. Then waits until every request has ended. */
async function playTurns(steps: readonly Step[]): Promise<void> {
  const clock = virtualClock();
  const turns = new WorkerTurns(clock, () => true);
  const solver = new FakeWorker('solver', { isUrgent: true, turns });
  const disruption = new FakeWorker('disruption', { isUrgent: false, turns });
  const requests: Promise<void>[] = [];
  const actions: Readonly<Record<Step, () => unknown>> = {
    solve: () => requests.push(solver.request()),
    search: () => requests.push(disruption.request()),
    solved: () => solver.finish(),
    searched: () => disruption.finish(),
    wait: () => undefined,
  };
  for (const step of steps) {
    actions[step]();
    await clock.advance(step === 'wait' ? 10_000 : 0);
    expect(solver.hasThread && disruption.hasThread).toBe(false);
    expect(solver.running.size > 0 && disruption.running.size > 0).toBe(false);
  }
  for (let left = 0; left < requests.length; left++) {
    solver.finish();
    disruption.finish();
    await clock.advance(10_000);
  }
  await Promise.all(requests);
}

describe('the turn of an engine worker', () => {
  let clock: VirtualClock;
  let isShort: boolean;
  let solver: FakeWorker;
  let disruption: FakeWorker;
  beforeEach(() => {
    clock = virtualClock();
    isShort = true;
    const turns = new WorkerTurns(clock, () => isShort);
    solver = new FakeWorker('solver', { isUrgent: true, turns });
    disruption = new FakeWorker('disruption', { isUrgent: false, turns });
  });
  const busy = (): readonly number[] => [solver.running.size, disruption.running.size];

  it('lets both workers run while memory is sufficient', async () => {
    isShort = false;
    void solver.request();
    void disruption.request();
    await clock.settle();
    expect(busy()).toEqual([1, 1]);
  });

  it('ends the idle thread of the other worker', async () => {
    void solver.request();
    await clock.settle();
    solver.finish();
    void disruption.request();
    await clock.settle();
    expect([solver.hasThread, disruption.hasThread]).toEqual([false, true]);
    expect(solver.ended).toBe(1);
  });

  it('lets several requests of one worker run', async () => {
    void solver.request();
    void solver.request();
    await clock.settle();
    expect(busy()).toEqual([2, 0]);
  });

  it('lets a search wait for solves, however long they take', async () => {
    void solver.request();
    await clock.settle();
    void disruption.request();
    await clock.advance(600_000);
    expect(busy()).toEqual([1, 0]);
    solver.finish();
    await clock.settle();
    expect(busy()).toEqual([0, 1]);
  });

  it('lets a solve wait for a search for ten seconds, and then ends the search', async () => {
    void disruption.request();
    await clock.settle();
    void solver.request();
    await clock.advance(9_900);
    expect(busy()).toEqual([0, 1]);
    await clock.advance(200);
    expect(busy()).toEqual([1, 0]);
    expect(disruption.ended).toBe(1);
  });

  it('does not let a further search overtake a waiting solve', async () => {
    void disruption.request();
    await clock.settle();
    void solver.request();
    void disruption.request();
    await clock.advance(1_000);
    disruption.finish();
    await clock.settle();
    expect(busy()).toEqual([1, 0]);
    solver.finish();
    await clock.settle();
    expect(busy()).toEqual([0, 1]);
  });

  it('never lets both workers exist, and lets every request run, in random order', async () => {
    const steps = fc.array(fc.constantFrom('solve', 'search', 'solved', 'searched', 'wait'), { maxLength: 20 });
    await fc.assert(fc.asyncProperty(steps, playTurns), { numRuns: 50 });
  });
});
