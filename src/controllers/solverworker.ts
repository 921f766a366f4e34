/** The far side of the solver in a thread of its own: collects the parts of a snapshot, solves, answers the plan. */
import { parentPort } from 'node:worker_threads';
import type { InstanceType, Snapshot } from '../engine/model.ts';
import { solve } from '../engine/solve.ts';
import type { Answer, Part, SolveRequest } from './solvermessages.ts';

interface Draft {
  readonly pendingPods: Snapshot['pendingPods'][number][];
  readonly nodes: Snapshot['nodes'][number][];
}

const drafts = new Map<number, Draft>();
/** Instance types by the id that the near side gave them: compiled once, used by many solves. */
const typeSets = new Map<number, readonly InstanceType[]>();

function draftOf(job: number): Draft {
  const draft = drafts.get(job) ?? { pendingPods: [], nodes: [] };
  drafts.set(job, draft);
  return draft;
}

function answer({ job, rest, pools, options }: SolveRequest): Answer {
  const draft = draftOf(job);
  drafts.delete(job);
  const startedMs = performance.now();
  try {
    const snapshot: Snapshot = {
      ...rest,
      ...draft,
      pools: pools.map(({ nodePool, types }) => ({ nodePool, instanceTypes: typeSets.get(types) ?? [] })),
    };
    return { job, plan: solve(snapshot, { ...options, elapsedMs: () => performance.now() - startedMs }) };
  } catch (error) {
    return { job, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

parentPort?.on('message', (part: Part) => {
  switch (part.kind) {
    case 'pods':
      draftOf(part.job).pendingPods.push(...part.pods);
      break;
    case 'nodes':
      draftOf(part.job).nodes.push(...part.nodes);
      break;
    case 'types':
      typeSets.set(part.id, part.types);
      break;
    case 'forget':
      typeSets.delete(part.id);
      break;
    case 'solve':
      parentPort?.postMessage(answer(part));
      break;
  }
});
