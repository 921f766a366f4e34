/** Resources of a node that pods cannot use: kube-reserved, system-reserved and the hard eviction threshold. */
import type { StringMap } from '#api/objects';
import { parseQuantity } from '#api/values';
import { amountOf, type Term, type Terms, type TypeTerms } from '#engine/model';
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

const termsIn = (field: string, list: StringMap): Terms =>
  Object.fromEntries(
    Object.entries(list).map(([name, text]) => [
      name,
      [{ text: `spec.kubelet.${field}.${name}`, amount: amountOf(name, text) }],
    ]),
  );

interface Threshold {
  readonly kubelet: Kubelet;
  readonly signal: string;
  readonly capacity: number;
  /** Default threshold. */
  readonly fallback: Term;
}

function thresholdTerm({ kubelet, signal, capacity, fallback }: Threshold): Term {
  const given = kubelet.evictionHard?.[signal];
  if (given === undefined) return fallback;
  const text = `spec.kubelet.evictionHard.${signal} ${given}`;
  if (!given.endsWith('%')) return { text, amount: parseQuantity(given) };
  const percent = Number(given.slice(0, -1));
  // The kubelet disables a threshold of 100 %.
  return { text, amount: percent === 100 ? 0 : Math.ceil((capacity / 100) * percent) };
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
export function overheadTerms(
  kubelet: Kubelet,
  input: OverheadInput,
  reserved: Reserved = resolveReserved(kubelet),
): TypeTerms['overhead'] {
  return {
    kubeReserved: {
      cpu: [{ text: `default for ${input.vcpus} vCPUs`, amount: reservedCpuMilli(input.vcpus) }],
      memory: [{ text: `default for ${input.pods} pods`, amount: (11 * input.pods + 255) * MIB }],
      'ephemeral-storage': [{ text: 'default', amount: GIB }],
      ...termsIn('kubeReserved', reserved.kubeReserved),
    },
    systemReserved: termsIn('systemReserved', reserved.systemReserved),
    evictionThreshold: {
      memory: [
        thresholdTerm({
          kubelet,
          signal: 'memory.available',
          capacity: input.memory,
          fallback: { text: 'default', amount: 100 * MIB },
        }),
      ],
      'ephemeral-storage': [
        thresholdTerm({
          kubelet,
          signal: 'nodefs.available',
          capacity: input.ephemeralStorage,
          fallback: { text: 'default of 10 %', amount: Math.ceil((input.ephemeralStorage / 100) * 10) },
        }),
      ],
    },
  };
}
