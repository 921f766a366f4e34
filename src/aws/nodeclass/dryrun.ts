/**
 * Validates a launch without launching instances: creates a launch template, then dry-runs CreateFleet and
 * RunInstances.
 */
import { CreateFleetCommand, type EC2Client, RunInstancesCommand, type TagSpecification } from '@aws-sdk/client-ec2';
import {
  ARCH_LABEL,
  type EC2NodeClass,
  INSTANCE_TENANCY_LABEL,
  INSTANCE_TYPE_LABEL,
  type NodeClaim,
  type NodePool,
  OS_LABEL,
  type StringMap,
  WINDOWS_BUILD_LABEL,
} from '#api/objects';
import { type InstanceType, Requirements, requirementsOf } from '#engine/model';
import { amiForType } from '../amis/ami-for-type.ts';
import { familyOf, isWindows } from '../amis/families.ts';
import { STANDARD } from '../amis/queries.ts';
import { codeOf, describeError, explainRefusal, isDenied, isDryRun, isServerFault, isThrottled } from '../errors.ts';
import { poolRequirements } from '../nodepools.ts';
import { tagList } from '../tags.ts';

/** Result of a check. `again` requires an immediate retry. */
export type DryRunResult =
  | { readonly kind: 'passed' }
  | { readonly kind: 'refused'; readonly reason: string; readonly message: string; readonly remember: boolean }
  | { readonly kind: 'again' };

const passed: DryRunResult = { kind: 'passed' };

/** Returns common types, which are tried if the NodePools select no types. */
function commonTypes(types: readonly InstanceType[]): readonly InstanceType[] {
  const wanted = [
    ['m5.large', 'amd64'],
    ['m6g.large', 'arm64'],
  ].flatMap(([name = '', arch = '']) => {
    const type = types.find((each) => each.name === name);
    if (type === undefined) return [];
    const requirements = [
      { key: INSTANCE_TYPE_LABEL, operator: 'In' as const, values: [name] },
      { key: ARCH_LABEL, operator: 'In' as const, values: [arch] },
      ...STANDARD,
      { key: OS_LABEL, operator: 'Exists' as const },
      { key: WINDOWS_BUILD_LABEL, operator: 'Exists' as const },
    ];
    return [{ ...type, requirements }];
  });
  return wanted.length > 0 ? wanted : types;
}

/** Returns the type for the dry run, or undefined if no type has a compatible AMI. */
export function typeToTry(
  nodeClass: EC2NodeClass,
  types: readonly InstanceType[],
  pools: readonly NodePool[],
): InstanceType | undefined {
  const wanted = new Set<InstanceType>();
  for (const pool of pools) {
    const requirements = poolRequirements(pool);
    for (const type of types) if (requirementsOf(type).intersects(requirements)) wanted.add(type);
  }
  const usable = wanted.size === 0 || isWindows(familyOf(nodeClass)) ? commonTypes(types) : [...wanted];
  const amis = nodeClass.status?.amis ?? [];
  const standard = Requirements.fromRequirements(STANDARD);
  const mapped = usable.flatMap((type) => {
    const ami = amiForType(amis, type);
    return ami === undefined ? [] : [{ type, at: amis.indexOf(ami), ami }];
  });
  const plain = mapped.filter(({ ami }) => Requirements.fromRequirements(ami.requirements).intersects(standard));
  return (plain.length > 0 ? plain : mapped).sort((a, b) => a.at - b.at)[0]?.type;
}

/**
 * Returns the tenancy for the dry run. Dedicated tenancy is tried if a NodePool allows it, because it requires more
 * permissions.
 */
export const tenancyToTry = (pools: readonly NodePool[]): 'default' | 'dedicated' =>
  pools.some((pool) => {
    const requirements = poolRequirements(pool);
    return requirements.has(INSTANCE_TENANCY_LABEL) && requirements.get(INSTANCE_TENANCY_LABEL).has('dedicated');
  })
    ? 'dedicated'
    : 'default';

/** Returns a representative NodeClaim of the NodeClass. */
export const claimToTry = (nodeClass: EC2NodeClass): NodeClaim => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: '' },
  spec: {
    nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: nodeClass.metadata.name },
    requirements: [],
  },
});

/**
 * Converts the error of a dry run to a result.
 * @throws Error if the error does not concern the NodeClass
 */
export function judge(operation: string, reason: string, error: unknown): DryRunResult {
  if (isDryRun(error)) return passed;
  if (isThrottled(error) || isServerFault(error)) return { kind: 'again' };
  if (isDenied(error)) {
    const message = `Controller isn't authorized to call ec2:${operation}: ${explainRefusal(error)}`;
    return { kind: 'refused', reason, message, remember: true };
  }
  if (codeOf(error) === 'InvalidUserData.Malformed' && describeError(error).includes('User data is limited to')) {
    const message =
      'ec2:CreateLaunchTemplate rejected the rendered user data as too large: Rendered user data exceeds the EC2 user data size limit';
    return { kind: 'refused', reason: 'UserDataSizeLimitExceeded', message, remember: true };
  }
  throw new Error(`validating ec2:${operation} authorization, ${describeError(error)}`, { cause: error });
}

const specifications = (types: readonly TagSpecification['ResourceType'][], tags: StringMap): TagSpecification[] =>
  types.map((ResourceType) => ({ ResourceType, Tags: tagList(tags) }));

interface DryRunInput {
  readonly nodeClass: EC2NodeClass;
  readonly templateName: string;
  readonly instanceTypes: readonly string[];
  readonly tags: StringMap;
}

type TypeName = NonNullable<NonNullable<ConstructorParameters<typeof RunInstancesCommand>[0]>['InstanceType']>;

export async function tryFleet(ec2: EC2Client, input: DryRunInput): Promise<DryRunResult> {
  const { nodeClass, templateName, instanceTypes, tags } = input;
  const overrides = instanceTypes.flatMap((type) =>
    (nodeClass.status?.subnets ?? []).map(({ id }) => ({ InstanceType: type as TypeName, SubnetId: id })),
  );
  const request = new CreateFleetCommand({
    DryRun: true,
    Type: 'instant',
    OnDemandOptions: { AllocationStrategy: 'lowest-price' },
    LaunchTemplateConfigs: [
      {
        LaunchTemplateSpecification: { LaunchTemplateName: templateName, Version: '$Latest' },
        Overrides: overrides,
      },
    ],
    TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: 'on-demand' },
    TagSpecifications: specifications(['instance', 'volume', 'fleet'], tags),
  });
  try {
    await ec2.send(request);
    return passed;
  } catch (error) {
    return judge('CreateFleet', 'CreateFleetAuthCheckFailed', error);
  }
}

function runInstances(
  { nodeClass, templateName, instanceTypes, tags }: DryRunInput,
  subnetId: string,
): RunInstancesCommand {
  const own = nodeClass.spec.networkInterfaces ?? [];
  const interfaces = own.map(({ networkCardIndex, deviceIndex, interfaceType }) => ({
    NetworkCardIndex: networkCardIndex,
    DeviceIndex: deviceIndex,
    InterfaceType: interfaceType,
    SubnetId: subnetId,
  }));
  return new RunInstancesCommand({
    DryRun: true,
    MinCount: 1,
    MaxCount: 1,
    LaunchTemplate: { LaunchTemplateName: templateName, Version: '$Latest' },
    InstanceType: instanceTypes[0] as TypeName,
    NetworkInterfaces: interfaces.length > 0 ? interfaces : [{ DeviceIndex: 0, SubnetId: subnetId }],
    TagSpecifications: specifications(['instance', 'volume', 'network-interface'], tags),
  });
}

/** Passes if the dry run succeeds in one subnet. Otherwise the error for the first subnet determines the result. */
export async function tryInstance(ec2: EC2Client, input: DryRunInput): Promise<DryRunResult> {
  let first: unknown;
  for (const { id } of input.nodeClass.status?.subnets ?? []) {
    try {
      await ec2.send(runInstances(input, id));
      return passed;
    } catch (error) {
      if (isDryRun(error)) return passed;
      first ??= error;
    }
  }
  const missing =
    codeOf(first) === 'InvalidParameterValue' && describeError(first).includes('Invalid IAM Instance Profile name');
  const given = input.nodeClass.spec.instanceProfile;
  // A recently created profile may not be visible to EC2 yet.
  if (missing && given === undefined) return { kind: 'again' };
  if (missing) {
    const message = `Instance profile "${given}" not found`;
    return { kind: 'refused', reason: 'InstanceProfileNotFound', message, remember: false };
  }
  return judge('RunInstances', 'RunInstancesAuthCheckFailed', first);
}
