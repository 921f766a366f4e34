/** Checks of each NodeClass: resolves its selectors against the account. */

import { type _InstanceType, RunInstancesCommand } from '@aws-sdk/client-ec2';
import { GetRoleCommand } from '@aws-sdk/client-iam';
import { causesOf, type EC2NodeClass, getCondition } from '#api/objects';
import type { Finding } from '#cloud';
import type { Clock } from '#lib/clock';
import { silent } from '#observe/logger';
import { Amis, amiStatus } from '../amis/amis.ts';
import type { Clients } from '../clients.ts';
import { describeError, isDryRun, isNotFound } from '../errors.ts';
import { InstanceProfiles } from '../instanceprofiles/instanceprofiles.ts';
import { PlacementGroups } from '../placementgroups.ts';
import { SecurityGroups } from '../securitygroups.ts';
import { SsmParameters } from '../ssm.ts';
import { Subnets, scarceText } from '../subnets/subnets.ts';
import { launchTags, restrictedTags, tagList } from '../tags.ts';
import { fine, isDenied, problem, warning } from './finding.ts';
import type { TriedLaunch } from './writes.ts';

export interface NodeClassChecks {
  readonly clients: Clients;
  readonly clock: Clock;
  readonly clusterName: string;
  /** Version in the form `major.minor`. */
  readonly kubernetesVersion: string;
}

const CACHE_MS = 60_000;

/** Resolves a selector and returns the resources with a finding about them. */
async function checkSelector<T>(
  subject: string,
  selector: string,
  find: () => Promise<readonly T[]>,
  describe: (found: readonly T[]) => string,
): Promise<readonly [Finding, readonly T[]]> {
  try {
    const found = await find();
    if (found.length > 0) return [fine(subject, describe(found)), found];
    return [
      problem(subject, `${selector} matches nothing`, `correct ${selector}, or tag the objects that it should match`),
      [],
    ];
  } catch (error) {
    return [
      problem(subject, `${selector}: ${describeError(error)}`, 'see the error; permissions are listed above'),
      [],
    ];
  }
}

async function profile(nodeClass: EC2NodeClass, subject: string, { iam }: Clients, clock: Clock): Promise<Finding> {
  const { role, instanceProfile } = nodeClass.spec;
  try {
    if (instanceProfile !== undefined) {
      const found = await new InstanceProfiles(iam, clock).get(instanceProfile);
      if (found === undefined)
        return problem(subject, `instance profile ${instanceProfile} does not exist`, 'create it, or set spec.role');
      return found.roles.length > 0
        ? fine(subject, `instance profile ${instanceProfile} with role ${found.roles.join(', ')}`)
        : problem(subject, `instance profile ${instanceProfile} has no role`, 'add the node role to it');
    }
    const name = role?.split('/').at(-1) ?? '';
    const { Role } = await iam.send(new GetRoleCommand({ RoleName: name }));
    const trust = decodeURIComponent(Role?.AssumeRolePolicyDocument ?? '');
    return trust.includes('ec2.amazonaws.com')
      ? fine(subject, `role ${name}`)
      : problem(
          subject,
          `EC2 is not allowed to assume role ${name}`,
          'allow ec2.amazonaws.com to assume it in its trust policy',
        );
  } catch (error) {
    if (isNotFound(error))
      return problem(subject, `role ${role} does not exist`, 'create the node role, or correct spec.role');
    return warning(subject, `spec.role cannot be read: ${describeError(error)}`, 'make sure that the role exists');
  }
}

/** Dry-runs the launch of one instance of the NodeClass, in its first subnet. */
async function launchable(
  subject: string,
  { clients, clusterName }: NodeClassChecks,
  launch: TriedLaunch,
): Promise<Finding> {
  const Tags = tagList(launchTags(launch.nodeClass, { name: clusterName, uid: 'doctor' }, ''));
  const command = new RunInstancesCommand({
    DryRun: true,
    MinCount: 1,
    MaxCount: 1,
    ImageId: launch.image,
    InstanceType: launch.type as _InstanceType,
    SubnetId: launch.subnet,
    TagSpecifications: (['instance', 'volume', 'network-interface'] as const).map((ResourceType) => ({
      ResourceType,
      Tags,
    })),
  });
  try {
    await clients.ec2Once.send(command);
  } catch (error) {
    if (!isDryRun(error)) {
      const message = `a dry run of ec2:RunInstances failed: ${describeError(error)}`;
      return isDenied(error)
        ? problem(subject, message, 'allow ec2:RunInstances in KarpenterControllerNodeLifecyclePolicy')
        : warning(subject, message, 'correct the cause in the error');
    }
  }
  return fine(subject, `a ${launch.type} could be launched in ${launch.subnet}`);
}

/** Findings about a NodeClass, and a launch of the NodeClass that was tried. */
interface NodeClassReport {
  readonly findings: readonly Finding[];
  /**
   * The NodeClass with the resolved resources as its status, or without a status if a subnet or an image is missing.
   */
  readonly nodeClass: EC2NodeClass;
  readonly launch?: TriedLaunch;
}

/** Returns findings about the readiness and the tags of a NodeClass. */
function ownFindings(nodeClass: EC2NodeClass, subject: string): readonly Finding[] {
  const findings: Finding[] = [];
  const ready = getCondition(nodeClass, 'Ready');
  if (ready?.status === 'False')
    findings.push(
      problem(subject, `is not ready: ${readyText(nodeClass)}`, 'see its conditions: kubectl describe ec2nodeclass'),
    );
  const restricted = restrictedTags(nodeClass.spec.tags);
  if (restricted.length > 0)
    findings.push(
      problem(
        subject,
        `spec.tags sets ${restricted.join(', ')}`,
        'remove them, because the controller sets these tags',
      ),
    );
  return findings;
}

export async function checkNodeClass(nodeClass: EC2NodeClass, checks: NodeClassChecks): Promise<NodeClassReport> {
  const { clients, clock, kubernetesVersion } = checks;
  const subject = `EC2NodeClass ${nodeClass.metadata.name}`;
  const amis = new Amis({
    ec2: clients.ec2,
    parameters: new SsmParameters(clients.ssm, clock, silent),
    clusterVersion: () => kubernetesVersion,
    clock,
    log: silent,
    refreshMs: CACHE_MS,
  });
  const subnetsOf = new Subnets(clients.ec2, clock, CACHE_MS);
  const [[subnetFinding, subnets], [groupFinding], [imageFinding, images], profileFinding] = await Promise.all([
    checkSelector(
      subject,
      'spec.subnetSelectorTerms',
      () => subnetsOf.list(nodeClass),
      (found) => `${found.length} subnets in ${[...new Set(found.map(({ zone }) => zone))].sort().join(', ')}`,
    ),
    checkSelector(
      subject,
      'spec.securityGroupSelectorTerms',
      () => new SecurityGroups(clients.ec2, clock).list(nodeClass),
      (found) => `security groups ${found.map(({ id }) => id).join(', ')}`,
    ),
    checkSelector(
      subject,
      'spec.amiSelectorTerms',
      () => amis.list(nodeClass),
      (found) => `${found.length} images, newest ${found[0]?.name}`,
    ),
    profile(nodeClass, subject, clients, clock),
  ]);
  const findings = [subnetFinding, groupFinding, imageFinding, profileFinding];
  if (new Set(subnets.map(({ zone }) => zone)).size === 1)
    findings.push(warning(subject, 'all its subnets are in one zone', 'select subnets in other zones'));
  for (const scarce of subnetsOf.scarce(subnets))
    findings.push(
      warning(subject, scarceText(scarce), 'add a CIDR block with more subnets to the VPC, and select them'),
    );
  for (const { id, deprecated } of images)
    if (deprecated) findings.push(warning(subject, `image ${id} is deprecated`, 'select a newer image'));
  findings.push(...ownFindings(nodeClass, subject));
  if (nodeClass.spec.placementGroupSelector !== undefined)
    findings.push(await placementGroup(nodeClass, subject, checks));

  const image = images.find(({ requirements }) =>
    requirements.some(({ key, values = [] }) => key === 'kubernetes.io/arch' && values.includes('amd64')),
  );
  const usable = image ?? images[0];
  const [subnet] = subnets;
  const { status: _, ...bare } = nodeClass;
  if (usable === undefined || subnet === undefined) return { findings, nodeClass: bare };
  const found = { ...nodeClass, status: { ...nodeClass.status, subnets: [...subnets], amis: images.map(amiStatus) } };
  const type = image === undefined ? 'm6g.large' : 'm5.large';
  const launch = { nodeClass, image: usable.id, subnet: subnet.id, type };
  return { findings: [...findings, await launchable(subject, checks, launch)], nodeClass: found, launch };
}

const readyText = (nodeClass: EC2NodeClass): string =>
  causesOf(nodeClass)
    .map(({ type, reason, message }) => `${type}: ${reason}: ${message}`)
    .join('; ') ||
  (getCondition(nodeClass, 'Ready')?.message ?? '');

async function placementGroup(
  nodeClass: EC2NodeClass,
  subject: string,
  { clients, clock }: NodeClassChecks,
): Promise<Finding> {
  const fix = 'correct spec.placementGroupSelector, or create the group';
  try {
    const group = await new PlacementGroups(clients.ec2, clock).resolve(nodeClass);
    return group === undefined
      ? problem(subject, 'its placement group does not exist', fix)
      : fine(subject, `placement group ${group.id}`);
  } catch (error) {
    return problem(subject, `its placement group cannot be read: ${describeError(error)}`, fix);
  }
}
