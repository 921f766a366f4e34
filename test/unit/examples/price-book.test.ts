import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { readPriceBook } from '#api/price-book';
import { bookInForce } from '#aws/instance-types';

const ROOT = new URL('../../../', import.meta.url);
const text = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

it('has every kind of entry in the example of a price book, and every entry is valid', () => {
  const { book, problems } = readPriceBook(text('examples/prices/price-book.yaml'), 'example');
  expect(problems).toEqual([]);
  const context = { region: 'eu-central-1', nowMs: Date.parse('2026-11-23T00:00:00Z') };
  expect(new Set(bookInForce(book, context).commitments.map(({ kind }) => kind)).size).toBe(4);
  expect(book.discounts).toHaveLength(3);
});

it('uses the price book of the documentation', () => {
  const [, content = ''] = /```yaml\n(apiVersion: karpenter-ts[^`]*)```/.exec(text('docs/cost.md')) ?? [];
  expect(readPriceBook(content, 'docs/cost.md')).toMatchObject({ problems: [], book: { savingsPlans: [{}] } });
});
