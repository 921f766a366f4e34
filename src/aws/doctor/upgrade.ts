/**
 * Checks of the account before an upgrade or a migration: permissions, the service-linked role for spot, instances of
 * alpha versions and Auto Scaling groups.
 */

import { DescribeInstancesCommand, type Instance } from '@aws-sdk/client-ec2';
import type { Finding } from '#cloud';
import type { HttpKubeReader } from '#kube/connection';
import { type Clients, createClients } from '../clients.ts';
import { describeError } from '../errors.ts';
import { account } from './account.ts';
import type { FoundController } from './cluster.ts';
import { fine, unknownFinding, warning } from './finding.ts';
import { controllerRole, simulateCalls } from './simulation.ts';

export interface UpgradeScope {
  readonly clusterName: string;
  /** Empty if no interruption queue is configured. */
  readonly queueName: string;
  readonly controller: FoundController | undefined;
  /** Names of the node roles that the NodeClasses set. */
  readonly nodeRoles: readonly string[];
  /** IDs of the instances of the cluster's nodes. */
  readonly instanceIds: ReadonlySet<string>;
}

/**
 * Performs only reads and dry runs.
 * @throws Error if the region or the credentials are missing
 */
export async function examineForUpgrade(
  client: Pick<HttpKubeReader, 'raw'>,
  scope: UpgradeScope,
): Promise<readonly Finding[]> {
  const clients = await createClients();
  const role = await controllerRole(client, scope.controller);
  const [ofAccount, ofRole, ofInstances] = await Promise.all([
    account(clients, scope),
    simulateCalls({ ...scope, clients, role }),
    alphaInstances(clients, scope),
  ]);
  return [...ofAccount, ...ofRole, ...ofInstances];
}

/** Tag of alpha versions. */
const PROVISIONER_TAG = 'karpenter.sh/provisioner-name';
const GROUP_TAG = 'aws:autoscaling:groupName';
const AT_ONCE = 200;

async function describe(clients: Clients, input: object): Promise<readonly Instance[]> {
  const found: Instance[] = [];
  let NextToken: string | undefined;
  do {
    const page = await clients.ec2Once.send(
      new DescribeInstancesCommand({ ...input, ...(NextToken === undefined ? {} : { NextToken }) }),
    );
    found.push(...(page.Reservations ?? []).flatMap(({ Instances = [] }) => Instances));
    NextToken = page.NextToken;
  } while (NextToken !== undefined && NextToken !== '');
  return found;
}

/** Reports instances of Provisioners that have no node. No controller terminates them. */
async function alphaInstances(
  clients: Clients,
  { clusterName, instanceIds }: UpgradeScope,
): Promise<readonly Finding[]> {
  const subject = 'instances of Provisioners';
  try {
    const found = await describe(clients, {
      Filters: [
        { Name: 'tag-key', Values: [PROVISIONER_TAG] },
        { Name: `tag:kubernetes.io/cluster/${clusterName}`, Values: ['owned'] },
        { Name: 'instance-state-name', Values: ['pending', 'running', 'stopping', 'stopped'] },
      ],
    });
    const lost = found.flatMap(({ InstanceId: id }) => (id === undefined || instanceIds.has(id) ? [] : [id]));
    if (lost.length === 0) return [fine(subject, 'each has a node')];
    const fix = `check the instances, then run: aws ec2 terminate-instances --instance-ids ${lost.join(' ')}`;
    return [warning(subject, `without a node: ${lost.join(', ')}; no version since 0.33 terminates them`, fix)];
  } catch (error) {
    return [unknownFinding(subject, `cannot be described: ${describeError(error)}`, 'allow ec2:DescribeInstances')];
  }
}

/**
 * Returns the names of the Auto Scaling groups of instances.
 * @throws Error if a request to AWS fails
 */
export async function autoScalingGroups(instanceIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const groups = new Map<string, string>();
  if (instanceIds.length === 0) return groups;
  const clients = await createClients();
  for (let at = 0; at < instanceIds.length; at += AT_ONCE) {
    const Filters = [{ Name: 'instance-id', Values: instanceIds.slice(at, at + AT_ONCE) }];
    for (const { InstanceId: id, Tags = [] } of await describe(clients, { Filters })) {
      const name = Tags.find(({ Key }) => Key === GROUP_TAG)?.Value;
      if (id !== undefined && name !== undefined) groups.set(id, name);
    }
  }
  return groups;
}
