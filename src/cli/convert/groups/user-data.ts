/**
 * Converts user data of groups. Kubelet settings move to the NodePool and the EC2NodeClass. Notes list the remaining
 * content.
 */
import type { AmiFamily } from '../../../api/ec2-nodeclass.ts';
import { decodeUserData, type KubeletConfig } from '../../../local/kubernetes/kubelets/userdata/index.ts';
import { messageOf } from '../../objects/errors.ts';
import type { Path } from '../notes.ts';
import { addLabels, addTaint } from './common.ts';
import type { NodeGroup } from './node-group.ts';

/**
 * Returns the AMI family that matches the bootstrap of the user data, or undefined if the user data contains no
 * bootstrap.
 */
export function bootstrapFamily(text: string): AmiFamily | undefined {
  if (text.includes('/etc/eks/bootstrap.sh')) return 'AL2';
  if (text.includes('node.eks.aws/')) return 'AL2023';
  if (text.includes('[settings.kubernetes')) return 'Bottlerocket';
  return text.includes('-EKSClusterName') ? 'Windows2022' : undefined;
}

/** Applies user data. If it cannot be read, adds a note instead of throwing InputError. */
export function applyUserData(group: NodeGroup, text: string, field: Path): void {
  const at: Path = ['spec', 'userData'];
  let config: KubeletConfig;
  try {
    config = decodeUserData(text);
  } catch (error) {
    group.onClass('lost', field, `the user data cannot be parsed: ${messageOf(error).split('\n', 1)[0]}`, at);
    return;
  }
  if (bootstrapFamily(text) === undefined) {
    group.nodeClass.userData = text;
    group.onClass(
      'assumed',
      field,
      'unchanged user data, merged with the user data of Karpenter; make sure that it does not start the kubelet',
      at,
    );
    return;
  }
  applyKubelet(group, config, field);
  group.onClass(
    'lost',
    field,
    'the user data starts the kubelet, but Karpenter generates this part; labels, taints and kubelet settings were extracted ' +
      'from it; add its other commands to userData',
    at,
  );
}

function applyKubelet(group: NodeGroup, config: KubeletConfig, field: Path): void {
  addLabels(group, config.labels, field);
  for (const { key, value, effect } of config.taints)
    if (!key.startsWith('karpenter.sh/')) addTaint(group, { key, value, effect }, field);
  const { maxPods, podsPerCore, kubeReserved, systemReserved, evictionHard } = config;
  group.kubelet({
    ...(maxPods === undefined ? {} : { maxPods }),
    ...(podsPerCore === undefined ? {} : { podsPerCore }),
    ...ifAny('kubeReserved', kubeReserved),
    ...ifAny('systemReserved', systemReserved),
    ...ifAny('evictionHard', evictionHard),
  });
  if (config.raid0) group.nodeClass.instanceStorePolicy = 'RAID0';
}

const ifAny = (name: string, map: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> =>
  Object.keys(map).length === 0 ? {} : { [name]: map };
