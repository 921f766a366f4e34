/** The kubelet settings that a launch template carries. */

import { type Kubelet, parseKubelet, type RawKubelet } from '../nodeclass/kubelet.ts';
import { canonicalDurations } from './kubeletargs.ts';

export interface EffectiveKubelet {
  readonly kubelet: Kubelet;
  readonly rawKubelet: RawKubelet;
}

const isAmount = (text: string): boolean => /^[+-]?[0-9.]+([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?$/.test(text);

/** Without entries that are expressions, which have no effect unless their feature gate is on. */
const amountsOnly = (list: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(list).filter(([, text]) => isAmount(text)));

/**
 * `maxPods` is always there: the user's number, else what the instance type holds. Cluster DNS defaults to kube-dns.
 * @throws Error when the block does not parse
 */
export function effectiveKubelet(
  raw: RawKubelet | undefined,
  { pods, dnsIp }: { readonly pods: number; readonly dnsIp: string | undefined },
): EffectiveKubelet {
  let kubelet: Kubelet;
  try {
    kubelet = parseKubelet(raw);
  } catch (error) {
    throw new Error(`parsing kubelet configuration, ${(error as Error).message}`, { cause: error });
  }
  const filled: {
    maxPods: number;
    clusterDNS?: string[];
    kubeReserved?: object;
    systemReserved?: object;
    evictionSoftGracePeriod?: object;
  } = {
    maxPods: typeof kubelet.maxPods === 'number' ? kubelet.maxPods : pods,
  };
  for (const field of ['kubeReserved', 'systemReserved'] as const) {
    const amounts = amountsOnly(kubelet[field] ?? {});
    if (Object.keys(amounts).length > 0) filled[field] = amounts;
  }
  if ((kubelet.clusterDNS ?? []).length === 0 && dnsIp !== undefined) filled.clusterDNS = [dnsIp];
  const grace = canonicalDurations(kubelet.evictionSoftGracePeriod);
  if (grace !== undefined) filled.evictionSoftGracePeriod = grace;
  const rawKubelet: RawKubelet = { ...raw, ...filled };
  return { kubelet: parseKubelet(rawKubelet), rawKubelet };
}
