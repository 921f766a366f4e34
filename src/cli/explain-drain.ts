/** Command `karpenter explain drain`. Shows the obstacles to the drain of a node, where its pods go, and the cost. */
import { Command } from 'commander';
import { packingPolicy } from '../api/policy.ts';
import { type DrainPlan, drainPlan } from '../engine/blockers/drain-plan.ts';
import { type Example, withExamples } from './describe.ts';
import { holdsFor } from './holds.ts';
import { worldOf } from './objects/snapshot.ts';
import { nodeNamed } from './render/known.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import { counted, inShort, table, usdPerHour } from './render/table.ts';
import { indented, terminalWidth } from './render/wrap.ts';
import {
  CHANGES_EXIT_CODE,
  countedFee,
  defaultConstraintsOf,
  driversFor,
  launchOptions,
  manifestsOf,
  notKnown,
  type ScenarioOptions,
  type TypesFor,
  typesNoting,
  typesUnder,
  withScenario,
  writeNotes,
} from './scenario.ts';

export interface DrainResult {
  readonly drain: DrainPlan;
  readonly notes: readonly string[];
}

/**
 * Predicts the drain of a node of manifests.
 *
 * @param name name of the Node or its NodeClaim, or the part of the Node's name before the first dot
 * @throws InputError with the document and the field, or Error with the names of the nodes
 */
export async function explainDrain(name: string, options: ScenarioOptions, types: TypesFor): Promise<DrainResult> {
  const { nowMs = Date.now(), priceBook, nodeHourlyFee } = options;
  const manifests = manifestsOf(options);
  const policy = packingPolicy();
  const drivers = driversFor(options);
  const world = await worldOf(manifests, {
    ...{ nowMs, priceBook, drivers },
    instanceTypes: typesUnder(policy, await types(manifests, nowMs)),
    defaultConstraints: defaultConstraintsOf(options),
    held: await holdsFor(options.instanceTypes),
    ...countedFee(policy, nodeHourlyFee),
  });
  const { snapshot, leaving, allPools: pools, notes, unknown } = world;
  const nodes = snapshot.nodes.map((state) => ({
    state,
    node: state.name,
    nodeClaim: state.nodeClaim?.metadata.name,
  }));
  const { state } = nodeNamed(name, nodes, `in ${options.filename.join(', ')}`);
  const solving = launchOptions({ drivers, isReserved: true });
  return {
    drain: drainPlan(state, { snapshot, leaving, pools, options: solving }),
    notes: [...notes, ...notKnown(unknown)],
  };
}

interface Flags extends ScenarioOptions {
  readonly now?: number;
  readonly output: Format;
}

const EXAMPLES: readonly Example[] = [
  { what: 'a node of a file', command: 'karpenter explain drain ip-10-0-0-1 -f now.yaml' },
  {
    what: 'a node of the cluster; exit code 2 if the drain cannot finish',
    command:
      'kubectl get nodes,nodeclaims,nodepools,ec2nodeclasses,pods,poddisruptionbudgets,daemonsets -A -o yaml | karpenter explain drain ip-10-0-0-1 -f -',
  },
];

export function explainDrainCommand(): Command {
  const command = new Command('drain')
    .description(
      'Show the obstacles to the drain of a node, the places of its pods, and the cost; exit code 2 if it cannot finish',
    )
    .argument('<name>', 'name of the Node or of its NodeClaim');
  return withExamples(withScenario(command), EXAMPLES)
    .addOption(outputOption())
    .action(async (name: string, flags: Flags) => {
      if (flags.filename.length === 0)
        command.error('error: specify at least one file or folder with -f, or - for standard input');
      const { types, notes: ofTypes, unknown } = typesNoting(flags);
      const { now } = flags;
      const { drain, notes } = await explainDrain(name, { ...flags, ...(now !== undefined && { nowMs: now }) }, types);
      writeNotes([...ofTypes, ...notes, ...notKnown(unknown)]);
      await printAs(flags.output, drain, drainText);
      if (!drain.canFinish) process.exitCode = CHANGES_EXIT_CODE;
    });
}

/** Renders the prediction as text. */
export function drainText(drain: DrainPlan): string {
  const { node, nodePool, canFinish, terminationGracePeriod: grace, blockers, pods, newNodes } = drain;
  const end = canFinish
    ? grace !== undefined && blockers.length > 0
      ? `is blocked for at most ${grace}, the terminationGracePeriod, which then deletes the pods`
      : 'can finish'
    : 'cannot finish now';
  const heading = `The drain of Node ${node}${nodePool === undefined ? '' : ` of NodePool ${nodePool}`} ${end}${costText(drain)}`;
  const parts = [
    indented(heading, '  ', terminalWidth()),
    blockers.length === 0
      ? ''
      : table(
          ['CODE', 'IN THE WAY', 'PODS', 'UNTIL'],
          blockers.map(({ code, text, pods: held = [], until = '' }) => [code, text, inShort(held), until]),
        ),
    pods.length === 0
      ? 'no pod needs another node'
      : table(
          ['POD', 'GOES TO'],
          pods.map(({ pod, node: to, newNode, problem }) => [pod, problem ?? to ?? newNodeText(newNodes, newNode)]),
        ),
  ];
  return `${parts.filter((text) => text !== '').join('\n\n')}\n`;
}

const newNodeText = (newNodes: DrainPlan['newNodes'], at = 0): string => {
  const found = newNodes[at];
  return `new node ${at + 1}${found === undefined ? '' : ` (${found.instanceType})`}`;
};

function costText({
  newNodes,
  newNodesWithoutDrain: others,
  usdPerHour: perHour,
  usdPerHourAdded: added,
}: DrainPlan): string {
  const launched = newNodes.length === 0 ? 'no new node' : counted(newNodes.length, 'new node');
  const cost =
    perHour === undefined || added === undefined
      ? ''
      : `, ${added < 0 ? `saves ${usdPerHour(-added)}` : `adds ${usdPerHour(added)}`} (the node costs ${usdPerHour(perHour)})`;
  const waiting = others === 0 ? '' : `; ${counted(others, 'node')} for pods that wait already`;
  return `: ${launched}${cost}${waiting}`;
}
