/** Converts an AWSNodeTemplate of karpenter.k8s.aws/v1alpha1 or an EC2NodeClass of v1beta1 to an EC2NodeClass of v1. */
import { parseQuantity } from '#api/values';
import { tryRun } from '#lib';
import { hasTemplate, type ObjectEdit } from './edit.ts';
import { cleanMetadata } from './metadata.ts';
import type { Path } from './notes.ts';
import { AWS_V1, COMPATIBILITY } from './renames.ts';
import { convertSelector, IMAGES, SECURITY_GROUPS, SUBNETS } from './selectors.ts';

const GIB = 2 ** 30;
const MOST_GIB = 59_000;
const MOST_TB = 64;
/** Sizes that v1 accepts, except units whose numbers v1 restricts further. */
const ACCEPTED = /^[1-9]\d{0,3}(?:Gi|G)$/;

/**
 * Converts volume sizes of the alpha API, which may be any quantity. v1 accepts whole numbers of Gi, G, Ti and T.
 *
 * @throws InputError if a size is too large for v1
 */
function convertVolumeSizes(edit: ObjectEdit): void {
  const mappings: Path = ['spec', 'blockDeviceMappings'];
  for (const index of edit.indexes(mappings)) {
    const path = [...mappings, index, 'ebs', 'volumeSize'];
    const size = edit.textOrNumber(path);
    if (size === undefined || ACCEPTED.test(size) || hasTemplate(size)) continue;
    const written = sizeText(edit, path, size);
    if (written === size) continue;
    edit.replaceValue(path, written);
    edit.note('changed', path, `was ${size}; v1 allows only integers with Gi, G, Ti or T`);
  }
}

function sizeText(edit: ObjectEdit, path: Path, size: string): string {
  const bytes = bytesOf(edit, path, size);
  const gib = Math.ceil(bytes / GIB);
  if (gib >= 1 && gib <= MOST_GIB) return `${gib}Gi`;
  const tb = Math.ceil(bytes / 1e12);
  if (tb >= 1 && tb <= MOST_TB) return `${tb}T`;
  return edit.fail(path, `${size} is not between 1Gi and ${MOST_TB}T, the range of v1`);
}

const bytesOf = (edit: ObjectEdit, path: Path, size: string): number =>
  tryRun(() => parseQuantity(size)) ?? edit.fail(path, `${JSON.stringify(size)} is not a quantity, for example 100Gi`);

export interface ClassOptions {
  /** Name of the nodes' IAM role, for classes with neither role nor instance profile. */
  readonly role?: string;
  /** True if the object is a patch. Only existing fields of a patch are converted, and no field is added. */
  readonly isPatch: boolean;
}

/** Placeholder for an unknown role, which `envsubst` can replace. */
export const ROLE_PLACEHOLDER = '$KARPENTER_NODE_ROLE';

const ROLE: Path = ['spec', 'role'];
const PROFILE: Path = ['spec', 'instanceProfile'];

/** Fields that delegate the configuration of nodes to a launch template in the alpha API. */
const LAUNCH_TEMPLATE = ['launchTemplate', 'launchTemplateName'];

/** @throws InputError with the field that cannot be converted */
export function convertNodeTemplate(edit: ObjectEdit, options: ClassOptions): void {
  edit.set(['kind'], 'EC2NodeClass');
  start(edit, options);
  for (const field of LAUNCH_TEMPLATE)
    if (edit.has(['spec', field]))
      edit.fail(
        ['spec', field],
        'is not supported in v1, because Karpenter creates launch templates; move its contents to subnetSelector, ' +
          'securityGroupSelector, amiSelector, userData and blockDeviceMappings, and remove it',
      );
  // an inline provider contains its own apiVersion and kind
  for (const field of ['apiVersion', 'kind']) edit.remove(['spec', field]);
  for (const selector of [SUBNETS, SECURITY_GROUPS, IMAGES]) convertSelector(edit, selector);
  if (!options.isPatch) {
    for (const { field, terms } of [SUBNETS, SECURITY_GROUPS])
      if (!edit.has(['spec', terms])) edit.fail(['spec', field], 'is required; select by tags or aws-ids');
    if (!edit.has(['spec', 'amiFamily'])) {
      edit.set(['spec', 'amiFamily'], 'AL2', edit.keys(['spec'])[0]);
      edit.note('assumed', ['spec', 'amiFamily'], 'AL2 was the default in AWSNodeTemplates');
    }
  }
  convertVolumeSizes(edit);
  finish(edit, options);
  takeGivenRole(edit, options);
}

/** @throws InputError with the field that cannot be converted */
export function convertBetaNodeClass(edit: ObjectEdit, options: ClassOptions): void {
  start(edit, options);
  finish(edit, options);
}

/**
 * Converts fields of older versions in an EC2NodeClass of v1.
 *
 * @throws InputError with the field that cannot be converted
 */
export function convertMixedNodeClass(edit: ObjectEdit, options: ClassOptions): void {
  edit.dropNulls(['spec']);
  for (const selector of [SUBNETS, SECURITY_GROUPS, IMAGES])
    if (edit.has(['spec', selector.field])) convertSelector(edit, selector);
  convertVolumeSizes(edit);
  if (!edit.has(TERMS) || edit.text(FAMILY) === 'Ubuntu') convertImages(edit, options);
  cleanTags(edit);
  if (!options.isPatch) writeRole(edit, options);
}

function start(edit: ObjectEdit, { isPatch }: ClassOptions): void {
  edit.set(['apiVersion'], AWS_V1);
  cleanMetadata(edit);
  if (!isPatch && !edit.has(['spec'])) edit.fail(['spec'], 'is required');
  edit.dropNulls(['spec']);
}

function finish(edit: ObjectEdit, options: ClassOptions): void {
  convertImages(edit, options);
  cleanTags(edit);
  if (options.isPatch) return;
  writeRole(edit, options);
  writeHopLimit(edit);
}

function writeRole(edit: ObjectEdit, { role }: ClassOptions): void {
  if (edit.has(ROLE) || edit.has(PROFILE)) return;
  edit.set(ROLE, role ?? ROLE_PLACEHOLDER);
  if (role === undefined) {
    const text = 'name of the IAM role of the nodes; set it with --role, or replace the placeholder with envsubst';
    edit.note('assumed', ROLE, text);
  }
}

/** Replaces the instance profile by the given role, because only the user could delete such a profile. */
function takeGivenRole(edit: ObjectEdit, { role, isPatch }: ClassOptions): void {
  const profile = edit.text(PROFILE);
  if (role === undefined || profile === undefined || isPatch) return;
  edit.moveAs(PROFILE, ROLE, role);
  edit.note(
    'changed',
    PROFILE,
    `Karpenter creates an instance profile for role ${role}, which replaces ${profile}`,
    ROLE,
  );
}

function writeHopLimit(edit: ObjectEdit): void {
  const path: Path = ['spec', 'metadataOptions', 'httpPutResponseHopLimit'];
  if (edit.has(path)) return;
  edit.set(path, 2);
  edit.note(
    'assumed',
    path,
    'was the default before v1; with the v1 default of 1, pods cannot reach the instance metadata',
  );
}

const OWN_TAGS = new Set([
  'karpenter.sh/nodepool',
  'karpenter.sh/nodeclaim',
  'karpenter.k8s.aws/ec2nodeclass',
  'eks:eks-cluster-name',
]);

function cleanTags(edit: ObjectEdit): void {
  const path: Path = ['spec', 'tags'];
  for (const key of edit.keys(path)) {
    if (!OWN_TAGS.has(key) && !key.startsWith('kubernetes.io/cluster')) continue;
    edit.remove([...path, key]);
    edit.note('lost', [...path, key], 'Karpenter sets this tag itself', path);
  }
  edit.removeEmpty(path);
}

/** Removes the annotation that a conversion webhook left on an EC2NodeClass of v1. */
export function cleanConvertedClass(edit: ObjectEdit): void {
  const path: Path = ['metadata', 'annotations', COMPATIBILITY.ubuntu];
  edit.remove(path);
  edit.removeEmpty(path.slice(0, -1));
  edit.note('changed', path, 'is not used after Karpenter 1.0', ['metadata']);
}

const FAMILY: Path = ['spec', 'amiFamily'];
const TERMS: Path = ['spec', 'amiSelectorTerms'];
const VOLUMES: Path = ['spec', 'blockDeviceMappings'];

/** Families of v1beta1 with aliases. */
const ALIASED = new Set(['AL2', 'AL2023', 'Bottlerocket', 'Windows2019', 'Windows2022']);

const UBUNTU_VOLUME = {
  deviceName: '/dev/sda1',
  rootVolume: true,
  ebs: { encrypted: true, volumeType: 'gp3', volumeSize: '20Gi' },
};

const UBUNTU_IMAGES = ['amd64', 'arm64'].map((arch) => ({
  ssmParameter: `/aws/service/canonical/ubuntu/eks/22.04/$KUBERNETES_VERSION/stable/current/${arch}/hvm/ebs-gp2/ami-id`,
}));

/**
 * Converts images to selector terms. Selectors must be converted first.
 *
 * @throws InputError if the images cannot be determined
 */
function convertImages(edit: ObjectEdit, { isPatch }: { readonly isPatch: boolean }): void {
  const family = edit.text(FAMILY);
  const hasTerms = (edit.list(TERMS)?.items.length ?? 0) > 0;
  if (family === 'Ubuntu') convertUbuntu(edit, { hasTerms, isPatch });
  else if (family !== undefined && isPatch && !hasTerms) noteOnPatch(edit, family);
  else if (family !== undefined && ALIASED.has(family) && !hasTerms) addAlias(edit, family);
  else if (family === 'Custom' && !hasTerms && !isPatch)
    edit.fail(TERMS, 'is required with amiFamily Custom; select the images');
  if (!edit.has(['spec', 'userData'])) return;
  if (family === 'Custom')
    edit.note(
      'changed',
      ['spec', 'userData'],
      'must register nodes with the taint karpenter.sh/unregistered:NoExecute',
    );
  if (family === 'AL2023')
    edit.note('changed', ['spec', 'userData'], 'in v1, generated settings override different settings here');
}

function addAlias(edit: ObjectEdit, family: string): void {
  const alias = `${family.toLowerCase()}@latest`;
  edit.remove(TERMS);
  edit.set(TERMS, [{ alias }], keyAfter(edit, 'amiFamily'));
  const end = family === 'AL2' ? '; AL2 has no images for Kubernetes 1.33 and later, so use al2023@latest' : '';
  edit.note('assumed', TERMS, `amiFamily ${family} alone does not select images in v1${end}`);
}

/** Returns the key after a given key, so that a new field can be inserted between them. */
function keyAfter(edit: ObjectEdit, key: string): string | undefined {
  const keys = edit.keys(['spec']);
  return keys[keys.indexOf(key) + 1];
}

function noteOnPatch(edit: ObjectEdit, family: string): void {
  const text = `in v1, amiSelectorTerms select images; make sure that they are images of ${family}, for example with an alias`;
  edit.note('assumed', FAMILY, text);
}

/** Converts family Ubuntu to AL2, because Ubuntu images boot with the same user data. */
function convertUbuntu(edit: ObjectEdit, { hasTerms, isPatch }: { hasTerms: boolean; isPatch: boolean }): void {
  edit.replaceValue(FAMILY, 'AL2');
  edit.note('changed', FAMILY, 'v1 has no amiFamily Ubuntu; Ubuntu images boot with the user data of AL2');
  if (isPatch) return;
  if (!hasTerms) {
    edit.remove(TERMS);
    edit.set(TERMS, UBUNTU_IMAGES, keyAfter(edit, 'amiFamily'));
    edit.note(
      'assumed',
      TERMS,
      'v1 has no alias for Ubuntu; replace $KUBERNETES_VERSION with the version of your cluster',
    );
  }
  if (edit.list(VOLUMES) !== undefined) return;
  edit.set(VOLUMES, [UBUNTU_VOLUME]);
  edit.note('assumed', VOLUMES, 'the default volume of amiFamily Ubuntu');
}
