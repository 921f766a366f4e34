/** Keeps data over restarts. Reads the stored text once, and writes changes every few minutes and before the process ends. */

import type { Clock } from '#lib/clock';
import type { Logger } from '#observe/logger';
import type { ConfigMapDocument } from './config-map-document.ts';
import { after, type Outcome, type Singleton } from './reconciler.ts';

const INTERVAL_MS = 5 * 60_000;
/** Time between tries to read the stored text. */
const RETRY_MS = 60_000;
/** Maximum wait for the API server at the end of the process. */
const LAST_WRITE_MS = 5_000;

/** Data that can be stored as a text. */
export interface Kept {
  /** Increases with every change that must be written. */
  readonly changes: number;
  /** Increases with every change that can wait for the end of the process. */
  readonly lateChanges?: number;
  /** Returns the complete text, then increasingly shorter forms for storage with less room. */
  texts(): Iterable<string>;
  /** Adds the content of a stored text to the current data. @throws Error if the text is invalid */
  restore(text: string): void;
}

export class DocumentKeeper implements Singleton {
  readonly name: string;
  readonly singleton = true;
  readonly #kept: Kept;
  readonly #document: ConfigMapDocument;
  /** True after the stored text was read. A write before this read would lose the stored text. */
  #isRestored = false;
  #written = 0;
  #writtenLate = 0;

  /** @param name of the controller */
  constructor(name: string, kept: Kept, document: ConfigMapDocument) {
    this.name = name;
    this.#kept = kept;
    this.#document = document;
  }

  async reconcile(): Promise<Outcome> {
    try {
      if (!this.#isRestored) await this.#restore();
      else if (this.#kept.changes !== this.#written) await this.write();
    } catch (error) {
      this.#document.failed(error);
    }
    return after(this.#isRestored ? INTERVAL_MS : RETRY_MS);
  }

  /** Writes the last changes after all other work has stopped. */
  readonly leaving = (): Promise<void> => this.write();

  /** Writes all changes. @throws Error if the write fails */
  async write(): Promise<void> {
    const { changes, lateChanges = 0 } = this.#kept;
    if (!this.#isRestored || (changes === this.#written && lateChanges === this.#writtenLate)) return;
    await this.#document.write(this.#kept.texts());
    this.#written = changes;
    this.#writtenLate = lateChanges;
  }

  async #restore(): Promise<void> {
    const text = await this.#document.read();
    const unread = await this.#document.readUnread();
    this.#isRestored = true;
    try {
      if (text !== undefined) this.#kept.restore(text);
    } catch (error) {
      this.#document.startAfresh(error);
    }
    if (unread === undefined) return;
    try {
      // older than the text, because it was written before a process that could not read it
      this.#kept.restore(unread);
      this.#document.dropUnread();
    } catch {
      // kept for a version that can read it
    }
  }
}

interface LastWriter {
  readonly name: string;
  write(): Promise<void>;
}

/** Writes the last changes after all other work has stopped, so that an orderly stop loses no data. */
export async function writeLast(
  writers: readonly LastWriter[],
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<void> {
  const writes = writers.map((writer) =>
    writer.write().catch((error: unknown) => {
      log.debug('failed writing documents', { document: writer.name, error });
    }),
  );
  if (writes.length > 0) await Promise.race([Promise.all(writes), clock.sleep(LAST_WRITE_MS)]);
}
