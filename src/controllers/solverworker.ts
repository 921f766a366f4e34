/** The far side of the solver in a thread of its own: holds a copy of the cluster, solves, answers the plan. */
import { parentPort } from 'node:worker_threads';
import type { InstanceType, Snapshot } from '../engine/model.ts';
import { solve } from '../engine/solve.ts';
import { HeldLists } from './copies.ts';
import { type Answer, COPIED, type CopiedName, type Message, type SolveRequest } from './solvermessages.ts';

const lists = new HeldLists();
/** Instance types by the id that the near side gave them: compiled once, used by many solves. */
const typeSets = new Map<number, readonly InstanceType[]>();

function answer({ job, rest, pools, options }: SolveRequest): Answer {
  const startedMs = performance.now();
  try {
    // what was put under a name has the type of its list
    const held = Object.fromEntries(COPIED.map((name) => [name, lists.items(name)])) as object;
    const snapshot: Snapshot = {
      ...rest,
      ...(held as Pick<Snapshot, CopiedName>),
      pools: pools.map(({ nodePool, types }) => ({ nodePool, instanceTypes: typeSets.get(types) ?? [] })),
    };
    return { job, plan: solve(snapshot, { ...options, elapsedMs: () => performance.now() - startedMs }) };
  } catch (error) {
    return { job, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

parentPort?.on('message', (message: Message) => {
  switch (message.kind) {
    case 'put':
    case 'drop':
      lists.receive(message);
      break;
    case 'types':
      typeSets.set(message.id, message.types);
      break;
    case 'forget':
      typeSets.delete(message.id);
      break;
    case 'solve':
      parentPort?.postMessage(answer(message));
      break;
  }
});
