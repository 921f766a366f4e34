/** Finds out what kind of pods a capacity buffer keeps room for. */
import type { CapacityBuffer } from '../../api/capacity-buffer.ts';
import {
  type BufferProblem,
  type BufferTarget,
  bufferSource,
  isProblem,
  notFound,
  templateTarget,
  workloadTarget,
} from '../../engine/buffer-target.ts';
import type { KubeClient } from '../../kube/client.ts';

/** @throws what the API server answers, except that something does not exist */
export async function findTarget(client: KubeClient, buffer: CapacityBuffer): Promise<BufferTarget | BufferProblem> {
  const source = bufferSource(buffer);
  if (isProblem(source)) return source;
  const { namespace } = buffer.metadata;
  const ref = { name: source.name, namespace };
  if (source.of === 'template') {
    const found = await client.find(source.kind, ref);
    return found === undefined ? notFound(source, namespace) : templateTarget(found);
  }
  const found = await client.find(source.kind, ref);
  return found === undefined ? notFound(source, namespace) : workloadTarget(found);
}
