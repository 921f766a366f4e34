/** The far side of `enginethread.ts`: holds the copy of the cluster, and answers. */
import { parentPort, workerData } from 'node:worker_threads';
import type { PoolInput, Snapshot } from '../engine/model.ts';
import { HeldLists } from './copies.ts';
import type { CopiedName, Failure, HoldMessage, NumberedPool, SnapshotFrame } from './enginemessages.ts';
import { COPIED } from './enginemessages.ts';
import type { ThreadData } from './enginethread.ts';
import { HeldTypes } from './instance-type-lists.ts';
import { boardWriter, newBoard } from './progress-board.ts';

export class HeldCluster {
  readonly #lists = new HeldLists();
  readonly #types = new HeldTypes();

  receive(message: HoldMessage): void {
    if (message.kind === 'types' || message.kind === 'forget') this.#types.receive(message);
    else this.#lists.receive(message);
  }

  /** @throws Error when a pool's list of types has not come, or has been forgotten */
  withTypes(pools: readonly NumberedPool[]): readonly PoolInput[] {
    return pools.map(({ nodePool, types }) => {
      const instanceTypes = this.#types.list(types);
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

const board = boardWriter((workerData as ThreadData | null)?.board ?? newBoard());

/** Says to the near side on which pod this thread works. */
export const working = board.working;

/** Sends what the work comes to, or what went wrong with it. */
export async function answer(job: number, work: () => object | Promise<object>): Promise<void> {
  try {
    parentPort?.postMessage({ job, ...(await work()) });
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    parentPort?.postMessage({ job, error: text } satisfies Failure);
  } finally {
    board.idle();
  }
}
