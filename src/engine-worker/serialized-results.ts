/** Input and result of a disruption method in the form that is sent to and from a worker. The worker's objects are copies. */

import type { NodePool } from '#api/objects';
import type { Candidate, Evaluation, Method, MethodInput, MethodResult } from '#engine/disruption';
import { defined } from '#lib';
import type { DecideRequest, NumberedPool, SerializedEvaluation, SerializedMethodResult } from './protocol.ts';

export function decideRequest(method: Method, input: MethodInput, pools: readonly NumberedPool[]): DecideRequest {
  const { nowMs, budgets, totals, forecasts, spotToSpot, consolidation, unseenPools, claims } = input;
  const candidates = input.candidates.map(({ providerId }) => providerId);
  const settings = { spotToSpot, consolidation, unseenPools };
  const gangs = new Map(
    [...(input.gangs ?? [])].map(([id, { text, candidates: nodes }]) => [
      id,
      { text, providerIds: nodes.map(({ providerId }) => providerId) },
    ]),
  );
  return { method: method.name, nowMs, candidates, budgets, totals, forecasts, gangs, pools, claims, ...settings };
}

const serializedEvaluation = ({ nodePool, ...evaluation }: Evaluation): SerializedEvaluation => ({
  ...evaluation,
  nodePool: nodePool.metadata.name,
});

export function serializedResult({
  commands,
  events,
  evaluations = [],
  weighed,
  ...rest
}: MethodResult): SerializedMethodResult {
  return {
    ...rest,
    commands: commands.map((command) => ({
      ...command,
      candidates: command.candidates.map(({ providerId }) => providerId),
    })),
    events: events.map(({ candidate, nodePool, ...event }) => ({
      ...event,
      ...defined({ candidate: candidate?.providerId, nodePool: nodePool?.metadata.name }),
    })),
    evaluations: evaluations.map(serializedEvaluation),
    ...defined({ weighed: weighed?.map(serializedEvaluation) }),
  };
}

/** Restores the candidates and NodePools of the input. @throws Error if the result refers to unknown candidates or NodePools */
export function deserializedResult(result: SerializedMethodResult, input: MethodInput): MethodResult {
  const { commands, events, evaluations, weighed, ...rest } = result;
  const ofGangs = [...(input.gangs?.values() ?? [])].flatMap(({ candidates }) => candidates);
  const byId = new Map([...ofGangs, ...input.candidates].map((candidate) => [candidate.providerId, candidate]));
  const candidateOf = (id: string): Candidate => {
    const candidate = byId.get(id);
    if (candidate === undefined)
      throw new Error(`The engine worker returned a result for "${id}", which is not a candidate`);
    return candidate;
  };
  const poolOf = (name: string): NodePool => {
    const pool = input.pools.get(name);
    if (pool === undefined)
      throw new Error(`The engine worker returned a result for NodePool "${name}", which is unknown`);
    return pool.nodePool;
  };
  const evaluationOf = ({ nodePool, ...evaluation }: SerializedEvaluation): Evaluation => ({
    ...evaluation,
    nodePool: poolOf(nodePool),
  });
  return {
    ...rest,
    commands: commands.map((command) => ({ ...command, candidates: command.candidates.map(candidateOf) })),
    events: events.map(({ candidate, nodePool, ...event }) => ({
      ...event,
      ...(candidate !== undefined && { candidate: candidateOf(candidate) }),
      ...(nodePool !== undefined && { nodePool: poolOf(nodePool) }),
    })),
    evaluations: evaluations.map(evaluationOf),
    ...defined({ weighed: weighed?.map(evaluationOf) }),
  };
}
