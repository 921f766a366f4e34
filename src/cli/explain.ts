/** `karpenter explain node`: whether nodes would be disrupted, and if not, what stands in the way. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { type Verdict, verdictsOf } from '../engine/disruption/verdicts.ts';
import { type DisruptionFlags, reviewsOf, sceneOf, sceneOptions, type TypesFor } from './disruption.ts';
import { askOperator, DEFAULT_SERVER } from './operator.ts';
import { notAmong } from './render/known.ts';
import { verdictsText, verdictText } from './render/verdicts.ts';
import { typesFor } from './simulate.ts';

export interface ExplainFlags extends DisruptionFlags {
  /** Where an operator serves its metrics; it is asked when there are no manifests. */
  readonly server?: string;
}

/** Verdicts on the nodes of some manifests. @throws InputError that names the document and the field */
export async function explainNodes(
  flags: ExplainFlags,
  instanceTypes: TypesFor,
): Promise<{ readonly verdicts: readonly Verdict[]; readonly notes: readonly string[] }> {
  const { scene, notes } = await sceneOf(sceneOptions(flags, instanceTypes));
  const reviews = await reviewsOf(scene, true);
  return { verdicts: verdictsOf(scene.snapshot.nodes, reviews, scene.snapshot.nowMs), notes };
}

async function verdictsFor(flags: ExplainFlags): Promise<readonly Verdict[]> {
  if (flags.filename.length === 0) return askOperator(flags.server ?? DEFAULT_SERVER, '/debug/verdicts');
  const types: TypesFor = (manifests, nowMs) => typesFor(flags, manifests, nowMs);
  const { verdicts, notes } = await explainNodes(flags, types);
  for (const note of notes) process.stderr.write(`note: ${note}\n`);
  return verdicts;
}

const sourceOf = ({ filename, server = DEFAULT_SERVER }: ExplainFlags): string =>
  filename.length === 0 ? `the operator at ${server}` : filename.join(', ');

/** By the name of the Node, of its NodeClaim, or of the Node up to the first dot. @throws Error that tells known names */
function verdictOn(name: string, verdicts: readonly Verdict[], where: string): Verdict {
  const found =
    verdicts.find(({ node }) => node === name) ??
    verdicts.find(({ node, nodeClaim }) => nodeClaim === name || node.startsWith(`${name}.`));
  if (found) return found;
  throw new Error(notAmong('node', name, { known: verdicts.map(({ node }) => node), where }));
}

async function print(chosen: Verdict | readonly Verdict[], output: ExplainFlags['output']): Promise<string> {
  if (output === 'json') return `${JSON.stringify(chosen)}\n`;
  if (output === 'yaml') return (await import('yaml')).stringify(chosen);
  return 'code' in chosen ? verdictText(chosen) : verdictsText(chosen);
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

function time(text: string): number {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new InvalidArgumentError('Expected a time such as 2026-06-03T10:30:00Z.');
  return ms;
}

function explainNode(): Command {
  return new Command('node')
    .description('Say of a node, or of all, whether it would be given back or replaced, and if not, why not')
    .argument('[name]', 'name of the Node or of its NodeClaim; all nodes when left out')
    .addOption(
      new Option('-f, --filename <path>', 'file or folder with manifests, or - for standard input; repeatable')
        .argParser(collect)
        .default([], 'none'),
    )
    .option(
      '--server <url>',
      `the operator to ask when there is no -f, by its metrics port (default: "${DEFAULT_SERVER}")`,
    )
    .option('--instance-types <file>', 'JSON file with instance types, in place of the built-in catalogue')
    .option('--options <file>', 'JSON file with now, featureGates and policies')
    .option('--now <time>', 'the time at which it plays', time)
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json', 'yaml']).default('table'))
    .action(async (name: string | undefined, flags: ExplainFlags & { readonly now?: number }, command: Command) => {
      if (flags.filename.length > 0 && flags.server !== undefined)
        command.error('error: name either manifests with -f or an operator with --server');
      const { now } = flags;
      const verdicts = await verdictsFor({ ...flags, ...(now === undefined ? {} : { nowMs: now }) });
      const chosen = name === undefined ? verdicts : verdictOn(name, verdicts, sourceOf(flags));
      process.stdout.write(await print(chosen, flags.output));
    });
}

export const explainCommand = (): Command =>
  new Command('explain').description('Say why things are as they are').addCommand(explainNode());
