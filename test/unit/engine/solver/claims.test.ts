import { describe, expect, it } from '@jest/globals';
import { pseudoRandom } from '#engine/model';
import { Claims } from '../../../../src/engine/solver/claims.ts';

type Added = Parameters<Claims['open']>[0];

interface Fake {
  readonly index: number;
  pods: number[];
  state: { shape: { id: number } };
}

const claimOf = (fake: Fake): Added => fake as unknown as Added;

/** Order of trial by its definition: fewer pods first, and the last claim with a new pod before others with as many pods. */
class Order {
  claims: Fake[] = [];

  take(claim: Fake): void {
    const others = this.claims.filter((each) => each !== claim);
    const at = others.findIndex(({ pods }) => pods.length >= claim.pods.length);
    this.claims = at < 0 ? [...others, claim] : [...others.slice(0, at), claim, ...others.slice(at)];
  }

  open(claim: Fake): void {
    const at = this.claims.findIndex(({ pods }) => pods.length > claim.pods.length);
    this.claims = at < 0 ? [...this.claims, claim] : this.claims.toSpliced(at, 0, claim);
  }
}

const SHAPES = 4;

/** Opens and offers claims at random, and compares each offer with the definition. */
function compareOrder(seed: number, steps: number): void {
  const random = pseudoRandom(seed);
  const upTo = (count: number): number => Math.floor(random() * count);
  const claims = new Claims();
  const order = new Order();
  const opened: Fake[] = [];
  const step = (search: number): void => {
    if (opened.length === 0 || random() < 0.2) {
      const claim = { index: opened.length, pods: [0], state: { shape: { id: upTo(SHAPES) } } };
      opened.push(claim);
      claims.open(claimOf(claim));
      order.open(claim);
      return;
    }
    const closed = new Uint8Array(opened.map(() => Number(random() < 0.3)));
    const refusing = Array.from({ length: SHAPES }, () => (random() < 0.3 ? search : -1));
    const refuses = opened.map(() => random() < 0.3);
    const tried: number[] = [];
    const takes = (claim: Added): boolean => {
      tried.push(claim.index);
      if (refuses[claim.index]) return false;
      (claim as unknown as Fake).pods.push(0);
      (claim as unknown as Fake).state = { shape: { id: upTo(SHAPES) } };
      return true;
    };
    const suitable = order.claims.filter(
      ({ index, state }) => closed[index] !== 1 && refusing[state.shape.id] !== search,
    );
    const first = suitable.find(({ index }) => refuses[index] !== true);
    const expected = suitable.slice(0, first === undefined ? undefined : suitable.indexOf(first) + 1);
    expect(claims.offer({ closed, refusing, search, takes })).toBe(first !== undefined);
    expect(tried).toEqual(expected.map(({ index }) => index));
    if (first !== undefined) order.take(first);
  };
  for (let search = 0; search < steps; search++) step(search);
  const former = order.claims;
  const states = former.map(({ pods, state }) => ({ pods: pods.length, state }));
  const count = opened.length;
  const restore = claims.restorePoint();
  for (let search = 0; search < steps; search++) step(steps + search);
  for (const [at, claim] of former.entries()) {
    claim.pods.length = states[at]?.pods ?? 0;
    claim.state = states[at]?.state ?? claim.state;
  }
  opened.length = count;
  order.claims = former;
  restore();
  for (let search = 0; search < steps; search++) step(2 * steps + search);
}

describe('the list of claims', () => {
  it.each([1, 2, 3, 4, 5, 6])('gets pods in the order of trial, also after a restoration (seed %i)', (seed) => {
    compareOrder(seed, 300);
  });
});
