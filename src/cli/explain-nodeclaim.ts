/** Command `karpenter explain nodeclaim`. Shows the pods and the choice of an instance, and why it does not join. */
import { Command } from 'commander';
import { NODE_CLAIM } from '#api/objects';
import type { NodeClaimExplanation } from '#engine/explanations';
import { explainClaim } from '#planner';
import { reading, withCluster } from './cluster.ts';
import { clusterManifests } from './cluster-manifests.ts';
import { withExamples } from './describe.ts';
import type { Manifest } from './objects/read.ts';
import { worldOf } from './objects/snapshot.ts';
import { askOperator, DEFAULT_SERVER } from './operator.ts';
import { fromOperator, notAsked } from './operator-or-cluster.ts';
import type { OperatorFlags } from './operator-pod.ts';
import { notAmong } from './render/known.ts';
import { nodeClaimText } from './render/nodeclaim.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import { manifestsOf, notKnown, type ScenarioOptions, typesNoting, withScenario, writeNotes } from './scenario.ts';
import { clusterServerOption, operatorNamespaceOption } from './source.ts';

interface Flags extends ScenarioOptions, OperatorFlags {
  readonly server?: string;
  readonly now?: number;
  readonly output: Format;
}

interface Explained {
  readonly found: NodeClaimExplanation;
  readonly notes: readonly string[];
}

const NO_ANSWER = 'the response of EC2 to the launch, which only the operator that launched the instance has';

/** @throws Error if the operator has no such NodeClaim or cannot be reached */
async function explanationAt(server: string, name: string): Promise<NodeClaimExplanation> {
  const path = `/debug/nodeclaims?name=${encodeURIComponent(name)}`;
  const found = await askOperator<NodeClaimExplanation | null>(server, path);
  if (found !== null) return found;
  const known = await askOperator<readonly string[]>(server, '/debug/nodeclaims');
  throw new Error(notAmong('NodeClaim', name, { known, where: `by the operator at ${server}` }));
}

/** @throws Error if the manifests contain no such NodeClaim, or InputError with the document and the field */
async function explainManifests(
  manifests: readonly Manifest[],
  name: string,
  options: Omit<ScenarioOptions, 'filename'> & { readonly where: string },
): Promise<Explained> {
  const nowMs = options.nowMs ?? Date.now();
  const { types, notes: ofTypes, unknown } = typesNoting(options);
  const instanceTypes = await types(manifests, nowMs);
  const { cluster, allPools, notes } = await worldOf(manifests, {
    instanceTypes,
    nowMs,
    priceBook: options.priceBook,
  });
  const found = await explainClaim(cluster, name, {
    nowMs,
    poolOf: (poolName) => allPools.find(({ nodePool }) => nodePool.metadata.name === poolName),
  });
  if (found === undefined) {
    const known = manifests.flatMap(({ object: { kind, metadata } }) =>
      kind === NODE_CLAIM.kind ? metadata.name : [],
    );
    throw new Error(notAmong('NodeClaim', name, { known, where: options.where }));
  }
  const facts = [NO_ANSWER, ...unknown];
  return { found: { ...found, unknown: facts }, notes: [...ofTypes, ...notes, ...notKnown(facts)] };
}

const explainLive = (flags: OperatorFlags, name: string): Promise<Explained> =>
  reading(flags, 'karpenter-explain', async (client) => {
    const told = await fromOperator(client, flags, (server) => explanationAt(server, name));
    if ('answer' in told) return { found: told.answer, notes: [] };
    const { manifests } = await clusterManifests(client);
    const explained = await explainManifests(manifests, name, { where: 'in the cluster' });
    return { ...explained, notes: [notAsked(told.why), ...explained.notes] };
  });

async function explained(name: string, { server, now, output: _, ...flags }: Flags): Promise<Explained> {
  if (flags.filename.length > 0) {
    const options = {
      ...flags,
      ...(now === undefined ? {} : { nowMs: now }),
      where: `in ${flags.filename.join(', ')}`,
    };
    return explainManifests(manifestsOf(options), name, options);
  }
  if (server !== undefined) return { found: await explanationAt(server, name), notes: [] };
  return explainLive(flags, name);
}

export function explainNodeClaimCommand(): Command {
  const command = new Command('nodeclaim')
    .description('Explain why an instance was launched, why it and not a cheaper one, and why its node does not join')
    .argument('<name>', 'name of the NodeClaim or of its Node')
    .addOption(clusterServerOption())
    .addOption(operatorNamespaceOption());
  return withExamples(withScenario(withCluster(command)), [
    { what: 'a NodeClaim of the cluster of the kubeconfig', command: 'karpenter explain nodeclaim default-x2v9z' },
    { what: 'from an operator', command: `karpenter explain nodeclaim default-x2v9z --server ${DEFAULT_SERVER}` },
  ])
    .addOption(outputOption())
    .action(async (name: string, flags: Flags) => {
      const { found, notes } = await explained(name, flags);
      writeNotes(notes);
      await printAs(flags.output, found, nodeClaimText);
    });
}
