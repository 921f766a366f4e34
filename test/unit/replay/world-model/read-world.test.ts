import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readWorld, type TraceTimes } from '../../../../src/replay/world-model/read-world.ts';
import { DEFAULT_WORLD, type WorldModel } from '../../../../src/replay/world-model/world-model.ts';

const SPAN: TraceTimes = { start: '2026-08-10T00:00:00Z', seconds: 7 * 86_400 };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'world-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(text: string, prices?: string): Promise<WorldModel> {
  const path = join(folder, 'world.yaml');
  await writeFile(path, text);
  if (prices !== undefined) await writeFile(join(folder, 'prices'), prices);
  return readWorld(path, SPAN);
}

describe('a world file', () => {
  it('has defaults for all fields', async () => {
    expect(await read('')).toEqual(DEFAULT_WORLD);
    expect(await read('{}')).toEqual(DEFAULT_WORLD);
  });

  it('sets its fields, in YAML and in JSON', async () => {
    expect(
      await read('seed: 7\nbootSeconds: {p95: 90}\nspot: {volatility: 0}\nsoldOut: {spot: 0.5}\nimageRotationDays: 14'),
    ).toEqual({
      ...DEFAULT_WORLD,
      seed: 7,
      bootSeconds: { p50: 40, p95: 90 },
      spot: { ...DEFAULT_WORLD.spot, volatility: 0 },
      soldOut: { ...DEFAULT_WORLD.soldOut, spot: 0.5 },
      imageRotationDays: 14,
    });
    const price = { at: 0, instanceType: 'm5.large', zone: 'us-west-2a', usdPerHour: 0.04 };
    const { spot } = await read(JSON.stringify({ region: 'eu-central-1', spot: { prices: [price] } }));
    expect(spot).toEqual({ ...DEFAULT_WORLD.spot, prices: [price] });
  });

  it.each([
    ['sead: 7', /unknown field "sead", is "seed" meant\?; correct its name, or remove it$/],
    ['spot: {volatilty: 1}', /unknown field "spot.volatilty", is "volatility" meant\?; correct its name/],
    ['spot: {prices: [{att: 1}]}', /unknown field "spot.prices\[0\].att"/],
    ['spot: {prices: [{at: 1}]}', /spot.prices\[0\].instanceType: Required value; correct the field/],
    ['seed: many', /seed: .*must be of type integer: "string"; correct the field, or remove it to use the default$/],
    ['soldOut: {spot: 2}', /soldOut.spot: .*less than or equal to 1; correct the field/],
    ['spot: {interruptionsPerDay: 1}', /spot.interruptionsPerDay: .*less than or equal to 0.99/],
    ['soldOut: {hours: 0}', /soldOut.hours: .*greater than or equal to 0.01/],
    ['spot: {unevenness: .nan}', /spot.unevenness must be a finite number; correct the field/],
    ['region: somewhere', /region: .*should match/],
    ['bootSeconds: {p50: 100}', /bootSeconds.p95: is 70, less than the median p50, 100; set p95 to 100 or more$/],
    ['- 1', /must be an object with fields such as spot, not \[1\]$/],
    ['a: [', /neither YAML nor JSON: .*; correct the syntax$/s],
    [
      'spot: {prices: [], pricesFrom: {file: x}}',
      /spot.pricesFrom: must not be combined with spot.prices; remove one of them$/,
    ],
    [
      'spot: {pricesFrom: {file: nowhere}}',
      /spot.pricesFrom.file cannot be read from .*nowhere: .*ENOENT.*; correct the path$/,
    ],
  ])('is rejected with file, field and remedy: %s', async (text, message) => {
    const reading = read(text);
    await expect(reading).rejects.toThrow(message);
    await expect(reading).rejects.toThrow(join(folder, 'world.yaml'));
  });

  it('must exist', async () => {
    await expect(readWorld(join(folder, 'no.yaml'), SPAN)).rejects.toThrow(/no.yaml: the world cannot be read from/);
  });
});

describe('a history of spot prices', () => {
  const row = (time: string, usd: string, more: object = {}) => ({
    AvailabilityZone: 'us-west-2a',
    InstanceType: 'm5.large',
    ProductDescription: 'Linux/UNIX',
    SpotPrice: usd,
    Timestamp: time,
    ...more,
  });
  const FROM = 'spot: {pricesFrom: {file: prices}}';

  it('contains prices since the start, and the prices at the start', async () => {
    const SpotPriceHistory = [
      row('2026-08-11T00:00:00+00:00', '0.050000'),
      row('2026-08-09T20:00:00+00:00', '0.041000'),
      row('2026-08-09T10:00:00+00:00', '0.040000'),
      row('2026-08-11T00:00:00+00:00', '0.090000', { ProductDescription: 'Windows' }),
      row('2026-08-11T00:00:00+00:00', '0.090000', { AvailabilityZone: 'eu-central-1a' }),
    ];
    const { spot } = await read(FROM, JSON.stringify({ SpotPriceHistory }));
    const pool = { instanceType: 'm5.large', zone: 'us-west-2a' };
    expect(spot.prices).toEqual([
      { at: 0, ...pool, usdPerHour: 0.041 },
      { at: 86_400, ...pool, usdPerHour: 0.05 },
    ]);
  });

  it('can be CSV, and of another time', async () => {
    const csv =
      'AvailabilityZone,InstanceType,SpotPrice,Timestamp\n"us-west-2a","m5.large","0.04",2025-01-02T00:00:00Z\n';
    const { spot } = await read('spot: {pricesFrom: {file: prices, start: "2025-01-01T00:00:00Z"}}', csv);
    expect(spot.prices).toEqual([{ at: 86_400, instanceType: 'm5.large', zone: 'us-west-2a', usdPerHour: 0.04 }]);
  });

  it.each([
    ['a,b\n1,2', /prices: does not contain the column AvailabilityZone; the first line must list AvailabilityZone, /],
    [
      '{"a": 1}',
      /prices: does not contain the list SpotPriceHistory; write it with aws ec2 describe-spot-price-history/,
    ],
    ['{', /prices: is not valid JSON/],
    [
      JSON.stringify([row('2026-08-11T00:00:00Z', '-1')]),
      /price 1: SpotPrice is not a number greater than 0; correct it/,
    ],
    [JSON.stringify([row('yesterday', '1')]), /price 1: Timestamp is not a valid time; correct it/],
    [JSON.stringify([row('2026-08-11T00:00:00Z', '1', { InstanceType: '' })]), /price 1: InstanceType is missing/],
    [
      JSON.stringify([row('2026-08-11T00:00:00Z', '1', { AvailabilityZone: 'eu-west-1a' })]),
      /has no Linux price in us-west-2a, us-west-2b, us-west-2c; set region to the region of the prices/,
    ],
    [
      JSON.stringify([row('2025-01-01T00:00:00Z', '1')]),
      /none between 2026-08-10T00:00:00Z and 2026-08-17T00:00:00Z; set spot.pricesFrom.start/,
    ],
  ])('is rejected with file and remedy: %s', async (prices, message) => {
    await expect(read(FROM, prices)).rejects.toThrow(message);
  });
});

describe('the format of a world', () => {
  const page = resolve(import.meta.dirname, '../../../../docs/reference/formats/replay.md');

  it('has valid examples', async () => {
    const examples = (await readFile(page, 'utf8')).matchAll(/```yaml\n(.*?)```/gs);
    const price = { AvailabilityZone: 'us-west-2a', InstanceType: 'm5.large', SpotPrice: '0.04' };
    await writeFile(join(folder, 'prices.json'), JSON.stringify([{ ...price, Timestamp: '2026-08-11T00:00:00Z' }]));
    const worlds: WorldModel[] = [];
    for (const [, text = ''] of examples) worlds.push(await read(text));
    expect(worlds.map(({ seed, spot }) => [seed, spot.prices?.length])).toEqual([
      [7, undefined],
      [1, 1],
      [1, 2],
    ]);
  });

  it('documents every field', async () => {
    const text = await readFile(page, 'utf8');
    const fields = Object.entries(DEFAULT_WORLD).flatMap(([name, value]) =>
      typeof value === 'object' ? Object.keys(value).map((key) => [name, key]) : [[name]],
    );
    for (const [name, key] of fields)
      expect(
        text.includes(key === undefined ? `\`${name}\`` : `\`${name}.${key}\``) || text.includes(`\`.${key}\``),
      ).toBe(true);
  });
});
