/**
 * Command `karpenter explain pod`. Shows the operator's verdicts on pending pods of a live cluster, or computes them for pods in
 * manifests.
 */
import { Command } from 'commander';
import type { PodVerdict } from '#engine/explanations';
import { podKey } from '#engine/model';
import { defined } from '#lib';
import { withCluster } from './cluster.ts';
import { withExamples } from './describe.ts';
import { liveVerdict, liveVerdicts, verdictAt, verdictsAt } from './live-pod.ts';
import { DEFAULT_SERVER } from './operator.ts';
import type { OperatorFlags } from './operator-pod.ts';
import {
  podVerdictsText,
  podVerdictText,
  type ShownVerdict,
  simulatedVerdict,
  simulatedVerdicts,
} from './pod-verdict.ts';
import { notAmong } from './render/known.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import { notKnown, type ScenarioOptions, withScenario, writeNotes } from './scenario.ts';
import { type SimulateResult, simulate } from './simulate.ts';
import { clusterServerOption, operatorNamespaceOption } from './source.ts';

const DEFAULT_NAMESPACE = 'default';

interface Flags extends ScenarioOptions, OperatorFlags {
  readonly namespace: string;
  /** URL of the operator's metrics port. */
  readonly server?: string;
  readonly featureGates?: string;
  readonly checkRemedy?: boolean;
  readonly now?: number;
  readonly output: Format;
}

/** Simulates the manifests, and reports unknown facts. */
async function simulatePod(flags: Flags): Promise<Omit<SimulateResult, 'notes'>> {
  const { namespace: _, server: __, now, output: ___, ...scenario } = flags;
  const options = { ...scenario, explain: true, ...(now === undefined ? {} : { nowMs: now }) };
  const { notes, ...found } = await simulate(options);
  // printed even if the pod is not found, because a note on an ignored Node explains why its pods are missing
  writeNotes([...notes, ...notKnown(found.simulation.unknown ?? [])]);
  return found;
}

const withUnknown = (
  verdict: PodVerdict,
  { simulation: { unknown } }: Pick<SimulateResult, 'simulation'>,
): PodVerdict => ({
  ...verdict,
  ...(unknown && { unknown }),
});

/** Returns the verdicts of the operator on pods that it holds back. They take precedence over a simulation. */
const findHeld = async (server: string | undefined): Promise<ReadonlyMap<string, PodVerdict>> =>
  new Map(
    server === undefined
      ? []
      : (await verdictsAt(server)).filter(({ code }) => code === 'held').map((each) => [each.pod, each]),
  );

async function verdictInManifests(name: string, flags: Flags): Promise<ShownVerdict> {
  const { namespace, server } = flags;
  const pod = `${namespace}/${name}`;
  const found = await simulatePod(flags);
  const { snapshot, waiting } = found;
  const pods = [
    ...snapshot.pendingPods,
    ...waiting.map(({ pod: each }) => each),
    ...snapshot.nodes.flatMap((node) => node.pods),
  ];
  const known = pods.map(podKey);
  if (!known.includes(pod)) throw new Error(notAmong('pod', pod, { known, where: `in ${flags.filename.join(', ')}` }));
  const proof = flags.checkRemedy ? await found.proveRemedy(pod) : undefined;
  const verdict = { ...withUnknown(simulatedVerdict(pod, found), found), ...defined({ proof }) };
  return verdict.code === 'running' ? verdict : ((await findHeld(server)).get(pod) ?? verdict);
}

async function verdictsInManifests(flags: Flags): Promise<readonly ShownVerdict[]> {
  const found = await simulatePod(flags);
  const held = await findHeld(flags.server);
  return simulatedVerdicts(found).map((verdict) => held.get(verdict.pod) ?? withUnknown(verdict, found));
}

async function verdictsInCluster({ namespace: _, ...flags }: Flags): Promise<readonly ShownVerdict[]> {
  const { verdicts, notes } = await liveVerdicts(flags);
  writeNotes([...notes, ...notKnown(verdicts[0]?.unknown ?? [])]);
  return verdicts;
}

function verdictsOn(flags: Flags): Promise<readonly ShownVerdict[]> {
  if (flags.filename.length > 0) return verdictsInManifests(flags);
  return flags.server === undefined ? verdictsInCluster(flags) : verdictsAt(flags.server);
}

async function verdictInCluster(name: string, { namespace, ...flags }: Flags): Promise<ShownVerdict> {
  const { verdict, notes } = await liveVerdict(flags, { namespace, name });
  writeNotes([...notes, ...notKnown(verdict.unknown ?? [])]);
  return verdict;
}

function verdictOf(name: string, flags: Flags): Promise<ShownVerdict> {
  if (flags.filename.length > 0) return verdictInManifests(name, flags);
  if (flags.server !== undefined) return verdictAt(flags.server, { namespace: flags.namespace, name }, flags);
  return verdictInCluster(name, flags);
}

export function explainPod(): Command {
  const command = new Command('pod')
    .description('Explain why a pod stays pending, or on which node it will run')
    .argument(
      '[name]',
      'name of the pod, or NAMESPACE/NAME; pods of a workload in manifests are called NAME-0, NAME-1 … (default: all pending pods, grouped by reason)',
    )
    .option('-n, --namespace <namespace>', 'namespace of the pod, or of the listed pods (default: default, or all)')
    .addOption(clusterServerOption())
    .addOption(operatorNamespaceOption());
  return withExamples(withScenario(withCluster(command)), [
    { what: 'a pod of the cluster of the kubeconfig', command: 'karpenter explain pod web-0 -n shop' },
    { what: 'all pending pods of the cluster, grouped by reason', command: 'karpenter explain pod' },
    {
      what: 'pending pods of a namespace, from an operator',
      command: `karpenter explain pod -n shop --server ${DEFAULT_SERVER}`,
    },
    { what: 'a check of the remedy', command: 'karpenter explain pod web-0 -n shop -f now.yaml --check-remedy' },
    { what: 'a pod in a file', command: 'karpenter explain pod web-0 -n shop -f now.yaml' },
  ])
    .option('--feature-gates <gates>', 'FEATURE_GATES of the operator, for example NodeOverlay=true')
    .option('--check-remedy', 'solve with the remedy applied, and show the place of the pod or the cause that remains')
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nThe command reads from the leading operator of the cluster, through the API server like kubectl port-forward. If it cannot\nbe reached, the command computes the verdict from the objects of the cluster and adds the last event of the operator.',
    )
    .action(async (name: string | undefined, { namespace, ...flags }: Omit<Flags, 'namespace'> & Partial<Flags>) => {
      if (flags.checkRemedy && name === undefined) command.error('error: --check-remedy needs the name of a pod');
      if (name !== undefined) {
        const [within, ...rest] = name.split('/');
        const named = rest.length === 1 ? { namespace: within, name: rest[0] } : { namespace, name };
        const verdict = await verdictOf(named.name ?? name, {
          ...flags,
          namespace: named.namespace ?? DEFAULT_NAMESPACE,
        });
        return printAs(flags.output, verdict, podVerdictText);
      }
      const verdicts = await verdictsOn({ ...flags, namespace: DEFAULT_NAMESPACE });
      const isAsked = ({ pod }: ShownVerdict): boolean => namespace === undefined || pod.startsWith(`${namespace}/`);
      await printAs(flags.output, verdicts.filter(isAsked), podVerdictsText);
    });
}
