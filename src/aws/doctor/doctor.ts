/**
 * Preflight check of an account and a cluster. Reports every known problem that prevents the operator from launching
 * nodes, with a remedy. Performs only reads and dry runs.
 */
import { EC2_NODE_CLASS, NODE_POLICY, NODE_POOL, type NodePolicy } from '#api/objects';
import type { DoctorOptions, Examine, Finding } from '#cloud';
import { isNotFound } from '#kube/client';
import { connectReader, type HttpKubeReader } from '#kube/connection';
import { realClock } from '#lib/clock';
import { createClients } from '../clients.ts';
import { account } from './account.ts';
import { findEarlierVersions } from './beta.ts';
import { definitions, type FoundController, findControllers, installation, pauseOf } from './cluster.ts';
import { problem, unknownFinding, warning } from './finding.ts';
import { checkNodeClass, type NodeClassChecks } from './nodeclasses.ts';
import { diagnoseNodePools, surveyOf } from './nodepools.ts';
import { checkReservations, comingOf } from './reservations.ts';
import { controllerRole, type SimulatedScope, simulateCalls } from './simulation.ts';
import { takeover } from './takeover.ts';
import { writePermissions } from './writes.ts';

/** @throws Error if the region, kubeconfig or cluster name is unknown, or the API server is unreachable */
export const examine: Examine = async (options) => {
  const clock = realClock();
  const client = connectReader({
    clock,
    userAgent: `karpenter-doctor/${options.version}`,
    ...(options.kubeconfig === undefined ? {} : { kubeconfig: options.kubeconfig }),
  });
  try {
    return await checks(options, client);
  } finally {
    client.close();
  }
};

async function checks(options: DoctorOptions, client: HttpKubeReader): Promise<readonly Finding[]> {
  const clock = realClock();
  const clients = await createClients();
  const [served, controllers] = await Promise.all([
    client.raw('/version') as Promise<{ readonly major: string; readonly minor: string }>,
    findControllers(client),
  ]);
  const own = controllers.find(({ isKarpenter }) => !isKarpenter);
  const controller = own ?? controllers[0];
  const kubernetesVersion = `${served.major}.${Number.parseInt(served.minor, 10)}`;
  const clusterName = options.clusterName ?? controller?.setting('CLUSTER_NAME');
  if (clusterName === undefined)
    throw new Error('the name of the cluster is unknown, because no installation was found; set --cluster-name');
  const queueName = options.interruptionQueue ?? controller?.setting('INTERRUPTION_QUEUE') ?? '';

  const [ofKinds, ofPause, before, ofAccount] = await Promise.all([
    definitions(client),
    runChecks('pause', () => pauseOf(client, own)),
    runChecks('versions before 1.1', () => findEarlierVersions(client)),
    account(clients, { clusterName, queueName }),
  ]);
  const ofOwn = own === undefined && controller !== undefined ? [] : [installation(own, options.version)];
  const findings = [...ofPause, ...ofAccount, ...ofOwn, ...ofKinds, ...before];
  const missing = ofKinds.some(({ level }) => level === 'error');
  if (missing) return findings;
  const role = await controllerRole(client, controller);
  const context = { clients, clock, clusterName, kubernetesVersion, queueName, role, controllers };
  return [...findings, ...(await objects(client, context))];
}

/** Runs checks and returns their findings, or a warning if they fail. */
async function runChecks(
  subject: string,
  look: () => Promise<readonly Finding[]>,
  fix = 'use a kubeconfig with the permission to list NodeClaims, Nodes, Leases, CRDs and webhook configurations',
): Promise<readonly Finding[]> {
  try {
    return await look();
  } catch (error) {
    return [unknownFinding(subject, `cannot be checked: ${(error as Error).message}`, fix)];
  }
}

async function objects(
  client: HttpKubeReader,
  context: NodeClassChecks &
    Pick<SimulatedScope, 'queueName' | 'role'> & { readonly controllers: readonly FoundController[] },
): Promise<readonly Finding[]> {
  try {
    const [nodeClasses, pools, policies] = await Promise.all([
      client.listAll(EC2_NODE_CLASS),
      client.listAll(NODE_POOL),
      listPolicies(client),
    ]);
    const nodeRoles = [...new Set(nodeClasses.flatMap(({ spec }) => (spec.role === undefined ? [] : [spec.role])))];
    const { controllers, clock } = context;
    const [ofTakeover, ofRole, ...reports] = await Promise.all([
      runChecks('takeover', () => takeover(client, { controllers, pools, nodeClasses, clock })),
      simulateCalls({ ...context, nodeRoles }),
      ...nodeClasses.map((nodeClass) => checkNodeClass(nodeClass, context)),
    ]);
    const resolved = new Map(reports.map(({ nodeClass }) => [nodeClass.metadata.name, nodeClass]));
    const survey = surveyOf(context);
    const ofPools = await diagnoseNodePools(pools, { nodeClasses: resolved, survey, coming: comingOf(context) });
    const own = controllers.find(({ isKarpenter }) => !isKarpenter);
    const ofReservations = await runChecks(
      'capacity reservations',
      () => checkReservations({ pools, nodeClasses: resolved, survey, controller: own, context }),
      'allow ec2:DescribeCapacityReservations',
    );
    const none = warning('EC2NodeClasses', 'none found', 'kubectl apply -f examples/ec2nodeclass.yaml');
    if (reports.length === 0) return [...ofRole, none, ...ofPools, ...ofTakeover];
    const launch = reports.find((report) => report.launch !== undefined)?.launch;
    const reboots = policies.some(({ spec }) => spec.repair?.conditions?.some(({ action }) => action === 'Reboot'));
    const writes =
      launch === undefined ? [] : await writePermissions(context.clients, context.clusterName, launch, { reboots });
    return [
      ...writes,
      ...ofRole,
      ...ofPools,
      ...ofReservations,
      ...reports.flatMap(({ findings }) => findings),
      ...ofTakeover,
    ];
  } catch (error) {
    const fix = 'use a kubeconfig with the permission to list NodePools, NodePolicies and EC2NodeClasses';
    return [problem('NodePools and EC2NodeClasses', (error as Error).message, fix)];
  }
}

/** Returns no policies in a cluster without the kind. */
async function listPolicies(client: HttpKubeReader): Promise<readonly NodePolicy[]> {
  try {
    return await client.listAll(NODE_POLICY);
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}
