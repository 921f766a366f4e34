/** Kinds that the operator reads only if the feature gate of the same name is open. */
import type { CapacityBuffer, Kind, KubeObject, NodeOverlay, Pod } from '#api/objects';
import type { PoolInput } from '#engine/model';
import { type BufferProblem, evaluateOverlays, isActive, isProblem, overlaid, virtualPods } from '#engine/solve';
import { bufferReplicas, findTarget } from '#planner';
import type { Manifest } from './read.ts';
import { validateStored } from './stored.ts';

/** Feature gates with a known state. All other gates may be open or closed. */
export type KnownGates = Readonly<Record<string, boolean>>;

const KINDS: readonly string[] = ['NodeOverlay', 'CapacityBuffer', 'CapacityQuota'];

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

/** Applies NodeOverlays of manifests to the instance types of NodePools. */
interface Overlaid {
  readonly pools: readonly PoolInput[];
  /** Notes on overlays that are not applied, with the reason. */
  readonly notes: readonly string[];
}

/** @throws InputError with the overlay and the field */
export function underOverlays(pools: readonly PoolInput[], manifests: readonly Manifest[]): Overlaid {
  const found = manifests.filter(({ object }) => object.kind === 'NodeOverlay');
  if (found.length === 0) return { pools, notes: [] };
  const overlays = found.map((manifest) => ({ where: manifest.where, overlay: validateStored<NodeOverlay>(manifest) }));
  const { accepted, evaluated, problems } = evaluateOverlays(
    overlays.map(({ overlay }) => overlay),
    pools,
  );
  return {
    pools: pools.map((pool) => ({
      ...pool,
      instanceTypes: evaluated.has(pool.nodePool) ? overlaid(pool, accepted) : [],
    })),
    notes: overlays.flatMap(({ where, overlay }) => {
      const problem = problems.get(overlay.metadata.name);
      return problem === undefined ? [] : [`${where}: not applied: ${problem.message}`];
    }),
  };
}

/** Reads CapacityBuffers from manifests and creates the virtual pods that reserve their capacity. */
interface Buffered {
  readonly pods: readonly Pod[];
  /** Notes on buffers whose capacity cannot be reserved. */
  readonly notes: readonly string[];
}

/** @throws InputError with the buffer and the field */
export async function bufferPods(manifests: readonly Manifest[], nowMs: number): Promise<Buffered> {
  const pods: Pod[] = [];
  const notes: string[] = [];
  for (const manifest of manifests.filter(({ object }) => object.kind === 'CapacityBuffer')) {
    const read = validateStored<CapacityBuffer>(manifest);
    const { name, namespace = 'default', uid = name } = read.metadata;
    const buffer = { ...read, metadata: { ...read.metadata, namespace, uid } };
    if (!isActive(buffer)) continue;
    const target = await findTarget(buffer, async (kind, ref) => findIn(manifests, kind, ref));
    const replicas = isProblem(target) ? target : bufferReplicas(buffer, target, pods.length);
    if (isProblem(target) || typeof replicas !== 'number') {
      const { message } = isProblem(target) ? target : (replicas as BufferProblem);
      notes.push(`${manifest.where}: no capacity is reserved: ${message}`);
    } else pods.push(...virtualPods(buffer, target.template, replicas, nowMs));
  }
  return { pods, notes };
}

function findIn<T extends KubeObject>(
  manifests: readonly Manifest[],
  { kind }: Kind<T>,
  { name, namespace }: { readonly name: string; readonly namespace: string | undefined },
): T | undefined {
  const found = manifests.find(
    ({ object: { kind: of, metadata } }) =>
      of === kind && metadata.name === name && (metadata.namespace ?? 'default') === namespace,
  );
  return found?.object as T | undefined;
}
