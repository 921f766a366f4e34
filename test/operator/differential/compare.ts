/** The operator's decisions and the command line's answers in one form, and what differs between them. */
import type { SimulationAnswer } from '../../../src/cli/render/plan.ts';
import type { Verdict } from '../../../src/engine/disruption/verdicts.ts';
import type { LogLine } from '../harness.ts';

/** What differs, in words; empty when command line and operator agree. */
export type Differences = readonly string[];

export const NO_COMMANDS = 'none';

/** Of a log line that tells of a disruption command. */
export function commandIn(line: LogLine): string {
  const nodes = line['disrupted-nodes'] as readonly { readonly Node: { readonly name: string } }[];
  return commandText(
    String(line.decision),
    nodes.map(({ Node }) => Node.name),
    Number(line['replacement-node-count']),
  );
}

export const commandText = (decision: string, nodes: readonly string[], replacements: number): string =>
  `${decision} ${[...nodes].sort().join(',')} for ${replacements}`;

export const commandsText = (commands: readonly string[]): string =>
  commands.length === 0 ? NO_COMMANDS : [...commands].sort().join('; ');

/** Codes are compared; what differs is shown with the reasons. */
export function differentVerdicts(operator: readonly Verdict[], told: readonly Verdict[]): Differences {
  const codes = (verdicts: readonly Verdict[]): string =>
    verdicts.map(({ node, code, methods }) => `${node} ${code} (${methods.map((each) => each.code)})`).join('; ');
  if (codes(operator) === codes(told)) return [];
  return [`verdicts: operator\n    ${verdictTexts(operator)}\n  command line\n    ${verdictTexts(told)}`];
}

/** A line for each node, with what each method says of it. */
export const verdictTexts = (verdicts: readonly Verdict[]): string =>
  verdicts.map(({ node, methods }) => `${node} ${methods.map(({ code, text }) => `${code}: ${text}`)}`).join('\n    ');

/** What the public form of a plan has that the other has not. */
export function differentPlans(operator: SimulationAnswer, told: SimulationAnswer): Differences {
  const fields = ['nodeClaims', 'existingNodes', 'unschedulable', 'explanations'] as const;
  return fields.flatMap((field) => {
    const [left, right] = [stable(operator[field]), stable(told[field])];
    return left === right ? [] : [`${field}: operator ${left}\n  command line ${right}`];
  });
}

const stable = (value: unknown): string =>
  JSON.stringify(value, (_, part) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
