/** Explanations of the current policy statements, by Sid. */

const BY_TAGS = 'the controller reaches only what carries the tags of its cluster and of a NodePool';

export const REASONS: Readonly<Record<string, string>> = {
  AllowScopedEC2InstanceAccessActions:
    'launches name images, subnets, security groups, reservations and placement groups, which the controller does not own; ' +
    'capacity reservations since 1.6, placement groups since 1.11',
  AllowScopedEC2LaunchTemplateAccessActions: `${BY_TAGS}; karpenter.sh/nodepool took the place of karpenter.sh/provisioner-name in 0.32`,
  AllowScopedEC2InstanceActionsWithTags:
    'everything is created with the tags by which it is found again; spot requests since 0.33, eks:eks-cluster-name since 1.0',
  AllowScopedResourceCreationTagging: 'tags can be set only while something is created; spot requests since 0.33',
  AllowScopedResourceTagging: 'a node that has joined gets the tags karpenter.sh/nodeclaim and Name; since 0.32',
  AllowScopedDeletion: BY_TAGS,
  AllowPassingInstanceRole: 'instances get no other role than that of the nodes',
  AllowScopedInstanceProfileCreationActions:
    'EC2NodeClasses name a role, and the controller makes its profile; since 0.32',
  AllowScopedInstanceProfileTagActions: 'profiles are found again by their tags; since 0.32',
  AllowScopedInstanceProfileActions: 'the controller changes only profiles that it made; since 0.32',
  AllowAPIServerEndpointDiscovery: 'the endpoint and the version of this one cluster are read',
  AllowInterruptionQueueActions: 'interruption messages are read from this one queue',
  AllowZonalShiftStatusReadOnly:
    'settings.enableZonalShift keeps launches out of a zone that is shifted away from; since 1.12',
  AllowRegionalReadActions:
    'reads in this region; capacity reservations since 1.6, placement groups since 1.11, instance status since 1.12',
  AllowSSMReadActions: 'the images of AWS are published as parameters',
  AllowPricingReadActions: 'prices of instances on demand',
  AllowUnscopedInstanceProfileListAction: 'profiles that nothing uses any more are found and deleted; since 1.7',
  AllowInstanceProfileReadActions: 'profiles that the controller made are looked up; since 0.32',
};
