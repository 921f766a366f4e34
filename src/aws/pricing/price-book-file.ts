/**
 * The price book of the operator, read from a file. The file is read again when it changes. Entries start and expire
 * at their dates.
 */

import { type FileHandle, open } from 'node:fs/promises';
import { EMPTY_BOOK, entryName, MOST_BYTES, type PriceBook, readPriceBook } from '#api/price-book';
import type { Commitment } from '#engine/costs';
import { after, type Singleton } from '#kube/reconcilers';
import { InputError, messageOf, timeOf } from '#lib';
import type { Timepiece } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { bookInForce, type DiscountedPrice, isExpired } from './book-entries.ts';

const POLL_MS = 60_000;
/** Time between the warning about an entry and its end. */
const WARNING_MS = 14 * 24 * 3_600_000;

interface PriceBookFileOptions {
  /** Empty if there is no price book. */
  readonly path: string;
  readonly region: string;
  readonly clock: Timepiece;
  readonly log: Logger;
}

export class PriceBookFile {
  readonly #options: PriceBookFileOptions;
  #book: PriceBook = EMPTY_BOOK;
  /** Identity of the file that was read last. A mounted ConfigMap changes by the replacement of the file. */
  #seen = '';
  #failure = '';
  #inForce = '';
  #version = 0;
  #discounted: DiscountedPrice | undefined;
  #commitments: readonly Commitment[] = [];
  /** Entries with a logged expiry. */
  #said = new Set<string>();

  constructor(options: PriceBookFileOptions) {
    this.#options = options;
  }

  /** Changes if a discount or commitment has changed. */
  get version(): number {
    return this.#version;
  }

  /** Converts list prices to discounted prices. Undefined if no discount is in force. */
  get discounted(): DiscountedPrice | undefined {
    return this.#discounted;
  }

  /** Commitments in force in this region. The list remains the same object until they change. */
  get commitments(): readonly Commitment[] {
    return this.#commitments;
  }

  /** Reads the file if it has changed. If it cannot be read, the previous contents stay in force. */
  async poll(): Promise<void> {
    if (this.#options.path === '') return;
    try {
      await this.#read();
      this.#failure = '';
    } catch (error) {
      this.#report(error);
    }
    this.#apply();
  }

  async #read(): Promise<void> {
    const { path, log } = this.#options;
    const file = await open(path, 'r');
    try {
      const { dev, ino, size, mtimeMs } = await file.stat();
      const seen = [dev, ino, size, mtimeMs].join();
      if (seen === this.#seen) return;
      if (size > MOST_BYTES)
        throw new InputError(path, `the price book has ${size} bytes, but at most ${MOST_BYTES} are allowed`);
      const { book, problems } = readPriceBook(await contentOf(file), path);
      this.#seen = seen;
      this.#book = book;
      const entries = book.discounts.length + book.savingsPlans.length + book.reservedInstances.length;
      log.info('read the price book', { path, entries });
      for (const error of problems) log.error('ignoring an invalid entry of the price book', { error });
    } finally {
      await file.close();
    }
  }

  /** Logs an error once, until a different error occurs. */
  #report(error: unknown): void {
    const message = messageOf(error);
    if (message === this.#failure) return;
    this.#failure = message;
    this.#options.log.error('failed reading the price book, using the previous version', { error });
  }

  #apply(): void {
    const { region, clock } = this.#options;
    const context = { region, nowMs: clock.now() };
    this.#sayExpiries(context.nowMs);
    const { discounts, discounted, commitments } = bookInForce(this.#book, context);
    const inForce = JSON.stringify([discounts, commitments]);
    if (inForce === this.#inForce) return;
    this.#inForce = inForce;
    this.#discounted = discounted;
    this.#commitments = commitments;
    this.#version++;
  }

  #sayExpiries(nowMs: number): void {
    const said = new Set<string>();
    for (const { name, end } of datedEntries(this.#book)) {
      const has = isExpired({ end }, nowMs);
      if (!has && timeOf(end) - nowMs > WARNING_MS) continue;
      const key = `${name} ${end} ${has}`;
      said.add(key);
      if (this.#said.has(key)) continue;
      const { log } = this.#options;
      if (has) log.error('an entry of the price book has expired', { entry: name, end });
      else log.error('an entry of the price book expires soon', { entry: name, end });
    }
    this.#said = said;
  }
}

/** Reads the file up to the limit, even if the file has grown since the check. */
async function contentOf(file: FileHandle): Promise<string> {
  const buffer = Buffer.alloc(MOST_BYTES + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
    length += bytesRead;
    if (bytesRead === 0 || length === buffer.length) return buffer.toString('utf8', 0, length);
  }
}

const datedEntries = (book: PriceBook): readonly { readonly name: string; readonly end: string }[] =>
  (['discounts', 'savingsPlans', 'reservedInstances'] as const).flatMap((list) =>
    book[list].flatMap((entry, at) =>
      entry.end === undefined ? [] : [{ name: entryName(list, entry, at), end: entry.end }],
    ),
  );

export const priceBookController = (book: PriceBookFile): Singleton => ({
  name: 'providers.pricebook',
  singleton: true,
  async reconcile() {
    await book.poll();
    return after(POLL_MS);
  },
});
