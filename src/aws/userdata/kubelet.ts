/** Kubelet settings in a launch template. */

import { messageOf } from '#lib';
import { type Kubelet, parseKubelet, type RawKubelet } from '../kubelet/block.ts';
import { type Reserved, resolveReserved } from '../kubelet/expressions.ts';
import { canonicalDurations } from './kubeletargs.ts';

interface EffectiveKubelet {
  readonly kubelet: Kubelet;
  readonly rawKubelet: RawKubelet;
}

/**
 * Returns the kubelet settings with defaults. `maxPods` is always set: to the number in the block, or to the limit of
 * the instance type. Reserved amounts are the resolved values of the type. Cluster DNS defaults to kube-dns.
 * @throws Error if the block cannot be parsed
 */
export function effectiveKubelet(
  raw: RawKubelet | undefined,
  context: { readonly pods: number; readonly dnsIp: string | undefined; readonly reserved?: Reserved },
): EffectiveKubelet {
  let kubelet: Kubelet;
  try {
    kubelet = parseKubelet(raw);
  } catch (error) {
    throw new Error(`parsing kubelet configuration, ${messageOf(error)}`, { cause: error });
  }
  const { pods, dnsIp, reserved = resolveReserved(kubelet) } = context;
  const completed: {
    maxPods: number;
    clusterDNS?: string[];
    kubeReserved?: object;
    systemReserved?: object;
    evictionSoftGracePeriod?: object;
  } = {
    maxPods: typeof kubelet.maxPods === 'number' ? kubelet.maxPods : pods,
  };
  for (const field of ['kubeReserved', 'systemReserved'] as const) {
    if (Object.keys(reserved[field]).length > 0) completed[field] = reserved[field];
  }
  if ((kubelet.clusterDNS ?? []).length === 0 && dnsIp !== undefined) completed.clusterDNS = [dnsIp];
  const grace = canonicalDurations(kubelet.evictionSoftGracePeriod);
  if (grace !== undefined) completed.evictionSoftGracePeriod = grace;
  const rawKubelet: RawKubelet = { ...raw, ...completed };
  return { kubelet: parseKubelet(rawKubelet), rawKubelet };
}
