/** Keeps something over restarts: reads what is kept once, and writes what is new every few minutes and at the end. */

import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../observe/logger.ts';
import type { ConfigMapDocument } from './config-map-document.ts';
import { after, type Outcome, type Singleton } from './reconciler.ts';

const INTERVAL_MS = 5 * 60_000;
/** Between tries to read what is kept. */
const RETRY_MS = 60_000;
/** How long the end of the process may wait for the API server. */
const LAST_WRITE_MS = 5_000;

/** What is kept as a text. */
export interface Kept {
  /** Grows whenever there is something new to write. */
  readonly changes: number;
  /** All of it, and ever shorter forms for who has no room for that. */
  texts(): Iterable<string>;
  /** Adds what a text holds to what is known. @throws Error when it is no such text */
  restore(text: string): void;
}

export class DocumentKeeper implements Singleton {
  readonly name: string;
  readonly singleton = true;
  readonly #kept: Kept;
  readonly #document: ConfigMapDocument;
  /** Nothing is written before what is kept has been read: it would be lost. */
  #isRestored = false;
  #written = 0;

  /** @param name of the controller */
  constructor(name: string, kept: Kept, document: ConfigMapDocument) {
    this.name = name;
    this.#kept = kept;
    this.#document = document;
  }

  async reconcile(): Promise<Outcome> {
    try {
      if (!this.#isRestored) await this.#restore();
      else await this.write();
    } catch (error) {
      this.#document.failed(error);
    }
    return after(this.#isRestored ? INTERVAL_MS : RETRY_MS);
  }

  /** Writes what is new. To be called once more when everything else has stopped. @throws Error when it cannot be written */
  async write(): Promise<void> {
    const { changes } = this.#kept;
    if (!this.#isRestored || changes === this.#written) return;
    await this.#document.write(this.#kept.texts());
    this.#written = changes;
  }

  async #restore(): Promise<void> {
    const text = await this.#document.read();
    this.#isRestored = true;
    if (text === undefined) return;
    try {
      this.#kept.restore(text);
    } catch (error) {
      this.#document.startAfresh(error);
    }
  }
}

/** Writes what is new when everything else has stopped: a stop in good order loses nothing. */
export async function writeLast(
  keepers: readonly (DocumentKeeper | undefined)[],
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<void> {
  const writes = keepers.flatMap((keeper) =>
    keeper === undefined
      ? []
      : [
          keeper.write().catch((error: unknown) => {
            log.debug('failed writing what is to survive restarts', { document: keeper.name, error });
          }),
        ],
  );
  if (writes.length > 0) await Promise.race([Promise.all(writes), clock.sleep(LAST_WRITE_MS)]);
}
