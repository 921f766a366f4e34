/** Command `karpenter explain provisioningrequest`. Shows the room for the pods of a request, and why it waits. */
import { Command } from 'commander';
import { explainRequest, type RequestExplanation } from '#engine/explanations';
import { bufferOutcomes, requestGang, requestKey } from '#engine/solve';
import { defined } from '#lib';
import { reading, withCluster } from './cluster.ts';
import { clusterManifests } from './cluster-manifests.ts';
import { withExamples } from './describe.ts';
import { requestsIn } from './objects/gated-kinds.ts';
import type { Manifest } from './objects/read.ts';
import { notAmong } from './render/known.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import { provisioningRequestText } from './render/provisioning-request.ts';
import { manifestsOf, notKnown, type ScenarioOptions, withScenario, writeNotes } from './scenario.ts';
import { solveManifests } from './solve-manifests.ts';

interface Flags extends ScenarioOptions {
  readonly namespace: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly now?: number;
  readonly output: Format;
}

interface Explained {
  readonly found: RequestExplanation;
  readonly notes: readonly string[];
}

/** @throws Error if the manifests contain no such request, or InputError with the document and the field */
async function explainIn(
  manifests: readonly Manifest[],
  key: string,
  { where, ...options }: Omit<ScenarioOptions, 'filename'> & { readonly where: string },
): Promise<Explained> {
  const nowMs = options.nowMs ?? Date.now();
  const requests = requestsIn(manifests);
  const request = requests.find((each) => requestKey(each) === key);
  if (request === undefined)
    throw new Error(notAmong('ProvisioningRequest', key, { known: requests.map(requestKey), where }));
  const featureGates = 'ProvisioningRequest=true';
  const { world, plan, notes, unknown } = await solveManifests(manifests, { ...options, nowMs, featureGates });
  const isInitialized = (providerId: string): boolean =>
    world.cluster.nodeByProviderId(providerId)?.initialized === true;
  const { byBuffer } = bufferOutcomes(plan, world.cluster.virtualPods.list(), isInitialized);
  const start = `ProvisioningRequest ${key}: `;
  const problem = notes.find((note) => note.startsWith(start))?.slice(start.length);
  const found = explainRequest(request, byBuffer.get(requestGang(request)), { nowMs, problem });
  return {
    found: { ...found, ...(unknown.length > 0 && { unknown }) },
    notes: [...notes.filter((note) => !note.startsWith(start)), ...notKnown(unknown)],
  };
}

function explainNamed(name: string, { namespace, now, output: _, ...flags }: Flags): Promise<Explained> {
  const key = name.includes('/') ? name : `${namespace}/${name}`;
  const options = { ...flags, ...defined({ nowMs: now }) };
  if (flags.filename.length > 0)
    return explainIn(manifestsOf(options), key, { ...options, where: `in ${flags.filename.join(', ')}` });
  return reading(flags, 'karpenter-explain', async (client) => {
    const { manifests } = await clusterManifests(client);
    return explainIn(manifests, key, { ...options, where: 'in the cluster' });
  });
}

export function explainProvisioningRequestCommand(): Command {
  const command = new Command('provisioningrequest')
    .description('Explain whether the pods of a ProvisioningRequest have room, and why it waits or has failed')
    .argument('<name>', 'name of the ProvisioningRequest, or NAMESPACE/NAME')
    .option('-n, --namespace <namespace>', 'namespace of the ProvisioningRequest', 'default');
  return withExamples(withScenario(withCluster(command)), [
    {
      what: 'a request of the cluster of the kubeconfig',
      command: 'karpenter explain provisioningrequest train -n ml',
    },
    { what: 'a request in a file', command: 'karpenter explain provisioningrequest train -f now.yaml' },
  ])
    .addOption(outputOption())
    .action(async (name: string, flags: Flags) => {
      const { found, notes } = await explainNamed(name, flags);
      writeNotes(notes);
      await printAs(flags.output, found, provisioningRequestText);
    });
}
