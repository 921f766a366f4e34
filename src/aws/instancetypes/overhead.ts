/** Resources of a node that pods cannot use: kube-reserved, system-reserved and the hard eviction threshold. */
import type { StringMap } from '../../api/kubernetes.ts';
import { parseQuantity } from '../../api/quantity.ts';
import type { InstanceTypeOverhead, Resources } from '../../engine/model.ts';
import { amountOf } from '../../engine/resources.ts';
import type { Kubelet } from '../kubelet/block.ts';
import { type Reserved, resolveReserved } from '../kubelet/expressions.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/** Reserved milli-cores per core, by tier of cores, as in EKS's bootstrap script. */
const CPU_TIERS: readonly (readonly [fromCore: number, toCore: number, milliPerCore: number])[] = [
  [0, 1, 60],
  [1, 2, 10],
  [2, 4, 5],
  [4, Number.POSITIVE_INFINITY, 2.5],
];

const reservedCpuMilli = (vcpus: number): number =>
  CPU_TIERS.reduce(
    (sum, [from, to, perCore]) => sum + Math.trunc(Math.max(0, Math.min(vcpus, to) - from) * perCore),
    0,
  );

const amountsOf = (list: StringMap): Resources =>
  Object.fromEntries(Object.entries(list).map(([name, text]) => [name, amountOf(name, text)]));

function threshold(signal: string | undefined, capacity: number, fallback: number): number {
  if (signal === undefined) return fallback;
  if (!signal.endsWith('%')) return parseQuantity(signal);
  const percent = Number(signal.slice(0, -1));
  // The kubelet disables a threshold of 100 %.
  return percent === 100 ? 0 : Math.ceil((capacity / 100) * percent);
}

interface OverheadInput {
  readonly vcpus: number;
  /** Number of pods for the kube-reserved memory. */
  readonly pods: number;
  /** Estimated memory, even if the actual memory is known, because percentages refer to the estimate. */
  readonly memory: number;
  readonly ephemeralStorage: number;
}

/**
 * Computes the overhead.
 * @param reserved resources that the kubelet block reserves on the type; defaults to its quantities without
 * expressions
 */
export function overheadOf(
  kubelet: Kubelet,
  input: OverheadInput,
  reserved: Reserved = resolveReserved(kubelet),
): InstanceTypeOverhead {
  return {
    kubeReserved: {
      cpu: reservedCpuMilli(input.vcpus),
      memory: (11 * input.pods + 255) * MIB,
      'ephemeral-storage': GIB,
      ...amountsOf(reserved.kubeReserved),
    },
    systemReserved: amountsOf(reserved.systemReserved),
    evictionThreshold: {
      memory: threshold(kubelet.evictionHard?.['memory.available'], input.memory, 100 * MIB),
      'ephemeral-storage': threshold(
        kubelet.evictionHard?.['nodefs.available'],
        input.ephemeralStorage,
        Math.ceil((input.ephemeralStorage / 100) * 10),
      ),
    },
  };
}
