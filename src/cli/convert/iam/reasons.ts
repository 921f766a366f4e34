/** Explanations of the current policy statements, by Sid. */

const BY_TAGS = 'the controller can change only objects with the tags of its cluster and of a NodePool';

export const REASONS: Readonly<Record<string, string>> = {
  AllowScopedEC2InstanceAccessActions:
    'launches refer to images, subnets, security groups, reservations and placement groups that the controller does not own; ' +
    'capacity reservations since 1.6, placement groups since 1.11',
  AllowScopedEC2LaunchTemplateAccessActions: `${BY_TAGS}; karpenter.sh/nodepool replaced karpenter.sh/provisioner-name in 0.32`,
  AllowScopedEC2InstanceActionsWithTags:
    'all objects are created with tags; spot requests since 0.33, eks:eks-cluster-name since 1.0',
  AllowScopedResourceCreationTagging: 'tags can be set only when an object is created; spot requests since 0.33',
  AllowScopedResourceTagging: 'the tags karpenter.sh/nodeclaim and Name are set when a node has registered; since 0.32',
  AllowScopedDeletion: BY_TAGS,
  AllowPassingInstanceRole: 'only the node role can be passed to instances',
  AllowScopedInstanceProfileCreationActions:
    'EC2NodeClasses have a role, and the controller creates its instance profile; since 0.32',
  AllowScopedInstanceProfileTagActions: 'instance profiles are found by their tags; since 0.32',
  AllowScopedInstanceProfileActions: 'the controller changes only instance profiles that it created; since 0.32',
  AllowAPIServerEndpointDiscovery: 'the endpoint and the version of this cluster are read',
  AllowInterruptionQueueActions: 'interruption messages are read from this queue',
  AllowZonalShiftStatusReadOnly:
    'with settings.enableZonalShift, no nodes are launched in a zone during a zonal shift; since 1.12',
  AllowRegionalReadActions:
    'reads in this region; capacity reservations since 1.6, placement groups since 1.11, instance status since 1.12',
  AllowSSMReadActions: 'AWS publishes its images as parameters',
  AllowPricingReadActions: 'on-demand prices are read',
  AllowUnscopedInstanceProfileListAction: 'unused instance profiles are deleted; since 1.7',
  AllowInstanceProfileReadActions: 'instance profiles of the controller are read; since 0.32',
};
