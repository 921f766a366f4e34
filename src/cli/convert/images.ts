/** Converts AMI families. v1beta1 selects images by the family alone, and v1 needs an alias or selector terms. */
import type { ObjectEdit } from './edit.ts';
import type { Path } from './notes.ts';

const FAMILY: Path = ['spec', 'amiFamily'];
const TERMS: Path = ['spec', 'amiSelectorTerms'];
const VOLUMES: Path = ['spec', 'blockDeviceMappings'];

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
export function convertImages(edit: ObjectEdit, { isPatch }: { readonly isPatch: boolean }): void {
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
