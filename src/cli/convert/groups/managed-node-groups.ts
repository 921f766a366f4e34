/** Converts EKS managed node groups from the output of `aws eks describe-nodegroup`. */
import { ALIAS_FAMILIES, type AliasFamily, ARCH_LABEL } from '#api/objects';
import type { Field } from '#lib';
import type { Path } from '../notes.ts';
import {
  addLabels,
  addTags,
  addTaints,
  addVolume,
  dataDevice,
  setAlias,
  setCapacity,
  setInstanceTypes,
  setSize,
  useClusterSecurityGroup,
} from './common.ts';
import { mapOf, nameOfArn, textOf, textsOf } from './fields.ts';
import type { FindTemplate } from './inputs.ts';
import { applyReferenced } from './launch-template.ts';
import { NodeGroup, REQUIREMENTS } from './node-group.ts';

type Apply = (group: NodeGroup, field: Field, path: Path) => void;

const nothing: Apply = () => undefined;

/** Conversions in the required order: the image determines the device of the disk. */
const FIELDS: Readonly<Record<string, Apply>> = {
  amiType: image,
  nodeRole: (group, field) => {
    group.nodeClass.role = nameOfArn(textOf(field) ?? '');
  },
  subnets: (group, field) => {
    group.nodeClass.subnetSelectorTerms = textsOf(field).map((id) => ({ id }));
  },
  instanceTypes: (group, field) => setInstanceTypes(group, textsOf(field)),
  capacityType: (group, field, path) => capacity(group, textOf(field), path),
  labels: (group, field, path) => addLabels(group, mapOf(field), path),
  taints: addTaints,
  diskSize: (group, field) => addVolume(group, dataDevice(group), { sizeGi: field.given?.count(), type: 'gp3' }),
  tags: (group, field, path) => addTags(group, mapOf(field), path),
  scalingConfig: (group, field, path) =>
    setSize(group, { min: field.at('minSize').given?.count(), max: field.at('maxSize').given?.count() }, path),
  updateConfig: budgets,
  remoteAccess: (group, _, path) =>
    group.onClass(
      'lost',
      path,
      'nodes get no SSH key; use Session Manager of AWS Systems Manager, or a key in userData',
    ),
  nodeRepairConfig: (group, field, path) => {
    if (field.at('enabled').value === true)
      group.onPool('lost', path, 'settings.featureGates.nodeRepair of the chart replaces unhealthy nodes');
  },
  ...Object.fromEntries(
    [
      ...['nodegroupName', 'nodegroupArn', 'clusterName', 'version', 'releaseVersion', 'createdAt', 'modifiedAt'],
      ...['status', 'resources', 'health', 'launchTemplate'],
    ].map((name) => [name, nothing]),
  ),
};

/** @param field `nodegroup` of the response */
export function managedNodeGroup(
  field: Field,
  { where, path }: { where: string; path: Path },
  templates: FindTemplate,
): NodeGroup {
  const name = field.at('nodegroupName').text();
  const group = new NodeGroup(name, where, path);
  group.nodeClass.metadataOptions = { httpPutResponseHopLimit: 2 };
  group.onClass('assumed', [], 'the default of managed node groups; with 1, pods cannot reach the metadata service', [
    'spec',
    'metadataOptions',
    'httpPutResponseHopLimit',
  ]);
  useClusterSecurityGroup(group, textOf(field.at('clusterName')), []);
  for (const [key, apply] of Object.entries(FIELDS)) if (!field.at(key).isMissing) apply(group, field.at(key), [key]);
  for (const key of field.keys())
    if (!Object.hasOwn(FIELDS, key)) group.onPool('lost', [key], `${key} has no counterpart`);
  applyReferenced(group, field.at('launchTemplate'), {
    find: templates,
    keys: { id: 'id', name: 'name', version: 'version' },
    path: ['launchTemplate'],
  });
  return group;
}

/** AMI types of the families. */
const AMI_TYPES: Readonly<Record<AliasFamily, RegExp>> = {
  AL2: /^AL2_/,
  AL2023: /^AL2023_/,
  Bottlerocket: /^BOTTLEROCKET_/,
  Windows2019: /^WINDOWS_\w+_2019_/,
  Windows2022: /^WINDOWS_\w+_2022_/,
  Windows2025: /^WINDOWS_\w+_2025_/,
};

/**
 * Converts an AMI type, for example `AL2023_x86_64_STANDARD`, `BOTTLEROCKET_ARM_64_NVIDIA` or
 * `WINDOWS_CORE_2022_x86_64`.
 */
function image(group: NodeGroup, field: Field, path: Path): void {
  const type = textOf(field) ?? '';
  if (type === 'CUSTOM') {
    setAlias(group, 'al2023@latest', {
      field: path,
      text: 'the image of the launch template is unknown; al2023@latest is used instead',
    });
    return;
  }
  const alias = ALIAS_FAMILIES.find((family) => AMI_TYPES[family].test(type))?.toLowerCase();
  setAlias(group, `${alias ?? 'al2023'}@latest`, {
    field: path,
    text:
      alias === undefined
        ? `image type ${type} is unknown; al2023@latest is used instead`
        : 'the newest image, so nodes are replaced when a newer image is released; to pin it, use a version, for example al2023@v20260101',
  });
  group.require(ARCH_LABEL, [/ARM_64/i.test(type) ? 'arm64' : 'amd64']);
  if (type.includes('FIPS'))
    group.onClass('lost', path, 'the FIPS image has no alias; select it with ssmParameter', [
      'spec',
      'amiSelectorTerms',
    ]);
}

function capacity(group: NodeGroup, type: string | undefined, path: Path): void {
  if (type === 'SPOT') setCapacity(group, ['spot']);
  else if (type === 'CAPACITY_BLOCK') {
    setCapacity(group, ['reserved']);
    group.onClass('lost', path, 'select the capacity block in capacityReservationSelectorTerms');
  } else setCapacity(group, ['on-demand']);
  if (type === 'SPOT')
    group.onPool(
      'assumed',
      path,
      'only spot, as before; add on-demand to launch nodes if spot is unavailable',
      REQUIREMENTS,
    );
}

function budgets(group: NodeGroup, field: Field): void {
  const [count, share] = [
    field.at('maxUnavailable').given?.count(),
    field.at('maxUnavailablePercentage').given?.count(),
  ];
  const nodes = count === undefined ? (share === undefined ? undefined : `${share}%`) : String(count);
  // one node at a time is the default of EKS, so it is probably not a choice of the user
  if (nodes !== undefined && nodes !== '1') group.disruption.budgets = [{ nodes }];
}
