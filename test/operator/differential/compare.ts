/** Converts the operator's decisions and the command line's results to one form and compares them. */
import type { SimulationAnswer } from '#cli/testing';
import type { Verdict } from '#engine/disruption';
import type { LogLine } from '../harness.ts';

/** Differences as text. Empty if the command line and the operator agree. */
export type Differences = readonly string[];

export const NO_COMMANDS = 'none';

/** Returns the text of a disruption command from a log line. */
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

/** Compares the codes of verdicts. Differences are shown with the reasons. */
export function differentVerdicts(operator: readonly Verdict[], told: readonly Verdict[]): Differences {
  const codes = (verdicts: readonly Verdict[]): string =>
    verdicts.map(({ node, code, methods }) => `${node} ${code} (${methods.map((each) => each.code)})`).join('; ');
  if (codes(operator) === codes(told)) return [];
  return [`verdicts: operator\n    ${verdictTexts(operator)}\n  command line\n    ${verdictTexts(told)}`];
}

/** Returns a line for each node, with the verdict of each method. */
export const verdictTexts = (verdicts: readonly Verdict[]): string =>
  verdicts.map(({ node, methods }) => `${node} ${methods.map(({ code, text }) => `${code}: ${text}`)}`).join('\n    ');

/** Compares the public fields of two plans. */
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
