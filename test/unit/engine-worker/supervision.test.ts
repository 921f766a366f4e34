/** Reactions to an engine worker that hangs or exits. The tests run a worker that does so on demand. */
import { BroadcastChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it } from '@jest/globals';
import { POD } from '#api/objects';
import type { Snapshot, SolveOptions } from '#engine/model';
import type { Clock } from '#lib/clock';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { WorkerSolver } from '../../../src/engine-worker/engine-worker.ts';
import { boardWriter, newBoard, podOnBoard } from '../../../src/engine-worker/progress-board.ts';
import { GIVEN_UP, Supervision, Suspects } from '../../../src/engine-worker/supervision.ts';
import { EngineWorkerEnd } from '../../../src/engine-worker/watchdog.ts';
import { World } from '../controllers/harness.ts';

const OPTIONS: SolveOptions = {
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
  reservedMode: 'off',
  ignoreDraRequests: true,
  deadlineMs: 60_000,
};

/** Worker that returns an empty plan, unless the name of a pod requests that it hang or throw an error. */
const WORKER = `
  import { BroadcastChannel, parentPort, workerData } from 'node:worker_threads';
  const names = new Set();
  const write = (text) => {
    for (let at = 0; at < text.length; at++) new Uint8Array(workerData.board, 4)[at] = text.charCodeAt(at);
    Atomics.store(new Int32Array(workerData.board, 0, 1), 0, text.length);
  };
  parentPort.on('message', (message) => {
    if (message.kind === 'put' && message.list === 'pendingPods')
      for (const [, pod] of message.items) names.add(pod.metadata.name);
    if (message.kind !== 'solve') return;
    for (const name of names) {
      write('default/' + name);
      if (name.startsWith('hang')) {
        new BroadcastChannel('hanging').postMessage(name);
        for (;;);
      }
      if (name.startsWith('throw')) throw new Error('lost');
    }
    const plan = { claims: [], placements: [], refusals: new Map(), notEvaluated: [], emptyPools: [] };
    parentPort.postMessage({ job: message.job, result: plan });
  });
`;
const url = new URL(`data:text/javascript,${encodeURIComponent(WORKER)}`);

/** Clock that advances only when the test advances it. */
class Hands implements Clock {
  #nowMs = 0;
  readonly #timers = new Set<{ readonly dueMs: number; readonly fire: () => void }>();

  now = (): number => this.#nowMs;
  after(ms: number, fire: () => void): () => void {
    const timer = { dueMs: this.#nowMs + ms, fire };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }
  sleep = async (ms: number): Promise<void> => {
    this.#nowMs += ms;
  };
  advance(ms: number): void {
    this.#nowMs += ms;
    for (const timer of this.#timers) {
      if (timer.dueMs > this.#nowMs) continue;
      this.#timers.delete(timer);
      timer.fire();
    }
  }
}

function snapshotOf(...names: readonly string[]): Snapshot {
  const world = new World();
  for (const [at, name] of names.entries()) world.pending(1, `${at + 1}00m`, name);
  const pendingPods = world.kube
    .all(POD)
    .map((pod) => ({ ...pod, metadata: { ...pod.metadata, uid: pod.metadata.name } }));
  return {
    nowMs: 0,
    pools: [],
    nodes: [],
    pendingPods,
    daemonPods: [],
    namespaces: [],
    podDisruptionBudgets: [],
    persistentVolumeClaims: [],
    persistentVolumes: [],
    storageClasses: [],
  };
}

describe('an engine worker', () => {
  const clock = new Hands();
  let solver: WorkerSolver | undefined;
  afterEach(() => solver?.close());

  /**
   * Advances the clock past the deadline of the request whenever a worker hangs. Returns the total time of the work.
   */
  async function played<T>(work: Promise<T>): Promise<{ readonly answer: T; readonly tookMs: number }> {
    const startedMs = clock.now();
    const channel = new BroadcastChannel('hanging');
    channel.onmessage = () => clock.advance(90_000);
    try {
      return { answer: await work, tookMs: clock.now() - startedMs };
    } finally {
      channel.close();
    }
  }

  it('is terminated if it hangs, and its successor refuses the pod that it was evaluating', async () => {
    const metrics = createMetrics();
    const logged: string[] = [];
    solver = new WorkerSolver({ clock, url });
    solver.solve.reportTo?.({ metrics, log: { ...silent, error: (text) => void logged.push(text) } });
    const snapshot = snapshotOf('app', 'hang');
    const { answer: plan, tookMs } = await played(solver.solve(snapshot, OPTIONS));
    const key = [...plan.refusals.keys()];
    expect(key).toEqual([expect.stringContaining('default/hang')]);
    expect([...plan.refusals.values()][0]?.text).toContain('the solver worker ended, probably because of this pod');
    // the deadline with its margin, and the pause before the next worker starts
    expect(tookMs).toBe(91_000);
    expect(logged).toEqual(['an engine worker ended, starting a new one']);
    expect(await metrics.text()).toContain('karpenter_engine_worker_restarts_total{worker="solver",reason="hung"} 1');
    // the next solve skips the pod as well, and therefore takes no time for it
    expect((await played(solver.solve(snapshot, OPTIONS))).tookMs).toBe(0);
  });

  it('is replaced if it exits, and its successor skips the pod', async () => {
    solver = new WorkerSolver({ clock, url });
    const { answer: plan } = await played(solver.solve(snapshotOf('app', 'throw'), OPTIONS));
    expect([...plan.refusals.keys()]).toEqual([expect.stringContaining('default/throw')]);
  });
});

describe('supervision', () => {
  const died = (reason: 'hung' | 'out-of-memory', pod?: string): EngineWorkerEnd =>
    new EngineWorkerEnd('solver', reason, { text: 'ended', pod });
  const tolerations = Array.from({ length: 2_000 }, (_, at) => ({ key: `k${at}`, operator: 'Exists' as const }));
  const light = snapshotOf('a').pendingPods[0];
  if (light === undefined) throw new Error('there is no pod');
  const heavy = [1, 2, 3, 4, 5, 6].map((part) => ({
    ...light,
    metadata: { ...light.metadata, name: `heavy-${part}`, uid: `heavy-${part}` },
    spec: { ...light.spec, tolerations: tolerations.slice(part) },
  }));
  const pods = [light, ...heavy];
  const lightKey = `${light.metadata.namespace}/${light.metadata.name}`;

  it('suspects heavy pods after an out-of-memory exit, twice as many each time, but not the light pod under evaluation', () => {
    const suspects = new Suspects(new Hands());
    const supervision = new Supervision(new Hands(), suspects);
    const held: number[] = [];
    for (let ends = 0; ends < 3; ends++) {
      supervision.died(died('out-of-memory', lightKey), pods, 'solve');
      held.push(suspects.among(pods).size);
    }
    expect(held).toEqual([0, 1, 4]);
    expect(suspects.among([light]).size).toBe(0);
  });

  it('suspects the pod on which a worker hangs, regardless of its size', () => {
    const suspects = new Suspects(new Hands());
    new Supervision(new Hands(), suspects).died(died('hung', lightKey), pods, 'solve');
    expect([...suspects.among(pods).keys()]).toEqual([lightKey]);
  });

  it('doubles its pause after each exit, up to one minute, until a worker returns a result', async () => {
    const pauses: number[] = [];
    const clock = new Hands();
    const supervision = new Supervision(
      Object.assign(clock, { sleep: async (ms: number) => void pauses.push(ms) }),
      new Suspects(clock),
    );
    for (let ends = 0; ends < 8; ends++) {
      supervision.died(died('hung'), [], 'solve');
      await supervision.pause();
    }
    supervision.answered('solve');
    await supervision.pause();
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  it('counts worker exits per request, regardless of the results of other requests', () => {
    const suspects = new Suspects(new Hands());
    const supervision = new Supervision(new Hands(), suspects);
    for (let ends = 0; ends < 2; ends++) {
      supervision.died(died('out-of-memory'), pods, 'multi-node consolidation');
      supervision.answered('drift');
    }
    expect(suspects.among(pods).size).toBe(1);
    supervision.answered('multi-node consolidation');
    supervision.died(died('out-of-memory'), pods, 'multi-node consolidation');
    expect(suspects.among(pods).size).toBe(1);
  });
});

describe('a worker that exits repeatedly', () => {
  const clock = new Hands();
  const logged: string[] = [];
  const reports = { metrics: createMetrics(), log: { ...silent, error: (text: string) => void logged.push(text) } };
  const failing = 'engine workers repeatedly ended, failing /healthz to restart the container';
  afterEach(() => void logged.splice(0));

  const supervised = (): Supervision => {
    const supervision = new Supervision(clock, new Suspects(clock));
    supervision.reportTo(reports);
    return supervision;
  };
  const hung = (pod?: string): EngineWorkerEnd => new EngineWorkerEnd('solver', 'hung', { text: 'is ended', pod });

  it('fails the health check after ten exits in ten minutes, logs this once, and recovers with a result', () => {
    const supervision = supervised();
    const die = (ms: number): void => {
      clock.advance(ms);
      supervision.died(hung(), [], 'solve');
    };
    for (let ends = 0; ends < GIVEN_UP.ends; ends++) die(60_000);
    supervision.check();
    die(60_000);
    expect(() => supervision.check()).toThrow(
      '11 solver workers in a row ended without a result, the first 10m0s ago; no pod is left to skip: The solver worker is ended',
    );
    die(60_000);
    expect(logged.filter((text) => text === failing)).toHaveLength(1);
    supervision.answered('solve');
    supervision.check();
    die(60_000);
    supervision.check();
  });

  it('does not fail the health check after many exits in quick succession', () => {
    const supervision = supervised();
    for (let ends = 0; ends < 50; ends++) supervision.died(hung(), [], 'solve');
    supervision.check();
  });

  it('does not fail the health check after a few exits with long intervals', () => {
    const supervision = supervised();
    for (let ends = 1; ends < GIVEN_UP.ends; ends++) {
      clock.advance(GIVEN_UP.spanMs);
      supervision.died(hung(), [], 'solve');
    }
    supervision.check();
  });

  it('does not fail the health check while there are suspected pods to skip', () => {
    const supervision = supervised();
    const [pod] = snapshotOf('a').pendingPods;
    if (pod === undefined) throw new Error('there is no pod');
    for (let at = 0; at < 100; at++) {
      const requests = { cpu: `${at + 1}m` };
      const poison = {
        ...pod,
        metadata: { ...pod.metadata, name: `poison-${at}` },
        spec: { ...pod.spec, containers: [{ name: 'c', resources: { requests } }] },
      };
      clock.advance(10_000);
      supervision.died(hung(`default/poison-${at}`), [poison], 'solve');
    }
    supervision.check();
    expect(logged).not.toContain(failing);
  });

  it.each([
    ['exits during its start', new URL('data:text/javascript,throw new Error("no room")'), 'ended: no room'],
    ['cannot be started', new URL('http://127.0.0.1/worker.js'), 'cannot be started: '],
  ])('fails the check of a solver whose worker %s', async (_, worker, text) => {
    const solver = new WorkerSolver({ clock, url: worker });
    const snapshot = snapshotOf('app');
    const limit = clock.now() + GIVEN_UP.spanMs + 120_000;
    while (clock.now() < limit) await expect(solver.solve(snapshot, OPTIONS)).rejects.toThrow(text);
    expect(() => solver.solve.check?.()).toThrow(text);
    await solver.close();
  });
});

describe('the progress board', () => {
  it('shows the pod under evaluation, truncated to the maximum length of names', () => {
    const board = newBoard();
    const writer = boardWriter(board);
    if (light === undefined) throw new Error('there is no pod');
    expect(podOnBoard(board)).toBeUndefined();
    writer.working(light);
    expect(podOnBoard(board)).toBe(`${light.metadata.namespace}/${light.metadata.name}`);
    writer.working({ ...light, metadata: { ...light.metadata, name: 'n'.repeat(400) } });
    expect(podOnBoard(board)).toHaveLength(320);
    writer.idle();
    expect(podOnBoard(board)).toBeUndefined();
  });
  const [light] = snapshotOf('b').pendingPods;
});
