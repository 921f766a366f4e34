/** The far side of `enginethread.ts`: holds the copy of the cluster, and answers. */
import { parentPort } from 'node:worker_threads';
import type { InstanceType, PoolInput, Snapshot } from '../engine/model.ts';
import { HeldLists } from './copies.ts';
import type { CopiedName, Failure, HoldMessage, NumberedPool, SnapshotFrame } from './enginemessages.ts';
import { COPIED } from './enginemessages.ts';

export class HeldCluster {
  readonly #lists = new HeldLists();
  /** Instance types by the number that the near side gave their list: compiled once, used by many solves. */
  readonly #typeLists = new Map<number, InstanceType[]>();

  receive(message: HoldMessage): void {
    if (message.kind === 'types') this.#addTypes(message.id, message.types);
    else if (message.kind === 'forget') this.#typeLists.delete(message.id);
    else this.#lists.receive(message);
  }

  /** A list comes in parts, all of them before anything is asked about it. */
  #addTypes(id: number, types: readonly InstanceType[]): void {
    const list = this.#typeLists.get(id) ?? [];
    list.push(...types);
    this.#typeLists.set(id, list);
  }

  /** @throws Error when a pool's list of types has not come, or has been forgotten */
  withTypes(pools: readonly NumberedPool[]): readonly PoolInput[] {
    return pools.map(({ nodePool, types }) => {
      const instanceTypes = this.#typeLists.get(types);
      if (instanceTypes === undefined)
        throw new Error(`NodePool "${nodePool.metadata.name}": its list ${types} of instance types is not here`);
      return { nodePool, instanceTypes };
    });
  }

  /** The snapshot that was shown, as the lists are now. */
  snapshot({ rest, pools }: SnapshotFrame): Snapshot {
    // what was put under a name has the type of its list
    const held = Object.fromEntries(COPIED.map((name) => [name, this.#lists.items(name)])) as object;
    return { ...rest, ...(held as Pick<Snapshot, CopiedName>), pools: this.withTypes(pools) };
  }
}

/** Sends what the work comes to, or what went wrong with it. */
export async function answer(job: number, work: () => object | Promise<object>): Promise<void> {
  try {
    parentPort?.postMessage({ job, ...(await work()) });
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    parentPort?.postMessage({ job, error: text } satisfies Failure);
  }
}
