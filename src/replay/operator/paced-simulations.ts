/** Minimum intervals between a replay's simulations of nodes whose pods have not changed. */
import type { Candidate } from '../../engine/disruption/command.ts';
import type { MethodInput, MethodResult } from '../../engine/disruption/method.ts';
import type { DeclineCode } from '../../engine/disruption/reasons.ts';
import { TriedSets } from '../../engine/disruption/tried-sets.ts';
import { localSimulationRunner, type SimulationRunner } from '../../engine-worker/simulation-runner.ts';
import { FEW_NODES } from './paced-memo.ts';

/** Interval in a cluster of many nodes. */
const KNOWN_FOR_MS = 30 * 60_000;

/** Reasons for which a node is not disrupted although a command was found. */
const WITH_COMMAND: ReadonlySet<DeclineCode | undefined> = new Set(['unbalanced', 'churn']);

/** Simulates like an operator without engine workers, but avoids repeated simulations in clusters of many nodes. */
export function pacedSimulations(now: () => number): SimulationRunner {
  const local = localSimulationRunner({ now });
  const tried = new TriedSets(KNOWN_FOR_MS);
  return {
    simulate: local.simulate,
    emptiable: local.emptiable,
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
  /** Input that skips the simulation of nodes that were already tried. */
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
