/** Random clusters: each disruption decision must follow the rules. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decidingSavings } from '../outcomes.ts';
import { Facts } from './facts.ts';
import { problemsOf } from './judge.ts';
import { KINDS } from './kinds.ts';
import { type Decided, type Decision, decide } from './play.ts';
import { cheapest, withValues } from './purchases.ts';
import { scenarioOf } from './scenario.ts';

const kinds = Object.keys(KINDS);
/** `SEED=2`, `SEED=3` … test other clusters; `PER_KIND=100` tests more of them. */
const SEED = Number(process.env.SEED ?? 1);
const PER_KIND = Number(process.env.PER_KIND ?? 3);

const commandsOf = ({ methods }: Decision, name: string): Decision['methods'][number]['commands'] =>
  methods.find(({ method }) => method === name)?.commands ?? [];

const savings = (decision: Decision, method: string): number =>
  commandsOf(decision, method).reduce((sum, each) => sum + decidingSavings(each), 0);

const isSold = (facts: Facts, { replacements }: Decided): boolean =>
  replacements.every(({ instanceTypes, requirements }) =>
    instanceTypes.every((name) => {
      const type = facts.types.get(name);
      return type !== undefined && Number.isFinite(cheapest(type, requirements.map(withValues)));
    }),
  );

describe(`a decision about random clusters, SEED=${SEED}`, () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'random-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(kinds)(
    'follows the rules for %s',
    async (kind) => {
      for (let at = 0; at < PER_KIND; at++) {
        const scenario = scenarioOf((SEED * 1000 + at) * kinds.length + kinds.indexOf(kind));
        const facts = new Facts(scenario);
        const compatible = await decide(scenario, { consolidation: 'compatible' }, folder);
        const thorough = await decide(scenario, { consolidation: 'thorough' }, folder);
        expect([scenario.name, ...problemsOf(scenario, facts, compatible, 'compatible')]).toEqual([scenario.name]);
        expect([scenario.name, ...problemsOf(scenario, facts, thorough, 'thorough')]).toEqual([scenario.name]);
        // The policy `Balanced` declines by score with `compatible`, and by price with `thorough`.
        if (kind === 'balanced') continue;
        for (const { method, commands } of compatible.methods) {
          // A command that cannot be launched saves nothing.
          if (commands.length === 0 || !commands.every((command) => isSold(facts, command))) continue;
          const least = savings(compatible, method) - 1e-6;
          expect([scenario.name, method, savings(thorough, method) >= least]).toEqual([scenario.name, method, true]);
        }
      }
    },
    Math.max(60_000, 4000 * PER_KIND),
  );
});
