/**
 * Command `karpenter explain pod`. Shows the node on which a pod would be scheduled, or the reason why each NodePool
 * rejects it.
 */
import { Command } from 'commander';
import type { Pod } from '../api/kubernetes.ts';
import { misfitText } from '../engine/solver/misfits.ts';
import { withExamples } from './describe.ts';
import { holdsAt } from './holds.ts';
import { DEFAULT_SERVER } from './operator.ts';
import { notAmong } from './render/known.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import { table, usdPerHour } from './render/table.ts';
import { indented, terminalWidth } from './render/wrap.ts';
import { notKnown, type ScenarioOptions, withScenario, writeNotes } from './scenario.ts';
import { type SimulateResult, simulate } from './simulate.ts';

/** Verdict in a public format. */
export interface PodVerdict {
  /** Name of the pod: `namespace/name`. */
  readonly pod: string;
  /**
   * Code of the verdict. `running`: already on a node. `held`: the operator ignores the pod for some time.
   * `not-held`: the operator does not ignore the pod; only this was checked. `waiting`: kube-scheduler has not marked
   * the pod as unschedulable. `fits`: fits on an existing node. `bought`: needs a new node.
   */
  readonly code: 'running' | 'held' | 'not-held' | 'waiting' | 'fits' | 'bought' | 'unschedulable' | 'unknown';
  readonly text: string;
  /** Start of the time for which the pod is held. */
  readonly since?: string;
  readonly until?: string;
  /** Reason of each NodePool for rejecting the pod, in the order of evaluation. */
  readonly nodePools?: readonly { readonly nodePool: string; readonly code: string; readonly text: string }[];
  /** Unknown facts that affect the verdict. Undefined if the list is empty. */
  readonly unknown?: readonly string[];
}

/** Returns the verdict on the pod with the given namespaced name. */
function podVerdict(
  pod: string,
  { simulation, snapshot, waiting }: Pick<SimulateResult, 'simulation' | 'snapshot' | 'waiting'>,
): PodVerdict {
  const idle = waiting.find(({ metadata }) => nameOf(metadata) === pod);
  if (idle) return { pod, code: 'waiting', text: waitingText(idle) };
  const host = snapshot.nodes.find(({ pods }) => pods.some(({ metadata }) => nameOf(metadata) === pod));
  if (host) return { pod, code: 'running', text: `the pod is on node ${host.name}` };
  const place = simulation.existingNodes.find(({ pods }) => pods.includes(pod));
  if (place) return { pod, code: 'fits', text: `the pod fits on node ${place.name}` };
  const claim = simulation.nodeClaims.find(({ pods }) => pods.includes(pod));
  if (claim) {
    const { nodePool, cheapest, price, effectivePrice, spotRisk, surplusCredits, pods } = claim;
    const effective = effectivePrice === undefined ? '' : `, effectively ${usdPerHour(effectivePrice)}`;
    const risk = spotRisk === undefined ? '' : `, including ${usdPerHour(spotRisk)} for spot risk`;
    const credits = surplusCredits === undefined ? '' : `, plus ${usdPerHour(surplusCredits)} of surplus CPU credits`;
    const shared = pods.length > 1 ? ` and ${pods.length - 1} more` : '';
    return {
      pod,
      code: 'bought',
      text: `NodePool ${nodePool} launches a node for the pod${shared}: ${cheapest} for ${usdPerHour(price)}${effective}${risk}${credits}`,
    };
  }
  const refusal = simulation.explanations?.[pod];
  if (refusal === undefined)
    return { pod, code: 'unknown', text: 'the pod is not pending, and its node is not in the manifests' };
  if (refusal.code !== 'no-fit') return { pod, code: 'unschedulable', text: refusal.text };
  const nodePools = refusal.pools.map(({ nodePool, misfit }) => ({
    nodePool,
    code: misfit.code,
    text: misfitText(misfit),
  }));
  return { pod, code: 'unschedulable', text: 'no NodePool can launch a node for the pod', nodePools };
}

/** Returns the reason why the operator ignores a pod without a node. */
function waitingText({ spec, status, metadata }: Pod): string {
  if (status?.nominatedNodeName)
    return `kube-scheduler preempts pods on node ${status.nominatedNodeName} to make room for the pod`;
  const owner = (metadata.ownerReferences ?? []).find(({ kind }) => kind === 'DaemonSet' || kind === 'Node');
  if (owner) return `no nodes are launched for pods of a ${owner.kind}`;
  const { schedulingGates: gates = [] } = spec;
  return gates.length > 0
    ? `the pod has scheduling gates: ${gates.map(({ name }) => name).join(', ')}`
    : 'kube-scheduler has not marked the pod as unschedulable yet; nodes are launched only for unschedulable pods';
}

async function holdOn(pod: string, server: string): Promise<PodVerdict | undefined> {
  const hold = (await holdsAt(server)).get(pod);
  if (hold === undefined) return undefined;
  const { text, since, until } = hold;
  return { pod, code: 'held', text: `no nodes are launched for the pod now: ${text}`, since, until };
}

const notHeld = (pod: string, server: string): PodVerdict => ({
  pod,
  code: 'not-held',
  text: `the operator at ${server} does not hold back a pending pod with this name; use -f to see where the pod would be scheduled`,
});

function podVerdictText({ pod, code, text, since, until, nodePools = [] }: PodVerdict): string {
  const rows = nodePools.map((each) => [each.nodePool, each.code, each.text]);
  const reasons = rows.length === 0 ? '' : `\n${table(['NODEPOOL', 'CODE', 'BECAUSE'], rows)}\n`;
  const held = since === undefined || until === undefined ? '' : `  since    ${since}\n  until    ${until}\n`;
  return `Pod ${pod}\n  verdict  ${code}\n  because  ${indented(text, ' '.repeat(11), terminalWidth())}\n${held}${reasons}`;
}

const nameOf = ({ namespace = 'default', name }: { readonly namespace?: string; readonly name: string }): string =>
  `${namespace}/${name}`;

interface Flags extends ScenarioOptions {
  readonly namespace: string;
  /** Operator that reports whether it holds the pod. */
  readonly server?: string;
  readonly featureGates?: string;
  readonly now?: number;
  readonly output: Format;
}

export function explainPod(): Command {
  const command = new Command('pod')
    .description('Explain on which node a pod in the manifests would be scheduled, or why it stays pending')
    .argument('<name>', 'name of the pod; pods of a workload are called NAME-0, NAME-1 …')
    .option('-n, --namespace <namespace>', 'namespace of the pod', 'default')
    .option(
      '--server <url>',
      `metrics address of the operator, to check if it holds the pod back (default without -f: "${DEFAULT_SERVER}")`,
    );
  return withExamples(withScenario(command), [
    { what: 'a pod in a file', command: 'karpenter explain pod web-0 -n shop -f now.yaml' },
    { what: 'check if the operator holds the pod back', command: 'karpenter explain pod web-0 -n shop' },
  ])
    .option('--feature-gates <gates>', 'FEATURE_GATES of the operator, for example NodeOverlay=true')
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nWithout -f, the command only checks if the operator holds the pod back. With -f and --server it checks this first.\nThe operator also publishes its reasons as events of the pod; see kubectl describe pod.',
    )
    .action(async (name: string, { namespace, server, now, output, ...flags }: Flags) => {
      const pod = nameOf({ namespace, name });
      if (flags.filename.length === 0) {
        const asked = server ?? DEFAULT_SERVER;
        return printAs(output, (await holdOn(pod, asked)) ?? notHeld(pod, asked), podVerdictText);
      }
      const options = { ...flags, explain: true, ...(now === undefined ? {} : { nowMs: now }) };
      const { notes, ...found } = await simulate(options);
      const { snapshot, waiting, simulation } = found;
      // printed even if the pod is not found, because a note on an ignored Node explains why its pods are missing
      const { unknown } = simulation;
      writeNotes([...notes, ...notKnown(unknown ?? [])]);
      const pods = [...snapshot.pendingPods, ...waiting, ...snapshot.nodes.flatMap((node) => node.pods)];
      const known = pods.map(({ metadata }) => nameOf(metadata));
      if (!known.includes(pod))
        throw new Error(notAmong('pod', pod, { known, where: `in ${flags.filename.join(', ')}` }));
      const verdict: PodVerdict = { ...podVerdict(pod, found), ...(unknown && { unknown }) };
      const hold = server === undefined || verdict.code === 'running' ? undefined : await holdOn(pod, server);
      await printAs(output, hold ?? verdict, podVerdictText);
    });
}
