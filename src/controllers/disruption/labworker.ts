/** The far side of the laboratory's thread: holds a copy of the cluster, and makes experiments on it. */
import { parentPort } from 'node:worker_threads';
import { described } from '../../engine/disruption/candidates.ts';
import { Experiments } from '../../engine/disruption/experiments.ts';
import type { Deliberation, Findings } from '../../engine/disruption/method.ts';
import { methodsOf } from '../../engine/disruption/review.ts';
import type { InstanceType, PoolInput, Snapshot } from '../../engine/model.ts';
import { HeldLists } from '../copies.ts';
import type { Answer, Backdrop, FindingsInWords, ListName, Message, NumberedPool, Question } from './labmessages.ts';

const lists = new HeldLists();
const typeLists = new Map<number, readonly InstanceType[]>();
let scene: { readonly snapshot: Snapshot; readonly experiments: Experiments } | undefined;

const withTypes = (pools: readonly NumberedPool[]): readonly PoolInput[] =>
  pools.map(({ nodePool, types }) => ({ nodePool, instanceTypes: typeLists.get(types) ?? [] }));

function setScene({ rest, pools, nodePools, solve }: Backdrop): void {
  // what was put under a name has the type of that list
  const held = <Name extends ListName>(name: Name): Snapshot[Name] => lists.items(name) as unknown as Snapshot[Name];
  const snapshot: Snapshot = {
    ...rest,
    pools: withTypes(pools),
    nodes: held('nodes'),
    pendingPods: held('pendingPods'),
    daemonPods: held('daemonPods'),
    namespaces: held('namespaces'),
    podDisruptionBudgets: held('podDisruptionBudgets'),
    persistentVolumeClaims: held('persistentVolumeClaims'),
    persistentVolumes: held('persistentVolumes'),
    storageClasses: held('storageClasses'),
  };
  const options = { nodePools, solve: { ...solve, elapsedMs: () => performance.now() } };
  scene = { snapshot, experiments: new Experiments(snapshot, options) };
}

function sceneNow(): NonNullable<typeof scene> {
  if (scene === undefined) throw new Error('Cannot make an experiment: no scene has been set');
  return scene;
}

async function decide(question: Question): Promise<Findings> {
  const { snapshot, experiments } = sceneNow();
  const method = methodsOf(question.consolidation).find(({ name }) => name === question.method);
  if (method === undefined) throw new Error(`Cannot decide: there is no disruption method "${question.method}"`);
  const pools = new Map(withTypes(question.pools).map((pool) => [pool.nodePool.metadata.name, pool]));
  const wanted = new Set(question.candidates);
  const candidates = snapshot.nodes
    .filter(({ providerId }) => wanted.has(providerId))
    .flatMap((node) => described(node, pools, question.nowMs) ?? []);
  const startedMs = performance.now();
  const deliberation: Deliberation = {
    ...question,
    candidates,
    pools,
    simulate: async (gone, options) =>
      experiments.without(
        gone.map(({ providerId }) => providerId),
        options,
      ),
    elapsedMs: () => performance.now() - startedMs,
    refresh: async () => deliberation,
  };
  return method.decide(deliberation);
}

function inWords({ commands, notes, evaluations = [], ...rest }: Findings): FindingsInWords {
  return {
    ...rest,
    commands: commands.map((command) => ({
      ...command,
      candidates: command.candidates.map(({ providerId }) => providerId),
    })),
    notes: notes.map(({ candidate, nodePool, ...note }) => ({
      ...note,
      ...(candidate && { candidate: candidate.providerId }),
      ...(nodePool && { nodePool: nodePool.metadata.name }),
    })),
    evaluations: evaluations.map(({ nodePool, ...evaluation }) => ({
      ...evaluation,
      nodePool: nodePool.metadata.name,
    })),
  };
}

async function answer(job: number, work: () => Promise<Omit<Answer, 'job'>>): Promise<void> {
  try {
    parentPort?.postMessage({ job, ...(await work()) });
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    parentPort?.postMessage({ job, error: text } satisfies Answer);
  }
}

function receive(message: Message): void {
  switch (message.kind) {
    case 'put':
    case 'drop':
      lists.receive(message);
      break;
    case 'types':
      typeLists.set(message.id, message.types);
      break;
    case 'forget':
      typeLists.delete(message.id);
      break;
    case 'scene':
      setScene(message.backdrop);
      break;
    case 'simulate': {
      const { job, gone, options } = message;
      void answer(job, async () => {
        const found = sceneNow().experiments.without(gone, options);
        if (found === undefined) return { simulation: undefined };
        const { pools: _, ...simulation } = found;
        return { simulation };
      });
      break;
    }
    case 'decide': {
      const { job, question } = message;
      void answer(job, async () => ({ findings: inWords(await decide(question)) }));
      break;
    }
  }
}

parentPort?.on('message', receive);
