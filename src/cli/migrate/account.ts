/** Converts the findings of `karpenter doctor` that concern a migration. */

import type { EC2NodeClass, Node } from '#api/objects';
import type { HttpKubeReader } from '#kube/connection';
import { messageOf } from '#lib';
import type { Facts } from './facts.ts';
import { type Item, itemsIn } from './items.ts';
import { instanceIdOfNode } from './origins.ts';

const { itemOf, unknown } = itemsIn('account');

/** Returns an item for a file, which contains no information about the AWS account. */
export const accountOfFile = (): readonly Item[] => [
  unknown('AWS account', 'cannot be checked from a file', 'karpenter migrate status without -f, or karpenter doctor'),
];

/** Settings that override the settings of the installation. */
export interface AccountFlags {
  readonly clusterName?: string;
  readonly interruptionQueue?: string;
}

export async function accountItems(
  client: Pick<HttpKubeReader, 'raw'>,
  facts: Facts,
  flags: AccountFlags,
): Promise<readonly Item[]> {
  const [controller] = facts.controllers;
  const clusterName = flags.clusterName ?? clusterNameOf(facts);
  const queueName = flags.interruptionQueue ?? controller?.setting('INTERRUPTION_QUEUE') ?? '';
  if (clusterName === undefined)
    return [
      unknown('AWS account', 'the name of the cluster is unknown', 'karpenter migrate status --cluster-name NAME'),
    ];
  const roles = facts.of<EC2NodeClass>('EC2NodeClass').flatMap(({ spec }) => spec?.role ?? []);
  const { examineForUpgrade } = await import('#aws/doctor');
  try {
    const findings = await examineForUpgrade(client, {
      clusterName,
      queueName,
      controller,
      nodeRoles: [...new Set(roles)],
      instanceIds: new Set(facts.of<Node>('Node').flatMap((node) => instanceIdOfNode(node) ?? [])),
    });
    return findings.map((finding) => itemOf(finding));
  } catch (error) {
    return [
      unknown(
        'AWS account',
        `cannot be queried: ${messageOf(error)}`,
        'set region and credentials, for example AWS_REGION and AWS_PROFILE',
      ),
    ];
  }
}

/** Returns the cluster name from the installation, or from labels that eksctl and EKS set on nodes. */
export function clusterNameOf(facts: Facts): string | undefined {
  const setting = facts.controllers.map((each) => each.setting('CLUSTER_NAME')).find((name) => name !== undefined);
  if (setting !== undefined) return setting;
  return facts
    .of<Node>('Node')
    .map(({ metadata: { labels = {} } }) => labels['alpha.eksctl.io/cluster-name'] ?? labels['eks:cluster-name'])
    .find((name) => name !== undefined);
}
