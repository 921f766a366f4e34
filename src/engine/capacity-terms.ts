/** Computation of the capacity of an instance type, as terms that are added. `explain instance-type` shows them. */
import type { InstanceType, InstanceTypeOverhead, Resources } from './model.ts';

/** Line of a computation. Amounts that are subtracted are negative. */
export interface Term {
  readonly text: string;
  readonly amount: number;
}

/** Terms by resource, in the canonical units of `Resources`. */
export type Terms = Readonly<Record<string, readonly Term[]>>;

export interface TypeTerms {
  readonly capacity: Terms;
  readonly overhead: Readonly<Record<keyof InstanceTypeOverhead, Terms>>;
  /** Terms by CSI driver. */
  readonly volumeLimits: Terms;
}

export const sumOf = (terms: readonly Term[] = []): number => terms.reduce((sum, { amount }) => sum + amount, 0);

export const sumsOf = (terms: Terms): Resources =>
  Object.fromEntries(Object.entries(terms).map(([name, each]) => [name, sumOf(each)]));

/** Returns the fields of an instance type that the terms determine. */
export const amountsOf = ({
  capacity,
  overhead: { kubeReserved, systemReserved, evictionThreshold },
  volumeLimits,
}: TypeTerms): Required<Pick<InstanceType, 'capacity' | 'overhead' | 'volumeLimits'>> => ({
  capacity: sumsOf(capacity),
  overhead: {
    kubeReserved: sumsOf(kubeReserved),
    systemReserved: sumsOf(systemReserved),
    evictionThreshold: sumsOf(evictionThreshold),
  },
  volumeLimits: sumsOf(volumeLimits),
});
