/** The generator of the built-in price table, with price lists as AWS publishes them. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from '@jest/globals';
import { pricesInCsv, pricesInJson } from '../../../scripts/price-list.ts';
import { priceTable } from '../../../scripts/price-table.ts';

const ROOT = join(import.meta.dirname, '../../..');

interface Item {
  readonly type: string;
  readonly usd: string;
  readonly family?: string;
  readonly tenancy?: string;
  readonly os?: string;
  readonly software?: string;
  readonly status?: string;
  readonly market?: string;
}

const LISTED: readonly Item[] = [
  { type: 'm5.large', usd: '0.0960000000' },
  { type: 'm5.xlarge', usd: '0.1920000000' },
  { type: 'm5.metal', usd: '4.6080000000', family: 'Compute Instance (bare metal)', tenancy: 'Dedicated' },
];
/** Prices of other products, which are not prices of Linux on-demand instances. */
const OTHERS: readonly Item[] = [
  { type: 'm5.large', usd: '0.1', tenancy: 'Dedicated' },
  { type: 'm5.large', usd: '0.2', os: 'Windows' },
  { type: 'm5.large', usd: '0.3', software: 'SQL Web' },
  { type: 'm5.large', usd: '0.4', status: 'UnusedCapacityReservation' },
  { type: 'm5.large', usd: '0.5', market: 'CapacityBlock' },
  { type: 'm5.large', usd: '0', status: 'Used' },
  { type: 'm5.metal', usd: '4', family: 'Compute Instance (bare metal)' },
  { type: '', usd: '0.6', family: 'Storage' },
];

const whole = (item: Item): Required<Item> => ({
  family: 'Compute Instance',
  tenancy: 'Shared',
  os: 'Linux',
  software: 'NA',
  status: 'Used',
  market: 'OnDemand',
  ...item,
});

function jsonOf(items: readonly Item[]): string {
  const all = items.map(whole).map((item, index) => ({ ...item, sku: `SKU${index}` }));
  const products = all.map(({ sku, type, family, tenancy, os, software, status, market }) => [
    sku,
    {
      sku,
      productFamily: family,
      attributes: {
        instanceType: type,
        tenancy,
        operatingSystem: os,
        preInstalledSw: software,
        capacitystatus: status,
        marketoption: market,
      },
    },
  ]);
  const terms = all.map(({ sku, usd }) => [
    sku,
    { [`${sku}.T`]: { priceDimensions: { [`${sku}.T.R`]: { unit: 'Hrs', pricePerUnit: { USD: usd } } } } },
  ]);
  return JSON.stringify({ products: Object.fromEntries(products), terms: { OnDemand: Object.fromEntries(terms) } });
}

const HEAD = [
  'SKU',
  'TermType',
  'PriceDescription',
  'PricePerUnit',
  'Currency',
  'Product Family',
  'Instance Type',
  'Tenancy',
  'Operating System',
  'CapacityStatus',
  'Pre Installed S/W',
  'MarketOption',
];
const quotedRow = (cells: readonly string[]): string =>
  cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',');

function csvOf(items: readonly Item[]): readonly string[] {
  const rows = items.map(whole).flatMap(({ type, usd, family, tenancy, os, software, status, market }) =>
    ['OnDemand', 'Reserved'].map((term) => {
      const price = term === 'OnDemand' ? usd : '0.01';
      return quotedRow([
        'S',
        term,
        `$${usd} per "${type}", hour`,
        price,
        'USD',
        family,
        type,
        tenancy,
        os,
        status,
        software,
        market,
      ]);
    }),
  );
  return [
    quotedRow(['FormatVersion', 'v1.0']),
    quotedRow(['Publication Date', '2026-01-01']),
    quotedRow(HEAD),
    ...rows,
  ];
}

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

const EXPECTED = [
  ['m5.large', 0.096],
  ['m5.xlarge', 0.192],
  ['m5.metal', 4.608],
];

describe('the price list of AWS', () => {
  it('is read as JSON', () => {
    expect([...pricesInJson(jsonOf([...OTHERS, ...LISTED, ...OTHERS]))]).toEqual(EXPECTED);
  });

  it('is read as CSV, line by line', async () => {
    expect([...(await pricesInCsv(each(csvOf([...OTHERS, ...LISTED, ...OTHERS]))))]).toEqual(EXPECTED);
  });

  it('is rejected if no line names the columns', async () => {
    await expect(pricesInCsv(each(['<html>']))).rejects.toThrow('no line begins with "SKU"');
  });
});

describe('the generated table', () => {
  it('has a line for each family, ordered by size', () => {
    const prices = new Map([...EXPECTED, ['c7i-flex.large', 0.08], ['mac2.metal', 0.65]] as [string, number][]);
    expect(priceTable(prices, 'a test')).toContain(
      "{\n  'c7i-flex': 'large=0.08',\n  m5: 'large=0.096 xlarge=0.192 metal=4.608',\n};\n",
    );
  });
});

describe('npm run renew:prices', () => {
  const folder = mkdtempSync(join(tmpdir(), 'prices-'));
  for (const part of ['scripts', 'src', 'package.json'])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const { NODE_OPTIONS: _, ...env } = process.env;
  const renew = async (source: string): Promise<string> =>
    (await promisify(execFile)(process.execPath, [join(folder, 'scripts/renew-prices.ts'), source], { env })).stdout;
  const table = (): string => readFileSync(join(folder, 'src/aws/pricing/price-table.ts'), 'utf8');

  const many = Array.from({ length: 600 }, (_, index) => ({ type: `m${index}.large`, usd: '0.5' }));

  it('generates the table from files in both formats, and from a URL', async () => {
    writeFileSync(join(folder, 'index.csv'), `${csvOf([...many, ...LISTED]).join('\n')}\n`);
    expect(await renew(join(folder, 'index.csv'))).toContain('Wrote 602 prices');
    expect(table()).toContain("  m5: 'large=0.096 xlarge=0.192 metal=4.608',\n");
    writeFileSync(join(folder, 'index.json'), jsonOf(many));
    expect(await renew(join(folder, 'index.json'))).toContain('Wrote 600 prices');
    expect(table()).toContain("  m5: 'large=0.5',\n");

    const server = createServer((request, response) => {
      if (request.url !== '/index.csv') response.statusCode = 404;
      response.end(csvOf([...many, ...LISTED]).join('\n'));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      expect(await renew(`${address}/index.csv`)).toContain('Wrote 602 prices');
      await expect(renew(`${address}/none.csv`)).rejects.toThrow('HTTP 404');
    } finally {
      server.close();
    }
  });

  it('does not change the table if the list does not cover a whole region', async () => {
    const before = table();
    writeFileSync(join(folder, 'part.csv'), csvOf(LISTED).join('\n'));
    await expect(renew(join(folder, 'part.csv'))).rejects.toThrow('has 3 instance types, which is no whole region');
    expect(table()).toBe(before);
  });
});
