/** Converts kubelet settings of eksctl files. */
import type { Field } from '../../../lib/field.ts';
import type { Path } from '../notes.ts';

import type { NodeGroup } from './node-group.ts';

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
