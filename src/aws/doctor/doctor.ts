/**
 * A preflight of an account and a cluster: everything that is known to keep the operator from buying nodes, with what to
 * do about it. Reads and dry runs only.
 */
import { EC2_NODE_CLASS } from '../../api/kinds.ts';
import { realClock } from '../../kube/clock.ts';
import { connect, type HttpKubeClient } from '../../kube/http.ts';
import { createClients } from '../clients.ts';
import { cluster, identity, permissions, queue, spotRole } from './account.ts';
import { definitions, findController, installation, pools } from './cluster.ts';
import { type Finding, problem, warning } from './finding.ts';
import { checkNodeClass, type NodeClassChecks } from './nodeclasses.ts';
import { controllerRole, type SimulatedScope, simulated } from './simulation.ts';
import { writePermissions } from './writes.ts';

export type { Finding } from './finding.ts';

export interface DoctorOptions {
  /** Default: that of the installation in the cluster. */
  readonly clusterName?: string | undefined;
  /** Default: that of the installation in the cluster. */
  readonly interruptionQueue?: string | undefined;
  readonly kubeconfig?: string | undefined;
  /** Of the product. */
  readonly version: string;
}

/** @throws Error when no region, kubeconfig or cluster name is known, or the API server cannot be reached */
export async function examine(options: DoctorOptions): Promise<readonly Finding[]> {
  const clock = realClock();
  const client = connect({
    clock,
    userAgent: `karpenter-doctor/${options.version}`,
    ...(options.kubeconfig === undefined ? {} : { kubeconfig: options.kubeconfig }),
  });
  try {
    return await checks(options, client);
  } finally {
    client.close();
  }
}

async function checks(options: DoctorOptions, client: HttpKubeClient): Promise<readonly Finding[]> {
  const clock = realClock();
  const clients = await createClients();
  const [served, controller] = await Promise.all([
    client.raw('/version') as Promise<{ readonly major: string; readonly minor: string }>,
    findController(client),
  ]);
  const kubernetesVersion = `${served.major}.${Number.parseInt(served.minor, 10)}`;
  const clusterName = options.clusterName ?? controller?.setting('CLUSTER_NAME');
  if (clusterName === undefined)
    throw new Error('the name of the cluster is not known: set --cluster-name, since no installation was found');
  const queueName = options.interruptionQueue ?? controller?.setting('INTERRUPTION_QUEUE') ?? '';

  const [ofKinds, ofAccount] = await Promise.all([
    definitions(client),
    Promise.all([
      identity(clients),
      cluster(clients, clusterName),
      permissions(clients, clusterName),
      queue(clients, queueName),
      spotRole(clients),
    ]),
  ]);
  const findings = [...ofAccount.flat(), installation(controller, options.version), ...ofKinds];
  const missing = ofKinds.some(({ level }) => level === 'error');
  if (missing) return findings;
  const role = await controllerRole(client, controller);
  return [...findings, ...(await objects(client, { clients, clock, clusterName, kubernetesVersion, queueName, role }))];
}

async function objects(
  client: HttpKubeClient,
  context: NodeClassChecks & Pick<SimulatedScope, 'queueName' | 'role'>,
): Promise<readonly Finding[]> {
  try {
    const nodeClasses = await client.listAll(EC2_NODE_CLASS);
    const names = new Set(nodeClasses.map(({ metadata }) => metadata.name));
    const nodeRoles = [...new Set(nodeClasses.flatMap(({ spec }) => (spec.role === undefined ? [] : [spec.role])))];
    const [ofPools, ofRole, ...reports] = await Promise.all([
      pools(client, names),
      simulated({ ...context, nodeRoles }),
      ...nodeClasses.map((nodeClass) => checkNodeClass(nodeClass, context)),
    ]);
    const none = warning('EC2NodeClasses', 'there are none', 'kubectl apply -f examples/ec2nodeclass.yaml');
    if (reports.length === 0) return [...ofRole, none, ...ofPools];
    const launch = reports.find((report) => report.launch !== undefined)?.launch;
    const writes = launch === undefined ? [] : await writePermissions(context.clients, context.clusterName, launch);
    return [...writes, ...ofRole, ...ofPools, ...reports.flatMap(({ findings }) => findings)];
  } catch (error) {
    const fix = 'use a kubeconfig that may list NodePools and EC2NodeClasses';
    return [problem('NodePools and EC2NodeClasses', (error as Error).message, fix)];
  }
}
