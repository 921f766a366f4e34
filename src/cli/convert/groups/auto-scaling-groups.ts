/** Converts self-managed groups from the output of `aws autoscaling describe-auto-scaling-groups`. */
import { ARCH_LABEL, INSTANCE_TYPE_LABEL } from '#api/objects';
import type { Field } from '#lib';
import { counted } from '../../render/table.ts';
import { ROLE_PLACEHOLDER } from '../nodeclass.ts';
import type { Path } from '../notes.ts';
import {
  addLabels,
  addTags,
  addTaint,
  type Capacity,
  setAlias,
  setCapacity,
  setInstanceTypes,
  setSize,
  useClusterSecurityGroup,
} from './common.ts';
import { mapOf, textOf, textsOf } from './fields.ts';
import type { FindTemplate } from './inputs.ts';
import { applyInstanceRequirements } from './instance-requirements.ts';
import { applyReferenced } from './launch-template.ts';
import { NodeGroup, REQUIREMENTS } from './node-group.ts';

interface Place {
  readonly where: string;
  readonly path: Path;
}

/** Prefix of tags that describe the nodes of a group to cluster-autoscaler. */
const HINTS = 'k8s.io/cluster-autoscaler/node-template/';

export function autoScalingGroup(field: Field, place: Place, templates: FindTemplate): NodeGroup {
  const group = new NodeGroup(field.at('AutoScalingGroupName').text(), place.where, place.path);
  const tags = field
    .at('Tags')
    .items()
    .map((tag) => ({ ...mapOf(tag), isPropagated: tag.at('PropagateAtLaunch').value === true }));
  setAlias(group, 'al2023@latest');
  setCapacity(group, ['on-demand']);
  useClusterSecurityGroup(group, clusterNameIn(tags), ['Tags']);
  applyNetwork(group, field);
  setSize(group, { min: field.at('MinSize').given?.count(), max: field.at('MaxSize').given?.count() }, ['MinSize']);
  applyMixed(group, field.at('MixedInstancesPolicy'), templates);
  applyReferenced(group, field.at('LaunchTemplate'), {
    find: templates,
    keys: TEMPLATE_KEYS,
    path: ['LaunchTemplate'],
  });
  if (!field.at('LaunchConfigurationName').isMissing)
    group.onClass(
      'lost',
      ['LaunchConfigurationName'],
      'launch configurations are not supported; use a launch template for the group',
    );
  for (const [index, tag] of tags.entries()) applyTag(group, tag, ['Tags', index]);
  applyRest(group, field);
  if (group.nodeClass.role === undefined && group.nodeClass.instanceProfile === undefined) needsRole(group);
  return group;
}

export function needsRole(group: NodeGroup, field: Path = []): void {
  group.nodeClass.role = ROLE_PLACEHOLDER;
  group.onClass(
    'assumed',
    field,
    `${ROLE_PLACEHOLDER} is a placeholder, because the role of the nodes is unknown; set it with --role`,
    ['spec', 'role'],
  );
}

interface Tag extends Readonly<Record<string, string | boolean>> {
  readonly isPropagated: boolean;
}

const clusterNameIn = (tags: readonly Tag[]): string | undefined =>
  tags
    .map(({ Key, Value }) =>
      Key === 'eks:cluster-name'
        ? String(Value)
        : /^(?:kubernetes\.io\/cluster|k8s\.io\/cluster-autoscaler)\/([^/]+)$/.exec(String(Key))?.[1],
    )
    .find((name) => name !== undefined && name !== 'enabled');

function applyNetwork(group: NodeGroup, field: Field): void {
  const subnets = (textOf(field.at('VPCZoneIdentifier')) ?? '').split(',').filter((id) => id.trim() !== '');
  group.zones = textsOf(field.at('AvailabilityZones'));
  if (subnets.length > 0) group.nodeClass.subnetSelectorTerms = subnets.map((id) => ({ id: id.trim() }));
  else
    group.onClass('lost', ['VPCZoneIdentifier'], 'the group has no subnets; select them', [
      'spec',
      'subnetSelectorTerms',
    ]);
}

const TEMPLATE_KEYS = { id: 'LaunchTemplateId', name: 'LaunchTemplateName', version: 'Version' };

function applyMixed(group: NodeGroup, policy: Field, templates: FindTemplate): void {
  if (policy.isMissing) return;
  const path: Path = ['MixedInstancesPolicy'];
  const template = policy.at('LaunchTemplate');
  const overrides = template.at('Overrides').items();
  applyReferenced(group, template.at('LaunchTemplateSpecification'), {
    find: templates,
    keys: TEMPLATE_KEYS,
    path: [...path, 'LaunchTemplate', 'LaunchTemplateSpecification'],
  });
  // instance types of the policy override the launch template
  if (overrides.length > 0) for (const key of [INSTANCE_TYPE_LABEL, ARCH_LABEL]) group.requirements.delete(key);
  const types = overrides.flatMap((one) => textOf(one.at('InstanceType')) ?? []);
  if (types.length > 0) setInstanceTypes(group, types);
  for (const [index, one] of overrides.entries())
    if (!one.at('InstanceRequirements').isMissing)
      applyInstanceRequirements(group, one.at('InstanceRequirements'), [...path, 'LaunchTemplate', 'Overrides', index]);
  if (overrides.some((one) => !one.at('WeightedCapacity').isMissing))
    group.onPool(
      'lost',
      [...path, 'LaunchTemplate', 'Overrides'],
      'weights of types: nodes are launched by the requests of pods and by price',
      REQUIREMENTS,
    );
  applyDistribution(
    group,
    {
      base: policy.at('InstancesDistribution').at('OnDemandBaseCapacity').given?.count(),
      percent: policy.at('InstancesDistribution').at('OnDemandPercentageAboveBaseCapacity').given?.count(),
      maxPrice: textOf(policy.at('InstancesDistribution').at('SpotMaxPrice')),
    },
    [...path, 'InstancesDistribution'],
  );
}

interface Distribution {
  readonly base?: number | undefined;
  readonly percent?: number | undefined;
  readonly maxPrice?: string | number | undefined;
}

/** Sets the capacity types from the share of on-demand nodes. */
export function applyDistribution(
  group: NodeGroup,
  { base = 0, percent = 100, maxPrice }: Distribution,
  path: Path,
): void {
  const capacity: readonly Capacity[] =
    percent === 100 ? ['on-demand'] : percent === 0 && base === 0 ? ['spot'] : ['on-demand', 'spot'];
  setCapacity(group, capacity);
  if (capacity.length > 1)
    group.onPool(
      'lost',
      path,
      `${counted(base, 'node')} and ${percent} % of the other nodes on demand: a NodePool launches spot if allowed, and on-demand if spot is ` +
        'unavailable; use a second NodePool of on-demand nodes with a limit and a higher weight for a base',
      REQUIREMENTS,
    );
  if (maxPrice !== undefined && maxPrice !== '')
    group.onPool('lost', path, 'spot instances cost the market price, at most the on-demand price', REQUIREMENTS);
}

function applyTag(group: NodeGroup, { Key, Value = '', isPropagated }: Tag, path: Path): void {
  const [key, value] = [String(Key), String(Value)];
  if (key.startsWith(`${HINTS}label/`)) addLabels(group, { [key.slice(`${HINTS}label/`.length)]: value }, path);
  else if (key.startsWith(`${HINTS}taint/`)) {
    const colon = value.lastIndexOf(':');
    addTaint(
      group,
      {
        key: key.slice(`${HINTS}taint/`.length),
        value: value.slice(0, Math.max(0, colon)),
        effect: value.slice(colon + 1),
      },
      path,
    );
  } else if (key.startsWith(`${HINTS}resources/`))
    group.onPool(
      'lost',
      path,
      `${key.slice(`${HINTS}resources/`.length)}: ${value}: Karpenter knows the resources of instance types; a NodeOverlay adds resources of device plugins`,
      REQUIREMENTS,
    );
  else if (key.startsWith(HINTS))
    group.onPool('lost', path, 'options of cluster-autoscaler for one group have no counterpart; see spec.disruption', [
      'spec',
      'disruption',
    ]);
  else if (isPropagated) addTags(group, { [key]: value }, path);
}

const REST: Readonly<Record<string, string>> = {
  TargetGroupARNs: 'nodes are not registered with target groups; use the AWS Load Balancer Controller',
  LoadBalancerNames: 'nodes are not registered with load balancers; use the AWS Load Balancer Controller',
  MaxInstanceLifetime: '',
  WarmPoolConfiguration: 'nodes are launched when pods need them; a CapacityBuffer reserves capacity for future pods',
  PlacementGroup: '',
};

function applyRest(group: NodeGroup, field: Field): void {
  for (const [key, text] of Object.entries(REST)) {
    const { value } = field.at(key);
    const isThere = Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null;
    if (isThere && text !== '') group.onPool('lost', [key], text);
  }
  const placement = textOf(field.at('PlacementGroup'));
  if (placement) group.nodeClass.placementGroupSelector = { name: placement };
  const lifetime = field.at('MaxInstanceLifetime').given?.count();
  if (lifetime) group.expireAfter = `${Math.max(1, Math.round(lifetime / 3600))}h`;
  if (field.at('NewInstancesProtectedFromScaleIn').given?.flag())
    group.onPool(
      'lost',
      ['NewInstancesProtectedFromScaleIn'],
      'annotation karpenter.sh/do-not-disrupt on a node protects it',
    );
}
