/** Control loop of one kind of workload. It runs when a workload changes, or an object that the workload owns. */
import { controllerOf, type Kind, type KubeObject, POD } from '#api/objects';
import { keyOf, refOf } from '#kube/client';
import type { Parts } from '../../../parts.ts';
import { type Loop, startLoop } from '../loop.ts';

export interface Control<T extends KubeObject> {
  readonly kind: Kind<T>;
  /** Kind of the owned objects. Default: pods. */
  readonly owns?: Kind;
  /** Additional kinds that it reads. They are listed before `start` resolves. */
  readonly reads?: readonly Kind[];
  /** Called with the loop before the first read. May schedule further keys. */
  also?(loop: Loop): void;
  /**
   * Reconciles a workload that is not being deleted. A returned number schedules another run after this number of
   * milliseconds.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: as in `LoopOptions`
  reconcile(object: T): Promise<number | undefined | void>;
}

/** Starts the loop. Resolves when all kinds that it reads have been listed. */
export async function control<T extends KubeObject>(parts: Parts, options: Control<T>): Promise<void> {
  const { kind, owns = POD, reads = [], also, reconcile } = options;
  const { caches } = parts;
  const objects = caches.of(kind);
  const loop = startLoop({
    ...parts,
    name: kind.kind.toLowerCase(),
    async reconcile(key) {
      const object = objects.get(refOf(key));
      if (object && object.metadata.deletionTimestamp === undefined) return reconcile(object);
    },
  });
  objects.subscribe((now) => now && loop.add(keyOf(now.metadata)));
  caches.of(owns).subscribe((now, before) => {
    const owned = now ?? before;
    const owner = owned && controllerOf(owned);
    if (owner?.kind === kind.kind) loop.add(keyOf({ namespace: owned?.metadata.namespace, name: owner.name }));
  });
  also?.(loop);
  await Promise.all([objects.synced, ...[owns, ...reads].map((each) => caches.of(each).synced)]);
}
