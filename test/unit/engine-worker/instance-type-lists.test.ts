import { serialize } from 'node:v8';
import { describe, expect, it } from '@jest/globals';
import { type InstanceType, sharedType } from '#engine/model';
import { benchmarkTypes } from '../../../bench/catalogue.ts';
import { ReceivedTypes, SentTypes, type TypesMessage } from '../../../src/engine-worker/instance-type-lists.ts';

interface Pair {
  readonly shown: SentTypes;
  readonly held: ReceivedTypes;
  /** Returns the number of bytes sent since the previous call. */
  bytes(): number;
}

function pair(): Pair {
  const held = new ReceivedTypes();
  let bytes = 0;
  const shown = new SentTypes((message: TypesMessage) => {
    bytes += serialize(message).length;
    held.receive(structuredClone(message));
  });
  return {
    shown,
    held,
    bytes: () => {
      const since = bytes;
      bytes = 0;
      return since;
    },
  };
}

const all = benchmarkTypes(400).map(sharedType);

/** Returns the list with one unavailable offering. Each position changes another type. */
const soldOut = (at: number): readonly InstanceType[] =>
  all.with(
    at % all.length,
    sharedType({
      ...(all[at % all.length] as InstanceType),
      offerings: (all[at % all.length] as InstanceType).offerings.map((offering, index) =>
        index === at % 5 ? { ...offering, available: false } : offering,
      ),
    }),
  );

describe('a list of instance types in a worker', () => {
  it('equals the sent list', async () => {
    const { shown, held } = pair();
    const id = await shown.send(all);
    expect(held.list(id)).toEqual(all);
    expect(await shown.send(all)).toBe(id);
    const empty = await shown.send([]);
    expect(held.list(empty)).toEqual([]);
  });

  it('keeps the CPU credits of burstable types', async () => {
    const { shown, held } = pair();
    const cpuBurst = { baseline: 400, utilization: 0.7, usdPerVcpuHour: 0.05 };
    const id = await shown.send([sharedType({ ...(all[0] as InstanceType), cpuBurst })]);
    expect(held.list(id)?.[0]?.cpuBurst).toEqual(cpuBurst);
  });

  it('shares equal parts', async () => {
    const { shown, held } = pair();
    const [first, second] = [await shown.send(all), await shown.send(soldOut(3))].map((id) => held.list(id) ?? []);
    expect(first?.filter((type, at) => type !== second?.[at])).toHaveLength(1);
    expect(second?.[3]?.requirements).toBe(first?.[3]?.requirements);
    expect(second?.[3]?.capacity).toBe(first?.[3]?.capacity);
    expect(first?.[7]?.offerings[0]?.requirements).toBe(first?.[8]?.offerings[0]?.requirements);
  });

  it('receives only the changes of a thousand updates, and releases unused parts', async () => {
    const { shown, held, bytes } = pair();
    await shown.send(all);
    shown.keep(new Set([all]));
    const [atFirst, wholeList] = [held.size, bytes()];
    for (let change = 0; change < 1_000; change++) {
      const list = soldOut(change);
      const id = await shown.send(list);
      shown.keep(new Set([list]));
      expect(held.list(id)?.[change % all.length]).toEqual(list[change % all.length]);
      expect(shown.size.lists).toBe(1);
      expect(held.size).toBe(atFirst);
      expect(shown.size.parts).toBe(held.size);
    }
    // the type numbers of the list, the changed type, and the restored type
    expect(bytes() / 1_000).toBeLessThan(3_000);
    expect(wholeList).toBeGreaterThan(50_000);
    shown.keep(new Set());
    expect(held.size).toBe(0);
  });

  it('needs little more memory for many NodePools than for one', async () => {
    const { shown, held, bytes } = pair();
    await shown.send(all);
    const [atFirst] = [held.size, bytes()];
    // NodeClasses with different kubelet settings
    const others = Array.from({ length: 10 }, (_, at) =>
      all.map((type) => sharedType({ ...type, capacity: { ...type.capacity, pods: 10 * at + 1 } })),
    );
    for (const list of others) await shown.send(list);
    // a type, its capacity, and the lists
    expect(held.size).toBe(atFirst + 10 * (2 * all.length + 1));
    expect(bytes() / 10 / all.length).toBeLessThan(250);
  });

  it('is received in parts, and other work runs between the parts', async () => {
    const sizes: number[] = [];
    let pauses = 0;
    const shown = new SentTypes((message) => {
      if (message.kind === 'types') sizes.push(message.parts.length);
    });
    await shown.send(all, async () => {
      pauses++;
    });
    expect(pauses).toBe(sizes.length - 1);
    expect(Math.max(...sizes)).toBeLessThan(1_100);
  });

  it('is rejected if a part is missing', () => {
    const { held } = pair();
    const parts = [[9, { kind: 'list', of: [5] }]] as const;
    expect(() => held.receive({ kind: 'types', parts })).toThrow('its part 5 is missing');
  });
});
