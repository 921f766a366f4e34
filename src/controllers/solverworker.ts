/** The far side of the solver in a thread of its own: solves, and answers the plan. */
import { parentPort } from 'node:worker_threads';
import { solve } from '../engine/solve.ts';
import { countGc } from '../observe/gc-seconds.ts';
import type { HoldMessage } from './enginemessages.ts';
import { answer, HeldCluster, working } from './engineworker.ts';
import type { SolveMessage } from './solvermessages.ts';

countGc('solver');
const cluster = new HeldCluster();

parentPort?.on('message', (message: HoldMessage | SolveMessage) => {
  if (message.kind !== 'solve') return cluster.receive(message);
  const startedMs = performance.now();
  const { job, frame, options } = message;
  void answer(job, () => ({
    plan: solve(cluster.snapshot(frame), { ...options, elapsedMs: () => performance.now() - startedMs, working }),
  }));
});
