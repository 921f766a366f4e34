/** Minimum intervals between a replay's simulations of nodes whose pods have not changed. */
import type { Candidate } from '../../engine/disruption/command.ts';
import type { MethodInput, MethodResult } from '../../engine/disruption/method.ts';
import type { DeclineCode } from '../../engine/disruption/reasons.ts';
import { TriedSets } from '../../engine/disruption/tried-sets.ts';
import { localSimulationRunner, type SimulationRunner } from '../../engine-worker/simulation-runner.ts';
import { FEW_NODES } from './paced-memo.ts';

/** Interval in a cluster of many nodes. */
const KNOWN_FOR_MS = 30 * 60_000;

/** Reasons why a node stays although a command was found for it. */
const WITH_COMMAND: ReadonlySet<DeclineCode | undefined> = new Set(['unbalanced', 'churn']);

/** Simulates as an operator without engine workers does, but spares clusters of many nodes repeated simulations. */
export function pacedSimulations(now: () => number): SimulationRunner {
  const local = localSimulationRunner({ now });
  const tried = new TriedSets(KNOWN_FOR_MS);
  return {
    simulate: local.simulate,
    decide: async (input, method, methodInput, signal) => {
      if (input.snapshot.nodes.length <= FEW_NODES) return local.decide(input, method, methodInput, signal);
      if (method.consolidationType !== 'single') return local.decide(input, method, { ...methodInput, tried }, signal);
      const asked = sparing(methodInput, tried);
      const result = await local.decide(input, method, asked.input, signal);
      for (const candidate of asked.simulated)
        if (!hasCommand(candidate, result)) tried.add([candidate], methodInput.nowMs);
      return result;
    },
  };
}

interface Sparing {
  /** Input that makes no simulation for a node that was tried. */
  readonly input: MethodInput;
  /** Nodes of the simulations that were made. */
  readonly simulated: readonly Candidate[];
}

function sparing(input: MethodInput, tried: TriedSets): Sparing {
  const simulated: Candidate[] = [];
  const simulate: MethodInput['simulate'] = async (candidates, options) => {
    if (tried.has(candidates, input.nowMs)) return undefined;
    simulated.push(...candidates);
    return input.simulate(candidates, options);
  };
  return { input: { ...input, simulate }, simulated };
}

const hasCommand = (candidate: Candidate, { commands, reasons }: MethodResult): boolean =>
  commands.some(({ candidates }) => candidates.includes(candidate)) ||
  WITH_COMMAND.has(reasons?.get(candidate.providerId)?.code);
