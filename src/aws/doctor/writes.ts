/** Dry-runs the calls with which the operator changes AWS resources. */

import {
  type _InstanceType,
  CreateFleetCommand,
  CreateLaunchTemplateCommand,
  CreateTagsCommand,
  DeleteLaunchTemplateCommand,
  DescribeInstancesCommand,
  DescribeLaunchTemplatesCommand,
  RebootInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import type { EC2NodeClass } from '#api/objects';
import type { Finding } from '#cloud';
import type { Clients } from '../clients.ts';
import { isNotFound } from '../errors.ts';
import { CLUSTER_NAME_TAG, launchTags, NAME_TAG, NODECLAIM_TAG, tagList } from '../tags.ts';
import { checkPermission, fine } from './finding.ts';

/** Parameters for the dry run of a NodeClass's launch. */
export interface TriedLaunch {
  readonly nodeClass: EC2NodeClass;
  readonly image: string;
  readonly subnet: string;
  readonly type: string;
}

/** Calls that only some configurations need. */
interface OptionalCalls {
  /** True if a NodePolicy sets the action `Reboot`. */
  readonly reboots: boolean;
}

const DryRun = true;
const NO_INSTANCE = 'i-00000000000000000';
const NO_TEMPLATE = 'karpenter.k8s.aws/doctor';

/**
 * AWS checks permissions before it looks up the resource. A "not found" error therefore means that the call is
 * allowed.
 */
async function checkAllowed(
  action: string,
  call: () => Promise<unknown>,
  level: Finding['level'] = 'error',
): Promise<Finding> {
  const called = (): Promise<unknown> =>
    call().catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  return checkPermission(action, called, level);
}

async function lookUp<T>(look: () => Promise<T | undefined>, otherwise: T): Promise<T> {
  try {
    return (await look()) ?? otherwise;
  } catch {
    // Another check reports missing read permissions.
    return otherwise;
  }
}

/**
 * Finds an instance and a launch template of the cluster if they exist, because permissions may depend on their tags.
 */
async function subjects({ ec2Once: ec2 }: Clients, clusterName: string) {
  const Filters = [{ Name: `tag:${CLUSTER_NAME_TAG}`, Values: [clusterName] }];
  const [instance, template] = await Promise.all([
    lookUp(async () => {
      const { Reservations = [] } = await ec2.send(new DescribeInstancesCommand({ Filters, MaxResults: 5 }));
      return Reservations[0]?.Instances?.[0]?.InstanceId;
    }, NO_INSTANCE),
    lookUp(async () => {
      const answer = await ec2.send(new DescribeLaunchTemplatesCommand({ Filters, MaxResults: 1 }));
      return answer.LaunchTemplates?.[0]?.LaunchTemplateName;
    }, NO_TEMPLATE),
  ]);
  return { instance, template };
}

export async function writePermissions(
  clients: Clients,
  clusterName: string,
  launch: TriedLaunch,
  { reboots }: OptionalCalls,
): Promise<readonly Finding[]> {
  const { ec2Once: ec2 } = clients;
  const tags = tagList(launchTags(launch.nodeClass, { name: clusterName, uid: 'doctor' }, ''));
  const { instance, template } = await subjects(clients, clusterName);
  const findings = await Promise.all([
    checkAllowed('ec2:CreateLaunchTemplate', () => ec2.send(templateToTry(launch, tags))),
    checkAllowed('ec2:CreateFleet', () => ec2.send(fleetToTry(launch, template, tags))),
    checkAllowed('ec2:DeleteLaunchTemplate', () =>
      ec2.send(new DeleteLaunchTemplateCommand({ DryRun, LaunchTemplateName: template })),
    ),
    checkAllowed('ec2:TerminateInstances', () =>
      ec2.send(new TerminateInstancesCommand({ DryRun, InstanceIds: [instance] })),
    ),
    checkAllowed('ec2:CreateTags', () => ec2.send(tagsToTry(instance, clusterName))),
    // without the permission, a node is replaced instead
    ...(reboots
      ? [
          checkAllowed(
            'ec2:RebootInstances',
            () => ec2.send(new RebootInstancesCommand({ DryRun, InstanceIds: [instance] })),
            'warning',
          ),
        ]
      : []),
  ]);
  const isGuess = (action: string): boolean =>
    (instance === NO_INSTANCE && /Terminate|Reboot|CreateTags/.test(action)) ||
    (template === NO_TEMPLATE && /Delete|Fleet/.test(action));
  return findings.map((finding) =>
    finding.level === 'ok' && isGuess(finding.subject)
      ? fine(finding.subject, 'allowed, as far as can be checked before the cluster has an instance')
      : finding,
  );
}

type Tags = ReturnType<typeof tagList>;

const templateToTry = ({ image }: TriedLaunch, tags: Tags): CreateLaunchTemplateCommand =>
  new CreateLaunchTemplateCommand({
    DryRun,
    LaunchTemplateName: NO_TEMPLATE,
    LaunchTemplateData: { ImageId: image },
    TagSpecifications: [{ ResourceType: 'launch-template', Tags: tags }],
  });

const fleetToTry = ({ type, subnet }: TriedLaunch, template: string, tags: Tags): CreateFleetCommand =>
  new CreateFleetCommand({
    DryRun,
    Type: 'instant',
    LaunchTemplateConfigs: [
      {
        LaunchTemplateSpecification: { LaunchTemplateName: template, Version: '$Latest' },
        Overrides: [{ InstanceType: type as _InstanceType, SubnetId: subnet }],
      },
    ],
    TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: 'on-demand' },
    TagSpecifications: (['instance', 'volume', 'fleet'] as const).map((ResourceType) => ({ ResourceType, Tags: tags })),
  });

const tagsToTry = (instance: string, clusterName: string): CreateTagsCommand =>
  new CreateTagsCommand({
    DryRun,
    Resources: [instance],
    Tags: tagList({ [NAME_TAG]: 'doctor', [NODECLAIM_TAG]: 'doctor', [CLUSTER_NAME_TAG]: clusterName }),
  });
