/** Filters kinds that the operator reads only if the feature gate of the same name is open. */
import type { Manifest } from './read.ts';

/** Feature gates with a known state. All other gates may be open or closed. */
export type KnownGates = Readonly<Record<string, boolean>>;

const KINDS: readonly string[] = ['NodeOverlay', 'CapacityBuffer'];

/** Removes objects of kinds with a closed feature gate. If the gate is unknown, keeps the objects and adds a note. */
export function behindGates(
  manifests: readonly Manifest[],
  gates: KnownGates = {},
): { readonly open: readonly Manifest[]; readonly notes: readonly string[] } {
  const found = KINDS.filter((kind) => manifests.some(({ object }) => object.kind === kind));
  const closed = found.filter((kind) => gates[kind] === false);
  return {
    open: manifests.filter(({ object }) => !closed.includes(object.kind)),
    notes: found
      .filter((kind) => gates[kind] === undefined)
      .map(
        (kind) =>
          `${kind}s are included, but the operator uses them only with the feature gate ${kind}, which is disabled by ` +
          `default; add --feature-gates ${kind}=true or ${kind}=false, as in the settings of the operator`,
      ),
  };
}
