/** Runs `karpenter simulate --disruption` on a scenario and returns the decision as plain data. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '#api/objects';
import { disruptionOf, readCatalogue, reviewsOf, type SimulatedCommand, sceneOf, sceneOptions } from '#cli/testing';
import type { Scenario } from './scenario.ts';
import { NOW } from './time.ts';

export interface Decided extends SimulatedCommand {
  /** Pods that move to existing nodes, by the node's name. Undefined without a simulation. */
  readonly placements?: Readonly<Record<string, readonly string[]>>;
}

export interface MethodDecision {
  readonly method: string;
  /** Candidates of the method. */
  readonly candidates: readonly string[];
  /** Number of allowed disruptions of each NodePool. */
  readonly budgets: Readonly<Record<string, number>>;
  readonly commands: readonly Decided[];
}

export interface Decision {
  readonly first: string | undefined;
  readonly methods: readonly MethodDecision[];
}

export type Mode = 'compatible' | 'thorough';

export interface How {
  readonly consolidation: Mode;
  /** USD per hour. The default is 0, so that prices are those of instances alone. */
  readonly nodeHourlyFee?: number;
}

/** Evaluates every method separately. `folder` holds temporary files. */
export async function decide(
  scenario: Scenario,
  { consolidation, nodeHourlyFee = 0 }: How,
  folder: string,
): Promise<Decision> {
  const file = (name: string, content: object): string => {
    const path = join(folder, name);
    writeFileSync(path, JSON.stringify(content));
    return path;
  };
  const list: KubeObject & { readonly items: readonly KubeObject[] } = {
    apiVersion: 'v1',
    kind: 'List',
    metadata: { name: '' },
    items: scenario.objects,
  };
  const gates = { SpotToSpotConsolidation: scenario.spotToSpot, StaticCapacity: true };
  const flags = {
    filename: [file('objects.json', list)],
    // the worth of preferences has its own laws, and the judge compares prices
    options: file('options.json', { now: NOW, featureGates: gates, preferencePolicy: 'Respect' }),
    output: 'json' as const,
    consolidation,
    nodeHourlyFee,
  };
  const types = readCatalogue(file('types.json', { instanceTypes: scenario.types })).instanceTypes;
  const { pass, methods: enabled } = await sceneOf(sceneOptions(flags, async () => () => types));
  const reviews = await reviewsOf({ pass: { ...pass, elapsedMs: () => 0 }, methods: enabled }, true);
  const { first, methods = [] } = disruptionOf(reviews, { everyMethod: true, unknown: [] });
  const nodeNames = new Map(pass.nodes.map(({ providerId, name }) => [providerId, name]));
  return {
    first: first?.method,
    methods: methods.map(({ method, candidates, budgets, commands }, at) => ({
      method,
      candidates,
      budgets,
      commands: commands.map((command, each) => {
        const plan = reviews[at]?.result.commands[each]?.plan;
        if (plan === undefined) return command;
        const placed = plan.placements.map(({ providerId, pods }) => [nodeNames.get(providerId) ?? providerId, pods]);
        return { ...command, placements: Object.fromEntries(placed) as Decided['placements'] & object };
      }),
    })),
  };
}
