/** Converts images and kubelet settings of eksctl's node groups. */
import { ALIAS_FAMILIES, type AliasFamily } from '#api/objects';
import type { Field } from '#lib';
import type { Path } from '../notes.ts';
import { setAlias, setImage, setOs } from './common.ts';
import { looseTextOf, textOf } from './fields.ts';
import type { NodeGroup } from './node-group.ts';

/** Names of eksctl for the families. */
const NAMES: Readonly<Record<AliasFamily, readonly string[]>> = {
  AL2: ['AmazonLinux2'],
  AL2023: ['AmazonLinux2023'],
  Bottlerocket: ['Bottlerocket'],
  Windows2019: ['WindowsServer2019CoreContainer', 'WindowsServer2019FullContainer'],
  Windows2022: ['WindowsServer2022CoreContainer', 'WindowsServer2022FullContainer'],
  Windows2025: ['WindowsServer2025CoreContainer', 'WindowsServer2025FullContainer'],
};

/** Account of Canonical, which publishes the Ubuntu images for EKS. */
const CANONICAL = '099720109477';

export function eksctlImage(group: NodeGroup, field: Field): void {
  const family = textOf(field.at('amiFamily'));
  const ami = looseTextOf(field.at('ami'));
  const release = /^Ubuntu(Pro)?(\d{2})(\d{2})$/.exec(family ?? '');
  const known = ALIAS_FAMILIES.find((each) => NAMES[each].includes(family ?? ''));
  const ours = known ?? 'AL2023';
  if (ami?.startsWith('ami-')) {
    setImage(group, ami, release ? 'AL2' : ours);
    group.onClass('assumed', ['ami'], 'only this image; use amiSelectorTerms with name or tags to follow new images', [
      'spec',
      'amiSelectorTerms',
    ]);
  } else if (release) {
    group.nodeClass.amiFamily = 'AL2';
    group.nodeClass.amiSelectorTerms = [
      { name: `ubuntu-eks*/k8s_*/images/*ubuntu-*-${release[2]}.${release[3]}-*`, owner: CANONICAL },
    ];
    setOs(group, 'linux');
    group.onClass(
      'assumed',
      ['amiFamily'],
      'Ubuntu images boot with the user data of AL2; replace k8s_* with the Kubernetes version',
      ['spec', 'amiSelectorTerms'],
    );
  } else {
    const text = known
      ? 'the newest image, so nodes are replaced when a newer image is released; to pin it, use a version, for example al2023@v20260101'
      : family === undefined
        ? 'AL2023, the current default of eksctl; older releases used AL2'
        : `${family} is not supported; al2023@latest is used instead`;
    setAlias(group, `${ours.toLowerCase()}@latest`, { field: family === undefined ? [] : ['amiFamily'], text });
  }
}

/** Settings that EC2NodeClasses have, too. */
const KNOWN = new Set([
  'clusterDNS',
  'maxPods',
  'podsPerCore',
  'systemReserved',
  'kubeReserved',
  'evictionHard',
  'evictionSoft',
  'evictionSoftGracePeriod',
  'evictionMaxPodGracePeriod',
  'imageGCHighThresholdPercent',
  'imageGCLowThresholdPercent',
  'cpuCFSQuota',
]);

export function eksctlKubelet(group: NodeGroup, field: Field, path: Path): void {
  const keys = field.keys();
  group.kubelet(Object.fromEntries(keys.filter((key) => KNOWN.has(key)).map((key) => [key, field.at(key).value])));
  for (const key of keys.filter((each) => !KNOWN.has(each)))
    group.onClass(
      'lost',
      [...path, key],
      `${key} is not a field of spec.kubelet; set it in userData for AL2023 and Bottlerocket`,
      ['spec', 'kubelet'],
    );
}
