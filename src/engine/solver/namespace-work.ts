/**
 * Work for devices by namespace in one solve. Pods of a namespace that used its share wait for a later solve, so that they do not
 * delay the nodes of other namespaces. Units are deterministic, but results that earlier solves have cached cost nothing.
 */
import type { EnginePod } from '../input.ts';
import { namespaceOf } from '../pods.ts';

/** Units after which no further pod of the namespace is tried. A pod that was started before is completed. */
export const MOST_NAMESPACE_UNITS = 10_000_000;

export class NamespaceWork {
  readonly #units = new Map<string, number>();

  /** Returns a function that counts units for the namespace of a pod. */
  counterFor(pod: EnginePod): (units: number) => void {
    const namespace = namespaceOf(pod);
    return (units) => void this.#units.set(namespace, (this.#units.get(namespace) ?? 0) + units);
  }

  isSpentFor(pod: EnginePod): boolean {
    return (this.#units.get(namespaceOf(pod)) ?? 0) > MOST_NAMESPACE_UNITS;
  }
}
