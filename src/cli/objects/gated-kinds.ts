/** Kinds that the operator reads only behind a feature gate of their name. */
import type { Manifest } from './read.ts';

/** Feature gates that are known to be open or closed; of the others nothing is known. */
export type KnownGates = Readonly<Record<string, boolean>>;

const KINDS: readonly string[] = ['NodeOverlay', 'CapacityBuffer'];

/** Without the objects of gates that are closed. Those of gates of which nothing is known count, and a note says so. */
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
          `${kind}s count here, but the operator reads them only with the feature gate ${kind}, which is closed by ` +
          `default; say --feature-gates ${kind}=true or ${kind}=false, as it is there`,
      ),
  };
}
