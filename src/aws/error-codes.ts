/**
 * Classifies every error code that EC2 documents for CreateFleet, RunInstances and their overrides. The class decides how long
 * an offering is unavailable, and whether the NodeClaim is retried or replaced by another plan.
 */

/**
 * - `capacity`: AWS has no capacity in the pool.
 * - `offering`: the instance type cannot be launched in the zone, or with the capacity type or the tenancy.
 * - `subnet`: the subnet is full or missing.
 * - `capacity-type`: the account cannot use the capacity type.
 * - `quota`: a quota of the account is exhausted.
 * - `template`: the request, its image or its launch template is invalid.
 * - `permission`: EC2 refuses the caller before it evaluates the request.
 * - `transient`: EC2 failed or throttles.
 * - `unknown`: all other codes.
 */
export type ErrorClass =
  | 'capacity'
  | 'offering'
  | 'subnet'
  | 'capacity-type'
  | 'quota'
  | 'template'
  | 'permission'
  | 'transient'
  | 'unknown';

export const SPOT_ROLE_MISSING = 'AuthFailure.ServiceLinkedRoleCreationNotPermitted';
export const LAUNCH_TEMPLATE_NOT_FOUND = 'InvalidLaunchTemplateName.NotFoundException';
/** Recorded if a fleet has neither enough instances nor an error. */
export const TOO_FEW_INSTANCES = 'too few instances returned';

const CODES: Readonly<Record<Exclude<ErrorClass, 'unknown'>, readonly string[]>> = {
  capacity: ['InsufficientInstanceCapacity', 'UnfulfillableCapacity', 'InsufficientCapacity'],
  offering: [
    ...['SpotMaxPriceTooLow', 'Unsupported', 'UnsupportedOperation', 'UnsupportedTenancy', 'InvalidTenancy'],
    ...['InvalidInstanceType', 'InvalidInstanceFamily', 'InvalidAvailabilityZone', 'InvalidZone.NotFound'],
    ...['ReservationCapacityExceeded', 'InsufficientReservedInstanceCapacity', 'InsufficientReservedInstancesCapacity'],
    ...['InsufficientHostCapacity', 'InsufficientCapacityOnHost', 'IncompatibleHostRequirements'],
    ...['UnavailableHostRequirements', 'UnsupportedHostConfiguration', 'UnsupportedInstanceTypeOnHost'],
    ...['InsufficientVolumeCapacity', 'VolumeTypeNotAvailableInZone', 'EncryptedVolumesNotSupported'],
    ...['AttachmentLimitExceeded', 'PrivateIpAddressLimitExceeded', 'InvalidInterface.IpAddressLimitExceeded'],
    ...['InstanceCreditSpecification.NotSupported', 'UnsupportedHibernationConfiguration', 'NonEBSInstance'],
  ],
  subnet: [
    ...['InsufficientFreeAddressesInSubnet', 'InvalidSubnet', 'InvalidSubnetID.NotFound', 'InvalidSubnetID.Malformed'],
  ],
  'capacity-type': [SPOT_ROLE_MISSING],
  quota: [
    ...['VcpuLimitExceeded', 'InstanceLimitExceeded', 'MaxSpotInstanceCountExceeded', 'MaxFleetCountExceeded'],
    ...['MaxSpotFleetRequestCountExceeded', 'TargetCapacityLimitExceededException', 'RequestResourceCountExceeded'],
    ...['ResourceCountExceeded', 'ResourceLimitExceeded', 'HostLimitExceeded', 'NetworkInterfaceLimitExceeded'],
    ...['AddressLimitExceeded', 'VolumeLimitExceeded', 'MaxIOPSLimitExceeded', 'PlacementGroupLimitExceeded'],
    ...['MaxTemplateLimitExceeded', 'MaxTemplateVersionLimitExceeded'],
  ],
  template: [
    ...['InvalidAMIID.Malformed', 'InvalidAMIID.NotFound', 'InvalidAMIID.Unavailable', 'InvalidManifest'],
    ...['InvalidKernelId.Malformed', 'InvalidRamDiskId.Malformed', 'InvalidProductInfo', 'InvalidBlockDeviceMapping'],
    ...['BootForVolumeTypeUnsupported', 'UnknownVolumeType', 'VolumeIOPSLimit', 'InvalidSnapshot.NotFound'],
    ...['InvalidSnapshotID.Malformed', 'CustomerKeyHasBeenRevoked', 'InvalidLaunchTemplateId.Malformed'],
    ...['InvalidLaunchTemplateId.NotFound', 'InvalidLaunchTemplateId.VersionNotFound', LAUNCH_TEMPLATE_NOT_FOUND],
    ...['InvalidLaunchTemplateName.MalformedException', 'InvalidUserData.Malformed', 'InvalidKeyPair.NotFound'],
    ...['InvalidGroup.NotFound', 'InvalidGroupId.Malformed', 'InvalidSecurityGroupID.NotFound'],
    ...['InvalidSecurityGroupId.Malformed', 'SecurityGroupLimitExceeded', 'SecurityGroupsPerInstanceLimitExceeded'],
    ...['SecurityGroupsPerInterfaceLimitExceeded', 'InvalidIamInstanceProfileArn.Malformed', 'InvalidVpcID.NotFound'],
    ...['InvalidNetworkInterfaceID.NotFound', 'InvalidNetworkInterface.InUse', 'InvalidPlacementGroup.Unknown'],
    ...['InvalidCapacityReservationId.NotFound', 'InvalidCapacityReservationIdNotFoundException'],
    ...['InvalidCapacityReservationIdMalformedException', 'InvalidCpuCredits.Malformed', 'InvalidAffinity'],
    ...['InvalidHostId', 'InvalidHostID.NotFound', 'InvalidHostId.NotFound', 'InvalidHostState', 'ZonesMismatched'],
    ...['InvalidTagKey.Malformed', 'TagLimitExceeded', 'InvalidFleetConfiguration', 'InvalidFleetConfig'],
    ...['InvalidSpotFleetRequestConfig', 'InvalidParameter', 'InvalidParameterCombination', 'InvalidParameterValue'],
    ...['InvalidParameterDependency', 'InvalidRequest', 'InvalidInput', 'InvalidCharacter'],
    ...['MissingParameter', 'MissingInput', 'MissingAction', 'UnknownParameter', 'ValidationError', 'InvalidAction'],
    ...['InvalidQueryParameter', 'MalformedQueryString', 'UnsupportedProtocol', 'UnsupportedInstanceAttribute'],
    ...['NoSuchVersion', 'DefaultVpcDoesNotExist'],
    ...['VPCIdNotSpecified', 'VPCResourceNotSpecified', 'InvalidTargetArn.Unknown'],
  ],
  permission: [
    ...['UnauthorizedOperation', 'AuthFailure', 'Blocked', 'OptInRequired', 'PendingVerification'],
    ...['OperationNotPermitted', 'InvalidClientTokenId', 'MissingAuthenticationToken', 'IncompleteSignature'],
    ...['SignatureDoesNotMatch', 'ExpiredToken', 'ExpiredTokenException', 'RequestExpired', 'AccessDenied'],
    ...['AccessDeniedException', 'InvalidSecurity.RequestHasExpired'],
  ],
  transient: [
    ...['RequestLimitExceeded', 'Throttling', 'ThrottlingException', 'TooManyRequestsException'],
    ...['InternalError', 'InternalFailure', 'ServiceUnavailable', 'Unavailable', 'InsufficientAddressCapacity'],
    ...['ConcurrentTagAccess', 'CreditSpecificationUpdateInProgress', 'IncorrectState', 'IncorrectInstanceState'],
    ...['InvalidState', 'InvalidInstanceID.NotFound', 'IdempotentParameterMismatch', 'IdempotentInstanceTerminated'],
    ...['InvalidClientToken', TOO_FEW_INSTANCES],
  ],
};

const CLASSES: ReadonlyMap<string, ErrorClass> = new Map(
  Object.entries(CODES).flatMap(([name, codes]) => codes.map((code) => [code, name as ErrorClass])),
);

/** All classified codes. */
export const KNOWN_CODES: readonly string[] = Object.values(CODES).flat();

export const classOf = (code: string): ErrorClass => CLASSES.get(code) ?? 'unknown';

export interface Effect {
  /**
   * Time for which the offerings of the error are unavailable. `fixed`: three minutes, as in Karpenter. `growing`: doubles
   * with each successive failure. `lenient`: like `growing`, but the first failure is retried with the same offerings.
   */
  readonly pause: 'fixed' | 'growing' | 'lenient';
  /**
   * True if the NodeClaim stays, shows the reason in its condition, and is retried with the offerings that are left.
   * Otherwise the NodeClaim is deleted, and its pods are planned again.
   */
  readonly keepsClaim: boolean;
}

const EFFECTS: Readonly<Record<ErrorClass, Effect>> = {
  capacity: { pause: 'fixed', keepsClaim: false },
  offering: { pause: 'fixed', keepsClaim: false },
  subnet: { pause: 'fixed', keepsClaim: false },
  'capacity-type': { pause: 'fixed', keepsClaim: false },
  quota: { pause: 'fixed', keepsClaim: false },
  template: { pause: 'growing', keepsClaim: true },
  permission: { pause: 'growing', keepsClaim: true },
  transient: { pause: 'lenient', keepsClaim: true },
  unknown: { pause: 'growing', keepsClaim: false },
};

export const effectOf = (code: string): Effect => EFFECTS[classOf(code)];
