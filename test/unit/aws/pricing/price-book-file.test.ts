import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { after } from '#kube/reconcilers';
import { type LogFields, type Logger, silent } from '#observe/logger';
import { PriceBookFile, priceBookController } from '../../../../src/aws/pricing/price-book-file.ts';

const DAY_MS = 24 * 3_600_000;
const HEAD = 'apiVersion: karpenter-ts/v1\nkind: PriceBook\n';

describe('the file of the price book', () => {
  let folder: string;
  let path: string;
  let nowMs: number;
  let lines: (readonly [message: string, fields: LogFields | undefined])[];
  const log: Logger = {
    ...silent,
    info: (message, fields) => lines.push([message, fields]),
    error: (message, fields) => lines.push([message, fields]),
  };
  const messages = () => lines.splice(0).map(([message]) => message);
  const open = () => new PriceBookFile({ path, region: 'eu-central-1', clock: { now: () => nowMs }, log });
  const write = (body: string): void => writeFileSync(path, HEAD + body);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'price-book-'));
    path = join(folder, 'book.yaml');
    nowMs = Date.parse('2026-06-01T00:00:00Z');
    lines = [];
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('has no effect if it does not exist', async () => {
    const book = new PriceBookFile({ path: '', region: 'eu-central-1', clock: { now: () => nowMs }, log });
    await book.poll();
    expect([book.version, book.discounted, book.commitments]).toEqual([0, undefined, []]);
    expect(messages()).toEqual([]);
  });

  it('is read when it changes, and only then', async () => {
    write('discounts: [{discount: 0.1}]\n');
    const book = open();
    await book.poll();
    expect(book.discounted?.('m5.large', 'spot', 1)).toBeCloseTo(0.9);
    const { version } = book;
    await book.poll();
    expect(book.version).toBe(version);
    expect(messages()).toEqual(['read the price book']);
    write('discounts: [{discount: 0.25}]\n');
    await book.poll();
    expect(book.discounted?.('m5.large', 'spot', 1)).toBeCloseTo(0.75);
    expect(book.version).toBeGreaterThan(version);
  });

  it('follows the symbolic link that a mounted ConfigMap swaps', async () => {
    for (const [name, discount] of Object.entries({ old: 0.1, new: 0.2 })) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'book.yaml'), `${HEAD}discounts: [{discount: ${discount}}]\n`);
    }
    symlinkSync('old', join(folder, '..data'));
    symlinkSync('..data/book.yaml', path);
    const book = open();
    await book.poll();
    expect(book.discounted?.('m5.large', 'spot', 1)).toBeCloseTo(0.9);
    symlinkSync('new', join(folder, '..swap'));
    renameSync(join(folder, '..swap'), join(folder, '..data'));
    await book.poll();
    expect(book.discounted?.('m5.large', 'spot', 1)).toBeCloseTo(0.8);
  });

  it.each([
    ['gone', () => rmSync(path)],
    ['no price book', () => writeFileSync(path, 'apiVersion: v1\nkind: ConfigMap\n')],
    ['too large', () => writeFileSync(path, Buffer.alloc(2 ** 20 + 1, '#'))],
    [
      'a folder',
      () => {
        rmSync(path);
        mkdirSync(path);
      },
    ],
  ])('keeps its last valid content if it is %s, and reports that once', async (_, spoil) => {
    write('reservedInstances: [{instanceType: m5.large, count: 1}]\n');
    const book = open();
    await book.poll();
    const { commitments, version } = book;
    expect(commitments).toHaveLength(1);
    messages();
    spoil();
    await book.poll();
    await book.poll();
    expect([book.commitments, book.version]).toEqual([commitments, version]);
    expect(messages()).toEqual(['failed reading the price book, using the previous version']);
  });

  it('is read again if it was missing at the start', async () => {
    const book = open();
    await book.poll();
    expect([book.discounted, messages()]).toEqual([
      undefined,
      ['failed reading the price book, using the previous version'],
    ]);
    write('discounts: [{discount: 0.1}]\n');
    await book.poll();
    expect(book.discounted).toBeDefined();
  });

  it('skips an invalid entry with its name and uses the other entries', async () => {
    write('discounts: [{id: bad, discount: 7}, {discount: 0.1}]\n');
    const book = open();
    await book.poll();
    expect(book.discounted?.('m5.large', 'spot', 1)).toBeCloseTo(0.9);
    const problem = lines.find(([message]) => message === 'ignoring an invalid entry of the price book');
    expect(String(problem?.[1]?.error)).toMatch(/book\.yaml: discounts\[0\] "bad": discount: /);
  });

  it('warns before an entry expires, drops it afterwards, and logs each once', async () => {
    write(
      `savingsPlans: [{id: sp, type: Compute, commitmentUsdPerHour: 1, rates: [{share: 0.7}], end: 2026-07-01T00:00:00Z}]\n`,
    );
    const book = open();
    await book.poll();
    expect(messages()).toEqual(['read the price book']);
    nowMs += 20 * DAY_MS;
    await book.poll();
    await book.poll();
    expect(messages()).toEqual(['an entry of the price book expires soon']);
    expect(book.commitments).toHaveLength(1);
    const { version } = book;
    nowMs += 10 * DAY_MS;
    await book.poll();
    await book.poll();
    expect(lines[0]?.[1]).toMatchObject({ entry: 'savingsPlans[0] "sp"', end: '2026-07-01T00:00:00Z' });
    expect(messages()).toEqual(['an entry of the price book has expired']);
    expect([book.commitments, book.version]).toEqual([[], version + 1]);
  });

  it('is read every minute', async () => {
    write('discounts: [{discount: 0.1}]\n');
    const book = open();
    expect(await priceBookController(book).reconcile({ signal: new AbortController().signal, log })).toEqual(
      after(60_000),
    );
    expect(book.discounted).toBeDefined();
  });
});
