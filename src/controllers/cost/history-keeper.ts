/** Keeps the history over restarts: reads what is kept once, and writes what is new every few minutes and at the end. */
import type { ConfigMapDocument } from '../../kube/config-map-document.ts';
import { after, type Outcome, type Singleton } from '../../kube/reconciler.ts';
import { type History, historyTexts, restoreHistory } from '../../observe/history/document.ts';

const INTERVAL_MS = 5 * 60_000;
/** Between tries to read what is kept. */
const RETRY_MS = 60_000;

export class HistoryKeeper implements Singleton {
  readonly name = 'cost.history';
  readonly singleton = true;
  readonly #history: History;
  readonly #document: ConfigMapDocument;
  /** Nothing is written before what is kept has been read: it would be lost. */
  #isRestored = false;
  #written = 0;

  constructor(history: History, document: ConfigMapDocument) {
    this.#history = history;
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
    const { decisions, hours } = this.#history;
    const changes = decisions.changes + hours.changes;
    if (!this.#isRestored || changes === this.#written) return;
    await this.#document.write(historyTexts(this.#history));
    this.#written = changes;
  }

  async #restore(): Promise<void> {
    const text = await this.#document.read();
    this.#isRestored = true;
    if (text === undefined) return;
    try {
      restoreHistory(this.#history, text);
    } catch (error) {
      this.#document.startAfresh(error);
    }
  }
}
