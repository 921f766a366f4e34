/** Explains a pod of a live cluster with the verdict of its operator, or with a verdict computed from the objects. */
import { EVENT, POD } from '#api/objects';
import { type PodVerdict, runningText } from '#engine/explanations';
import type { HttpKubeReader } from '#kube/connection';
import { defined } from '#lib';
import { reading } from './cluster.ts';
import { clusterManifests } from './cluster-manifests.ts';
import { askOperator } from './operator.ts';
import { fromOperator, notAsked } from './operator-or-cluster.ts';
import type { OperatorFlags } from './operator-pod.ts';
import { type ShownVerdict, simulatedVerdict, simulatedVerdicts } from './pod-verdict.ts';
import { notAmong } from './render/known.ts';
import { type SimulateResult, simulateManifests } from './simulate.ts';
import { OPERATOR_EVENTS } from './snapshot/kinds.ts';

export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

interface RemedyFlags {
  readonly checkRemedy?: boolean;
}

export interface LiveVerdict {
  readonly verdict: ShownVerdict;
  readonly notes: readonly string[];
}

export interface LiveVerdicts {
  readonly verdicts: readonly ShownVerdict[];
  readonly notes: readonly string[];
}

/**
 * Reads the verdict of an operator.
 *
 * @throws Error if the operator has no such pod or cannot be reached
 */
export async function verdictAt(
  server: string,
  { namespace, name }: PodName,
  { checkRemedy = false }: RemedyFlags,
): Promise<ShownVerdict> {
  const pod = `${namespace}/${name}`;
  const query = new URLSearchParams({ pod, ...(checkRemedy && { checkRemedy: 'true' }) });
  const verdict = await askOperator<ShownVerdict>(server, `/debug/pods?${query}`);
  if (verdict.code !== 'unknown') return verdict;
  const known = (await verdictsAt(server)).map((each) => each.pod);
  const pending = known.length === 0 ? 'no pod is pending' : `pending pods: ${known.slice(0, 10).join(', ')}`;
  throw new Error(`pod "${pod}" not found by the operator at ${server}; ${pending}`);
}

/** Returns the verdicts on all pending pods. */
export const verdictsAt = (server: string): Promise<readonly PodVerdict[]> =>
  askOperator<readonly PodVerdict[]>(server, '/debug/pods');

/**
 * Reads the verdict of the operator in the cluster. If this is impossible, computes the verdict and adds the last event.
 *
 * @throws Error if the pod does not exist or the cluster cannot be reached
 */
export const liveVerdict = (flags: OperatorFlags & RemedyFlags, asked: PodName): Promise<LiveVerdict> =>
  reading(flags, 'karpenter-explain', async (client) => {
    const pod = await client.find(POD, asked);
    if (pod === undefined) throw new Error(await noSuchPod(client, asked));
    const name = `${asked.namespace}/${asked.name}`;
    const { nodeName } = pod.spec;
    if (nodeName) return { verdict: { pod: name, code: 'running', text: runningText(pod, nodeName) }, notes: [] };
    const told = await fromOperator(client, flags, (server) => verdictAt(server, asked, flags));
    return 'answer' in told
      ? { verdict: told.answer, notes: [] }
      : computeVerdict(client, asked, { ...flags, ...told });
  });

/** Reads the verdicts on all pending pods of the operator in the cluster. If this is impossible, computes them. */
export const liveVerdicts = (flags: OperatorFlags): Promise<LiveVerdicts> =>
  reading(flags, 'karpenter-explain', async (client) => {
    const told = await fromOperator(client, flags, verdictsAt);
    if ('answer' in told) return { verdicts: told.answer, notes: [] };
    const { found, notes } = await simulateCluster(client, told.why);
    const { unknown } = found.simulation;
    const verdicts = simulatedVerdicts(found);
    return { verdicts: unknown ? verdicts.map((verdict) => ({ ...verdict, unknown })) : verdicts, notes };
  });

async function noSuchPod(client: HttpKubeReader, { namespace, name }: PodName): Promise<string> {
  const { items } = await client.list(POD, { namespace, limit: 500 });
  const known = items.map(({ metadata }) => metadata.name);
  return notAmong('pod', name, { known, where: `in namespace ${namespace} of the cluster` });
}

/** @param why reason why the operator cannot be reached */
async function simulateCluster(
  client: HttpKubeReader,
  why: string,
): Promise<{ readonly found: Omit<SimulateResult, 'notes'>; readonly notes: readonly string[] }> {
  const { manifests, notRead } = await clusterManifests(client);
  const { notes, ...found } = await simulateManifests(manifests, { explain: true });
  const missing = notRead.map(({ kind, why: reason, effect }) => `${kind}s cannot be read (${reason}): ${effect}`);
  return { found, notes: [notAsked(why), ...missing, ...notes] };
}

async function computeVerdict(
  client: HttpKubeReader,
  asked: PodName,
  { why, checkRemedy = false }: RemedyFlags & { readonly why: string },
): Promise<LiveVerdict> {
  const { found, notes } = await simulateCluster(client, why);
  const { unknown } = found.simulation;
  const event = await lastEvent(client, asked);
  const pod = `${asked.namespace}/${asked.name}`;
  return {
    verdict: {
      ...simulatedVerdict(pod, found),
      ...defined({ proof: checkRemedy ? await found.proveRemedy(pod) : undefined }),
      ...(event === undefined ? {} : { event }),
      ...(unknown && { unknown }),
    },
    notes,
  };
}

async function lastEvent(client: HttpKubeReader, { namespace, name }: PodName): Promise<string | undefined> {
  const { items } = await client.list(EVENT, {
    namespace,
    fieldSelector: `involvedObject.name=${name},${OPERATOR_EVENTS}`,
  });
  const timeOf = ({ lastTimestamp = '', metadata }: (typeof items)[number]): string =>
    lastTimestamp || (metadata.creationTimestamp ?? '');
  const last = items.toSorted((a, b) => timeOf(a).localeCompare(timeOf(b))).at(-1);
  return last && `${last.reason} at ${timeOf(last)}: ${last.message}`;
}
