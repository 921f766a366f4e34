/** Command `karpenter explain instance-type`. Shows how many resources new nodes have for pods, line by line. */
import { Command } from 'commander';
import { explainInstanceType, type InstanceTypeExplanation, type InstanceTypeReport } from '#engine/explanations';
import { sortByCloseness } from '#lib';
import { reading, withCluster } from './cluster.ts';
import { clusterManifests } from './cluster-manifests.ts';
import { withExamples } from './describe.ts';
import type { Manifest } from './objects/read.ts';
import { worldOf } from './objects/snapshot.ts';
import { askOperator } from './operator.ts';
import { fromOperator, notAsked } from './operator-or-cluster.ts';
import type { OperatorFlags } from './operator-pod.ts';
import { instanceTypeText } from './render/instance-type.ts';
import { notAmong } from './render/known.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import {
  driversFor,
  manifestsOf,
  noneOf,
  notKnown,
  type ScenarioOptions,
  typesNoting,
  withScenario,
  writeNotes,
} from './scenario.ts';
import { clusterServerOption, operatorNamespaceOption } from './source.ts';

interface Flags extends ScenarioOptions, OperatorFlags {
  readonly nodepool?: string;
  readonly server?: string;
  readonly now?: number;
  readonly output: Format;
}

interface Explained {
  readonly found: readonly InstanceTypeExplanation[];
  readonly notes: readonly string[];
  /** Describes the source in messages. */
  readonly where: string;
}

const REPORTS = 'capacity that registered nodes reported, which only the operator remembers';

const notFound = (name: string, known: Iterable<string>, where: string): Error =>
  new Error(notAmong('instance type', name, { known: sortByCloseness(name, [...new Set(known)]), where }));

function* namesIn({ instanceTypes, nodePools = {} }: InstanceTypeReport): Iterable<string> {
  for (const types of [instanceTypes, ...Object.values(nodePools)]) for (const { name } of types) yield name;
}

/** @throws Error if the operator does not know the instance type or cannot be reached */
async function explainAt(server: string, name: string): Promise<Explained> {
  const where = `by the operator at ${server}`;
  const path = '/debug/instancetypes';
  const found = await askOperator<Explained['found'] | InstanceTypeReport>(
    server,
    `${path}?name=${encodeURIComponent(name)}`,
  );
  if ('instanceTypes' in found) throw new Error(`the operator at ${server} is too old to explain instance types`);
  if (found.length > 0) return { found, notes: [], where };
  throw notFound(name, namesIn(await askOperator<InstanceTypeReport>(server, path)), where);
}

/** @throws Error if the instance type is unknown, or InputError with the document and the field */
async function explainManifests(
  manifests: readonly Manifest[],
  name: string,
  options: Omit<ScenarioOptions, 'filename'> & { readonly where: string },
): Promise<Explained> {
  const { where, nowMs = Date.now(), priceBook } = options;
  const { types, notes: ofTypes } = typesNoting(options);
  const instanceTypes = await types(manifests, nowMs);
  const drivers = driversFor(options);
  const { snapshot, allPools, notes } = await worldOf(manifests, { instanceTypes, nowMs, priceBook, drivers });
  const { builtInTerms } = await import('./objects/builtin.ts');
  const isBuiltIn = options.instanceTypes === undefined;
  const found = explainInstanceType(
    name,
    { ...snapshot, pools: allPools },
    {
      termsOf: isBuiltIn ? builtInTerms(manifests, nowMs) : () => undefined,
      ignoresDevices: drivers === undefined,
    },
  );
  const known = allPools.flatMap((pool) => pool.instanceTypes.map((type) => type.name));
  if (found.length === 0 && allPools.length > 0) throw notFound(name, known, where);
  const unknown = isBuiltIn ? [REPORTS] : [];
  return {
    found: isBuiltIn ? found.map((each) => ({ ...each, unknown })) : found,
    notes: [...ofTypes, ...notes, ...noneOf('NodePool', allPools), ...notKnown(unknown)],
    where,
  };
}

const explainLive = (flags: OperatorFlags, name: string): Promise<Explained> =>
  reading(flags, 'karpenter-explain', async (client) => {
    const told = await fromOperator(client, flags, (server) => explainAt(server, name));
    if ('answer' in told) return told.answer;
    const { manifests } = await clusterManifests(client);
    const explained = await explainManifests(manifests, name, { where: 'in the cluster' });
    return { ...explained, notes: [notAsked(told.why), ...explained.notes] };
  });

async function explain(name: string, { server, now, output: _, nodepool: __, ...flags }: Flags): Promise<Explained> {
  if (flags.filename.length > 0) {
    const where = `in ${flags.filename.join(', ')}`;
    const options = { ...flags, ...(now === undefined ? {} : { nowMs: now }), where };
    return explainManifests(manifestsOf(options), name, options);
  }
  return server === undefined ? explainLive(flags, name) : explainAt(server, name);
}

/** @throws Error with the known names */
function inNodePool({ found, where }: Explained, name: string | undefined): readonly InstanceTypeExplanation[] {
  if (name === undefined) return found;
  const chosen = found.filter(({ nodePool }) => nodePool === name);
  if (chosen.length > 0) return chosen;
  throw new Error(notAmong('NodePool', name, { known: found.map(({ nodePool }) => nodePool), where }));
}

export function explainInstanceTypeCommand(): Command {
  const command = new Command('instance-type')
    .description('Explain how many resources a new node of an instance type has for pods, line by line')
    .argument('<name>', 'name of the instance type, for example m5.large')
    .option('--nodepool <name>', 'NodePool of the node (default: all NodePools)')
    .addOption(clusterServerOption())
    .addOption(operatorNamespaceOption());
  return withExamples(withScenario(withCluster(command)), [
    { what: 'for each NodePool of the cluster', command: 'karpenter explain instance-type m5.large' },
    {
      what: 'for one NodePool in manifests',
      command: 'karpenter explain instance-type r5d.4xlarge --nodepool default -f nodepools.yaml',
    },
  ])
    .addOption(outputOption())
    .action(async (name: string, flags: Flags) => {
      const all = await explain(name, flags);
      writeNotes(all.notes);
      await printAs(flags.output, inNodePool(all, flags.nodepool), instanceTypeText);
    });
}
