/** The far side of the laboratory's thread: holds a copy of the cluster, and makes experiments on it. */
import { parentPort } from 'node:worker_threads';
import type { Evaluation } from '../../engine/disruption/balance.ts';
import { described } from '../../engine/disruption/candidates.ts';
import { Experiments } from '../../engine/disruption/experiments.ts';
import type { Deliberation, Findings } from '../../engine/disruption/method.ts';
import { methodsOf } from '../../engine/disruption/review.ts';
import type { SimulationOptions } from '../../engine/disruption/simulation.ts';
import type { Snapshot } from '../../engine/model.ts';
import { countGc } from '../../observe/gc-seconds.ts';
import type { HoldMessage } from '../enginemessages.ts';
import { answer, HeldCluster, working } from '../engineworker.ts';
import type {
  Backdrop,
  EvaluationInWords,
  FindingsInWords,
  Message,
  Question,
  SimulationInWords,
} from './labmessages.ts';

countGc('laboratory');
const cluster = new HeldCluster();
let scene: { readonly snapshot: Snapshot; readonly experiments: Experiments } | undefined;

function setScene({ frame, nodePools, solve, untouched }: Backdrop): void {
  const snapshot = cluster.snapshot(frame);
  const options = { nodePools, untouched, solve: { ...solve, elapsedMs: () => performance.now(), working } };
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
  const pools = new Map(cluster.withTypes(question.pools).map((pool) => [pool.nodePool.metadata.name, pool]));
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

const evaluationInWords = ({ nodePool, ...evaluation }: Evaluation): EvaluationInWords => ({
  ...evaluation,
  nodePool: nodePool.metadata.name,
});

function inWords({ commands, notes, evaluations = [], weighed, ...rest }: Findings): FindingsInWords {
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
    evaluations: evaluations.map(evaluationInWords),
    ...(weighed && { weighed: weighed.map(evaluationInWords) }),
  };
}

function simulate(gone: readonly string[], options: SimulationOptions): SimulationInWords | undefined {
  const found = sceneNow().experiments.without(gone, options);
  if (found === undefined) return undefined;
  const { pools: _, ...simulation } = found;
  return simulation;
}

parentPort?.on('message', (message: HoldMessage | Message) => {
  switch (message.kind) {
    case 'scene':
      return setScene(message.backdrop);
    case 'simulate':
      return void answer(message.job, () => ({ simulation: simulate(message.gone, message.options) }));
    case 'decide':
      return void answer(message.job, async () => ({ findings: inWords(await decide(message.question)) }));
    default:
      return cluster.receive(message);
  }
});
