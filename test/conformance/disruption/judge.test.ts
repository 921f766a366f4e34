/** The judge must detect invalid decisions. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decidingSavings } from '../outcomes.ts';
import { Facts } from './facts.ts';
import { problemsOf } from './judge.ts';
import { KINDS } from './kinds.ts';
import { type Decided, type Decision, decide, type MethodDecision } from './play.ts';
import { type Scenario, scenarioOf } from './scenario.ts';

interface Played {
  readonly scenario: Scenario;
  readonly facts: Facts;
  readonly decision: Decision;
}

const SINGLE = 'single-node-consolidation';
const MULTI = 'multi-node-consolidation';

const replacing = ({ commands }: MethodDecision): boolean => commands[0]?.decision === 'replace';
const deleting = ({ commands }: MethodDecision): boolean => commands[0]?.decision === 'delete';

const withCommand = (method: MethodDecision, change: (command: Decided) => Decided): MethodDecision => ({
  ...method,
  commands: method.commands.map(change),
});

type Replacement = Decided['replacements'][number];

const withReplacement = (method: MethodDecision, change: (replacement: Replacement) => Replacement): MethodDecision =>
  withCommand(method, (command) => ({ ...command, replacements: command.replacements.map(change) }));

const spotOf = ({ facts }: Played, { commands }: MethodDecision): boolean =>
  (commands[0]?.candidates ?? []).every((name) => facts.machine(name).labels['karpenter.sh/capacity-type'] === 'spot');

interface Lie {
  readonly what: string;
  /** Kind of the scenarios to try. */
  readonly kind: string;
  readonly method: string;
  /** Reports whether the decision can be falsified in this way. */
  readonly where: (method: MethodDecision, played: Played) => boolean;
  readonly told: (method: MethodDecision, played: Played) => MethodDecision;
  readonly seen: RegExp;
}

const LIES: readonly Lie[] = [
  {
    what: 'a candidate that is none',
    kind: 'empty',
    method: 'emptiness',
    where: (_, { facts }) => facts.machines.length > 1,
    told: (method, { facts }) => ({ ...method, candidates: facts.machines.map(({ name }) => name) }),
    seen: /emptiness: considers/,
  },
  {
    what: 'a budget that is larger than it is',
    kind: 'budgets',
    method: SINGLE,
    where: () => true,
    told: (method) => ({ ...method, budgets: { ...method.budgets, 'pool-0': 99 } }),
    seen: /99 of pool-0 may go/,
  },
  {
    what: 'an empty node that is kept',
    kind: 'empty',
    method: 'emptiness',
    where: deleting,
    told: (method) => ({ ...method, commands: [] }),
    seen: /emptiness: 0 commands/,
  },
  {
    what: 'a node that is not empty taken as empty',
    kind: 'empty',
    method: 'emptiness',
    where: (_, { facts }) => facts.machines.some(({ cost, pool }) => cost > 1 && pool !== undefined),
    told: (method, { facts }) => {
      const { name = '' } = facts.machines.find(({ cost }) => cost > 1) ?? {};
      const command: Decided = { decision: 'delete', candidates: [name], replacements: [], savings: 0 };
      return { ...method, commands: [command] };
    },
    seen: /is no candidate.*is not empty/s,
  },
  {
    what: 'a drifted node of a static pool that is passed over',
    kind: 'static',
    method: 'static-drift',
    where: ({ commands }) => commands.length > 0,
    told: (method) => ({ ...method, commands: method.commands.slice(1) }),
    seen: /static-drift: \d of pool-\d instead of/,
  },
  {
    what: 'a drifted node that is passed over',
    kind: 'drift',
    method: 'drift',
    where: ({ commands: [command] }, { facts }) =>
      command !== undefined && facts.isHousable(facts.machine(command.candidates[0] ?? '').movable),
    told: (method) => ({ ...method, commands: [] }),
    seen: /drift: passes over/,
  },
  {
    what: 'a pod without a place',
    kind: 'daemons',
    method: MULTI,
    where: ({ commands: [command] }) => Object.keys(command?.placements ?? {}).length > 0,
    told: (method) => withCommand(method, (command) => ({ ...command, placements: {} })),
    seen: /has no place/,
  },
  {
    what: 'all pods on one node',
    kind: 'daemons',
    method: MULTI,
    where: ({ commands: [command] }) => Object.keys(command?.placements ?? {}).length > 1,
    told: (method) =>
      withCommand(method, (command) => {
        const [name = ''] = Object.keys(command.placements ?? {});
        return { ...command, placements: { [name]: Object.values(command.placements ?? {}).flat() } };
      }),
    seen: /(cpu|memory|pods) [\d.]+ over/,
  },
  {
    what: 'a replacement that may cost more than what goes',
    kind: 'cheaper',
    method: SINGLE,
    where: replacing,
    told: (method, { facts }) =>
      withReplacement(method, (each) => ({ ...each, instanceTypes: [...each.instanceTypes, ...facts.types.keys()] })),
    seen: /a launch may cost/,
  },
  {
    what: 'a type that is left out',
    kind: 'cheaper',
    method: SINGLE,
    where: (method) => replacing(method) && (method.commands[0]?.replacements[0]?.instanceTypes.length ?? 0) > 1,
    told: (method) => withReplacement(method, (each) => ({ ...each, instanceTypes: each.instanceTypes.slice(0, -1) })),
    seen: /leaves out/,
  },
  {
    what: 'more savings than there are',
    kind: 'cheaper',
    method: SINGLE,
    where: ({ commands }) => commands.length > 0,
    told: (method) =>
      withCommand(method, (command) => ({
        ...command,
        planningSavings: decidingSavings(command) + 1,
      })),
    seen: /saves/,
  },
  {
    what: 'a node that is cheaper to keep taken before a better one',
    kind: 'topology',
    method: MULTI,
    where: ({ commands: [command], candidates }) =>
      command !== undefined && command.candidates.length < candidates.length,
    told: (method, { facts }) =>
      withCommand(method, (command) => {
        const rest = method.candidates.filter((name) => !command.candidates.includes(name));
        const ratio = (name: string): number => facts.machine(name).price / facts.machine(name).cost;
        const [worst = ''] = rest.sort((a, b) => ratio(a) - ratio(b));
        return { ...command, candidates: [worst, ...command.candidates.slice(1)] };
      }),
    seen: /come first/,
  },
  {
    what: 'several new nodes for several',
    kind: 'mixed',
    method: MULTI,
    where: replacing,
    told: (method) =>
      withCommand(method, (command) => ({
        ...command,
        replacements: [...command.replacements, ...command.replacements],
      })),
    seen: /2 new nodes/,
  },
  {
    what: 'spot for spot without the gate',
    kind: 'spoton',
    method: MULTI,
    where: (method, played) => played.scenario.spotToSpot && replacing(method) && spotOf(played, method),
    told: (method) => method,
    seen: /spot for spot without the gate/,
  },
  {
    what: 'spot for spot with little choice',
    kind: 'spoton',
    method: SINGLE,
    where: (method, played) => played.scenario.spotToSpot && replacing(method) && spotOf(played, method),
    told: (method) => withReplacement(method, (each) => ({ ...each, instanceTypes: each.instanceTypes.slice(0, 14) })),
    seen: /only 14 types/,
  },
];

describe('the judge of decisions', () => {
  let folder: string;
  const known = new Map<number, Played>();
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'judge-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function playedAt(at: number): Promise<Played> {
    const scenario = scenarioOf(at);
    const decision = known.get(at)?.decision ?? (await decide(scenario, { consolidation: 'compatible' }, folder));
    const played = { scenario, facts: new Facts(scenario), decision };
    known.set(at, played);
    return played;
  }

  it.each(LIES)('detects $what', async ({ kind, method: name, where, told, seen }) => {
    const kinds = Object.keys(KINDS);
    for (let round = 0; round < 40; round++) {
      const played = await playedAt(round * kinds.length + kinds.indexOf(kind));
      const method = played.decision.methods.find((each) => each.method === name);
      if (method === undefined || !where(method, played)) continue;
      const scenario = seen.source.includes('gate') ? { ...played.scenario, spotToSpot: false } : played.scenario;
      const methods = played.decision.methods.map((each) => (each === method ? told(method, played) : each));
      const first = methods.find(({ commands }) => commands.length > 0)?.method;
      const problems = problemsOf(scenario, played.facts, { first, methods }, 'compatible');
      expect(problems.join('\n')).toMatch(seen);
      return;
    }
    throw new Error('No scenario has a place for this lie');
  });
});
