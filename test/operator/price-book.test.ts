/** A price book affects launches until its commitments are used up, and the operator reloads the file. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, NODE_CLAIM } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, pool } from './pools.ts';

let folder: string;
let scenario: Scenario;
let versions = 0;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'price-book-'));
});
afterEach(async () => {
  await scenario.stop();
  rmSync(folder, { recursive: true });
});

/**
 * Updates the file in the same way as a kubelet updates a mounted ConfigMap: a new folder replaces the link's target.
 */
function mount(body: string): void {
  const name = `..version-${versions++}`;
  mkdirSync(join(folder, name));
  writeFileSync(join(folder, name, 'price-book.yaml'), `apiVersion: karpenter-ts/v1\nkind: PriceBook\n${body}\n`);
  symlinkSync(name, join(folder, '..next'));
  renameSync(join(folder, '..next'), join(folder, '..data'));
}

const MINUTE = 60_000;
const reserved = (count: number): string =>
  `reservedInstances: [{id: ours, instanceType: m7i.2xlarge, count: ${count}, sizeFlexible: false}]`;

const nodesAs = async (): Promise<readonly string[]> =>
  (await scenario.nodes())
    .map(({ metadata }) => `${metadata.labels?.[CAPACITY_TYPE_LABEL]} ${metadata.labels?.[INSTANCE_TYPE_LABEL]}`)
    .sort();
const covered = async (): Promise<number> =>
  (await nodesAs()).filter((node) => node === 'on-demand m7i.2xlarge').length;

describe('a price book', () => {
  it('launches covered types until the commitment is used up, then spot, and applies changes', async () => {
    mount(reserved(2));
    symlinkSync('..data/price-book.yaml', join(folder, 'price-book.yaml'));
    const env = { PRICE_BOOK: join(folder, 'price-book.yaml') };
    scenario = await startScenario({ ...BRISK, env });
    const shape = { cpus: [8], capacityTypes: ['on-demand', 'spot'] };
    await scenario.apply(
      ...scenario.example('ec2nodeclass.yaml'),
      pool({ ...shape, consolidateAfter: 'Never' }),
      deployment('web', 3, apart('web')),
    );
    await scenario.until('three running pods', async () => (await scenario.running('web')).length === 3);
    const nodes = await nodesAs();
    expect(nodes.filter((node) => node === 'on-demand m7i.2xlarge')).toHaveLength(2);
    expect(nodes.filter((node) => node.startsWith('spot '))).toHaveLength(1);

    // the commitment of a removed node is available for the next one
    await scenario.scale('web', 0);
    await scenario.until('no pod', async () => (await scenario.pods('web')).length === 0);
    for (const claim of await scenario.claims()) await scenario.kube.delete(NODE_CLAIM, { name: claim.metadata.name });
    await scenario.until('no node', async () => (await scenario.nodes()).length === 0);
    await scenario.scale('web', 1);
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    expect(await nodesAs()).toEqual(['on-demand m7i.2xlarge']);

    mount(reserved(3));
    await scenario.pass(2 * MINUTE);
    expect(scenario.log.filter(({ message }) => message === 'read the price book')).toHaveLength(2);
    await scenario.scale('web', 4);
    await scenario.until('four running pods', async () => (await scenario.running('web')).length === 4);
    expect(await covered()).toBe(3);

    // an invalid file changes nothing
    mount('reservedInstances: [');
    await scenario.pass(2 * MINUTE);
    const [problem] = scenario.log.filter(({ message }) => message.startsWith('failed reading the price book'));
    expect(problem).toMatchObject({ level: 'ERROR', remedy: expect.stringContaining('--price-book') });
  });

  it('selects the instance type by discounts, and list prices are shown as well', async () => {
    mount('discounts: [{family: r7i, capacityType: on-demand, discount: 0.9}]');
    const env = { ...BRISK.env, PRICE_BOOK: join(folder, '..data/price-book.yaml') };
    scenario = await startScenario({ ...BRISK, env });
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool(), deployment('web', 1));
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    expect(await nodesAs()).toEqual(['on-demand r7i.2xlarge']);
    const { instanceTypes } = (await scenario.debug('instancetypes')) as {
      readonly instanceTypes: readonly {
        readonly name: string;
        readonly offerings: readonly { readonly price: number; readonly listPrice?: number }[];
      }[];
    };
    const offerings = instanceTypes.find(({ name }) => name === 'r7i.2xlarge')?.offerings ?? [];
    const discounted = offerings.filter(({ listPrice }) => listPrice !== undefined);
    expect(discounted.length).toBeGreaterThan(0);
    for (const { price, listPrice = 0 } of discounted) expect(price).toBeCloseTo(listPrice * 0.1);
  });
});
