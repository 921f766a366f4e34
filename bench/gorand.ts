/**
 * The additive lagged Fibonacci generator (607, 273) of Go's `math/rand` v1, so that benchmark pods equal those of
 * other implementations.
 *
 * Go seeds it with a table of 607 numbers: the generator's state after 7.8e12 steps from a simple start. This code
 * computes the table by jumping ahead: the recurrence is linear, so a step count is a power of x modulo its
 * characteristic polynomial, over integers modulo 2^64.
 */
const LENGTH = 607;
const TAP = 273;
const STEPS_OF_TABLE = 7_800_000_000_000n;

/** Lehmer's generator modulo 2^31 - 1, which expands a small seed. */
const lehmer = (x: number): number => Number((48271n * BigInt(x)) % 2147483647n);

/** `LENGTH` numbers from three draws each, shifted as given. */
function spread(seed: number, high: bigint, middle: bigint): BigUint64Array {
  const state = new BigUint64Array(LENGTH);
  let x = seed;
  for (let skip = 0; skip < 20; skip++) x = lehmer(x);
  for (let at = 0; at < LENGTH; at++) {
    const draws: bigint[] = [];
    for (let draw = 0; draw < 3; draw++) {
      x = lehmer(x);
      draws.push(BigInt(x));
    }
    const [first = 0n, second = 0n, third = 0n] = draws;
    state[at] = (first << high) ^ (second << middle) ^ third;
  }
  return state;
}

const at = (numbers: BigUint64Array, index: number): bigint => numbers[index] ?? 0n;

/**
 * Products of the low and high 32 bits would overflow a double, so 64-bit integers are multiplied as BigInt modulo
 * 2^64.
 */
function multiply(a: BigUint64Array, b: BigUint64Array): BigUint64Array {
  const product = new BigUint64Array(2 * LENGTH - 1);
  for (let i = 0; i < LENGTH; i++) {
    const factor = at(a, i);
    if (factor === 0n) continue;
    for (let j = 0; j < LENGTH; j++) product[i + j] = at(product, i + j) + factor * at(b, j);
  }
  return reduce(product);
}

/** Modulo x^607 - x^334 - 1. */
function reduce(polynomial: BigUint64Array): BigUint64Array {
  for (let power = polynomial.length - 1; power >= LENGTH; power--) {
    const coefficient = at(polynomial, power);
    polynomial[power - LENGTH] = at(polynomial, power - LENGTH) + coefficient;
    polynomial[power - TAP] = at(polynomial, power - TAP) + coefficient;
  }
  return polynomial.slice(0, LENGTH);
}

const timesX = (polynomial: BigUint64Array): BigUint64Array => {
  const shifted = new BigUint64Array(LENGTH + 1);
  shifted.set(polynomial, 1);
  return reduce(shifted);
};

/** x to the power, by squaring. */
function powerOfX(power: bigint): BigUint64Array {
  let result: BigUint64Array = new BigUint64Array(LENGTH);
  result[0] = 1n;
  for (const bit of power.toString(2)) {
    result = multiply(result, result);
    if (bit === '1') result = timesX(result);
  }
  return result;
}

/** Index of the generator's `k`-th output. */
const positionOf = (k: number): number => (((LENGTH - TAP - 1 - k) % LENGTH) + LENGTH) % LENGTH;

function seedTable(): BigUint64Array {
  const start = spread(1, 20n, 10n);
  const initial = Array.from({ length: LENGTH }, (_, index) => at(start, positionOf(index - LENGTH)));
  const table = new BigUint64Array(LENGTH);
  const offset = Number(STEPS_OF_TABLE % BigInt(LENGTH));
  let power = powerOfX(STEPS_OF_TABLE);
  for (let index = 0; index < LENGTH; index++) {
    let output = 0n;
    for (let term = 0; term < LENGTH; term++) output += at(power, term) * (initial[term] ?? 0n);
    table[positionOf(offset + index - LENGTH)] = output;
    power = timesX(power);
  }
  return table;
}

/** Draws integers below `n`, like Go's `Intn` after `rand.Seed(seed)`. */
export function goRandom(seed: number): (n: number) => number {
  const table = seedTable();
  const state = spread(seed, 40n, 20n).map((value, index) => value ^ at(table, index));
  let tap = 0;
  let feed = LENGTH - TAP;
  const int31 = (): number => {
    tap = (tap + LENGTH - 1) % LENGTH;
    feed = (feed + LENGTH - 1) % LENGTH;
    state[feed] = at(state, feed) + at(state, tap);
    return Number((at(state, feed) & 0x7fffffffffffffffn) >> 32n);
  };
  return (n) => {
    if ((n & (n - 1)) === 0) return int31() & (n - 1);
    const largest = 2147483647 - (2147483648 % n);
    let value = int31();
    while (value > largest) value = int31();
    return value % n;
  };
}
