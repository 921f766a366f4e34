/** Folders and names of the kubelet suite. */
import { join, resolve } from 'node:path';
import { cacheFolder } from '../../cluster/harness/binaries.ts';

export const ROOT = resolve(import.meta.dirname, '../../..');

/** Cache of base images and of the layers of image builds: `karpenter-ts/kubelet` in the user's cache folder. */
export const imageCache = (): string => join(cacheFolder(), '../kubelet');

/** Environment variables by which the runner configures the processes in the namespaces. */
export const ENV = {
  /** Folder of a run, which the runner removes. */
  work: 'KARPENTER_KUBELET_WORK',
  /** Name of the cgroup of a run, in every hierarchy. */
  cgroup: 'KARPENTER_KUBELET_CGROUP',
  /** Reason for which the suite is skipped. */
  skipped: 'KARPENTER_KUBELET_SKIPPED',
} as const;
