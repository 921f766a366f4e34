import { expect, it } from '@jest/globals';
import { goRandom } from '../../../bench/gorand.ts';

it("draws the same numbers as Go's generator from seed 42", () => {
  const draw = goRandom(42);
  const triples = Array.from({ length: 10 }, () => `${draw(7)}${draw(5)}${draw(6)}`);
  expect(triples.join(' ')).toBe('522 131 612 345 232 625 344 043 412 225');
  const quadruples = Array.from({ length: 10 }, () => `${draw(7)}${draw(7)}${draw(5)}${draw(6)}`);
  expect(quadruples.join(' ')).toBe('0200 1141 3301 4214 1643 4543 6633 2640 4501 0011');
});
