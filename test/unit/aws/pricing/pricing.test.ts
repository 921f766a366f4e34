import { describe, expect, it } from '@jest/globals';
import { fallbackPrices } from '../../../../src/aws/pricing/fallback.ts';
import { parsePriceListItem } from '../../../../src/aws/pricing/ondemand.ts';
import { recordings } from '../support/recordings.ts';

describe('fallbackPrices', () => {
  it('gives the prices of the recorded world', () => {
    const onDemandPrices: Record<string, number> = recordings().world.onDemandPrices;
    const known = fallbackPrices();
    for (const [type, price] of Object.entries(onDemandPrices)) expect([type, known.get(type)]).toEqual([type, price]);
  });
});

describe('parsePriceListItem', () => {
  const item = (terms: unknown): string =>
    JSON.stringify({ product: { attributes: { instanceType: 'm5.large' } }, terms });
  const priced = (pricePerUnit: unknown): string =>
    item({ OnDemand: { a: { priceDimensions: { b: { pricePerUnit } } } } });

  it.each([
    ['a price', priced({ USD: '0.0960000000' }), 'USD', ['m5.large', 0.096]],
    ['a price in China', priced({ CNY: '0.7' }), 'CNY', ['m5.large', 0.7]],
    ['a zero price', priced({ USD: '0' }), 'USD', undefined],
    ['another currency', priced({ CNY: '0.7' }), 'USD', undefined],
    ['no terms', item(undefined), 'USD', undefined],
    ['no JSON', '{', 'USD', undefined],
  ] as const)('reads %s', (_, json, currency, is) => {
    expect(parsePriceListItem(json, currency)).toEqual(is);
  });
});
