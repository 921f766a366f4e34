/** Offers in order of price per worth. */
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Offer, Offers } from '../../../../src/engine/packing/offers.ts';

const offerOf = (order: number, ratio: number): Offer => ({
  ...{
    order,
    mix: 0,
    row: 0,
    capacity: new Float64Array(0),
    instanceUsd: 1,
    price: 1,
    counts: new Int32Array(0),
    isFilled: false,
  },
  ratio,
});

it('returns the offer with the lowest ratio, the first of equal ones, even after changes', () => {
  const ratios = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(ratios, ratios, (before, changes) => {
      const all = before.map((ratio, order) => offerOf(order, ratio));
      const offers = new Offers();
      for (const offer of all) offers.add(offer);
      offers.arrange();
      for (const ratio of changes) {
        const [expected] = all.toSorted((a, b) => a.ratio - b.ratio || a.order - b.order);
        expect(offers.first).toBe(expected);
        (offers.first as Offer).ratio = ratio;
        offers.firstHasChanged();
      }
    }),
  );
});

it('returns no offer after it is cleared', () => {
  const offers = new Offers();
  offers.add(offerOf(0, 1));
  offers.clear();
  offers.arrange();
  expect(offers.first).toBeUndefined();
});
