/**
 * Command `karpenter explain pod`. Shows the operator's verdict on a pending pod of a live cluster, or computes it for a pod in
 * manifests.
 */
import { Command } from 'commander';
import { podKey } from '../engine/pods.ts';
import { type ClusterFlags, withCluster } from './cluster.ts';
import { withExamples } from './describe.ts';
import { liveVerdict, verdictAt, verdictsAt } from './live-pod.ts';
import { DEFAULT_SERVER } from './operator.ts';
import { podVerdictsText, podVerdictText, type ShownVerdict, simulatedVerdict } from './pod-verdict.ts';
import { notAmong } from './render/known.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import { notKnown, type ScenarioOptions, withScenario, writeNotes } from './scenario.ts';
import { simulate } from './simulate.ts';

interface Flags extends ScenarioOptions, ClusterFlags {
  readonly namespace: string;
  /** URL of the operator's metrics port. */
  readonly server?: string;
  readonly featureGates?: string;
  readonly now?: number;
  readonly output: Format;
}

/** Returns the verdict on a pod of manifests. An operator that holds the pod back takes precedence. */
async function verdictInManifests(name: string, flags: Flags): Promise<ShownVerdict> {
  const { namespace, server, now, output: _, ...scenario } = flags;
  const pod = `${namespace}/${name}`;
  const options = { ...scenario, explain: true, ...(now === undefined ? {} : { nowMs: now }) };
  const { notes, ...found } = await simulate(options);
  const { snapshot, waiting, simulation } = found;
  // printed even if the pod is not found, because a note on an ignored Node explains why its pods are missing
  const { unknown } = simulation;
  writeNotes([...notes, ...notKnown(unknown ?? [])]);
  const pods = [...snapshot.pendingPods, ...waiting, ...snapshot.nodes.flatMap((node) => node.pods)];
  const known = pods.map(podKey);
  if (!known.includes(pod)) throw new Error(notAmong('pod', pod, { known, where: `in ${flags.filename.join(', ')}` }));
  const verdict: ShownVerdict = { ...simulatedVerdict(pod, found), ...(unknown && { unknown }) };
  if (server === undefined || verdict.code === 'running') return verdict;
  const held = (await verdictsAt(server)).find((each) => each.pod === pod && each.code === 'held');
  return held ?? verdict;
}

async function verdictInCluster(name: string, { namespace, ...flags }: Flags): Promise<ShownVerdict> {
  const { verdict, notes } = await liveVerdict(flags, { namespace, name });
  writeNotes([...notes, ...notKnown(verdict.unknown ?? [])]);
  return verdict;
}

function verdictOf(name: string, flags: Flags): Promise<ShownVerdict> {
  if (flags.filename.length > 0) return verdictInManifests(name, flags);
  if (flags.server !== undefined) return verdictAt(flags.server, { namespace: flags.namespace, name });
  return verdictInCluster(name, flags);
}

export function explainPod(): Command {
  const command = new Command('pod')
    .description('Explain why a pod stays pending, or on which node it will run')
    .argument(
      '[name]',
      'name of the pod; pods of a workload in manifests are called NAME-0, NAME-1 … (default: all pending pods of an operator)',
    )
    .option('-n, --namespace <namespace>', 'namespace of the pod', 'default')
    .option(
      '--server <url>',
      `metrics address of the operator, for example ${DEFAULT_SERVER} (default without -f: the operator in the cluster of the kubeconfig)`,
    );
  return withExamples(withScenario(withCluster(command)), [
    { what: 'a pod of the cluster of the kubeconfig', command: 'karpenter explain pod web-0 -n shop' },
    { what: 'all pending pods, from an operator', command: `karpenter explain pod --server ${DEFAULT_SERVER}` },
    { what: 'a pod in a file', command: 'karpenter explain pod web-0 -n shop -f now.yaml' },
  ])
    .option('--feature-gates <gates>', 'FEATURE_GATES of the operator, for example NodeOverlay=true')
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nThe command reads from the leading operator of the cluster, through the API server like kubectl port-forward. If it cannot\nbe reached, the command computes the verdict from the objects of the cluster and adds the last event of the operator.',
    )
    .action(async (name: string | undefined, flags: Flags) => {
      if (name !== undefined) return printAs(flags.output, await verdictOf(name, flags), podVerdictText);
      if (flags.filename.length > 0)
        command.error('error: specify the name of the pod; karpenter simulate --explain lists all');
      await printAs(flags.output, await verdictsAt(flags.server ?? DEFAULT_SERVER), podVerdictsText);
    });
}
