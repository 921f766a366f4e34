import { describe, expect, it } from '@jest/globals';
import { type ListMessage, ReceivedLists, SentLists } from '../../../src/engine-worker/copied-lists.ts';

interface Item {
  readonly name: string;
}

function pair(): { copies: SentLists; held: ReceivedLists; messages: ListMessage[] } {
  const held = new ReceivedLists();
  const messages: ListMessage[] = [];
  const copies = new SentLists((message) => {
    messages.push(message);
    held.receive(structuredClone(message));
  });
  return { copies, held, messages };
}

const numbered = (count: number): readonly Item[] => Array.from({ length: count }, (_, at) => ({ name: `item-${at}` }));

describe('a copied list in a worker', () => {
  it('receives only the changes of the sent list', async () => {
    const { copies, held, messages } = pair();
    const [a, b, c] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];
    await copies.send({ name: 'nodes', items: [a, b] });
    expect(held.items('nodes')).toEqual([a, b]);
    messages.length = 0;
    await copies.send({ name: 'nodes', items: [b, c] });
    expect(held.items('nodes')).toEqual([b, c]);
    expect(messages.map(({ kind }) => kind)).toEqual(['drop', 'put']);
    messages.length = 0;
    await copies.send({ name: 'nodes', items: [b, c] });
    expect(messages).toEqual([]);
  });

  it('replaces an object if its content changed', async () => {
    const { copies, held } = pair();
    const [a, b] = [{ name: 'a' }, { name: 'b' }];
    await copies.send({ name: 'nodes', items: [a, b] });
    await copies.send({ name: 'nodes', items: [{ name: 'a2' }, b] });
    expect(new Set(held.items('nodes'))).toEqual(new Set([{ name: 'a2' }, { name: 'b' }]));
  });

  it('receives a long list in parts, in the requested form', async () => {
    const { copies, held, messages } = pair();
    const items = numbered(600);
    await copies.send({ name: 'pods', items, formOf: ({ name }) => ({ short: name.slice(5) }) });
    expect(messages.length).toBe(3);
    expect(held.items('pods')).toEqual(items.map(({ name }) => ({ short: name.slice(5) })));
  });

  it('receives a part that several items share once', async () => {
    const held = new ReceivedLists((_, item, partAt) => ({ ...item, part: partAt((item as { part: number }).part) }));
    const messages: ListMessage[] = [];
    const copies = new SentLists((message) => {
      messages.push(message);
      held.receive(structuredClone(message));
    });
    const send = (list: string, items: readonly (Item & { readonly part: object })[]): Promise<void> =>
      copies.send({ name: list, items, formOf: ({ part, name }, numberOf) => ({ name, part: numberOf(part) }) });
    const parts = [{ common: 0 }, { common: 1 }, { common: 2 }] as const;
    const items = numbered(600).map((item, at) => ({ ...item, part: parts[at % 2] ?? parts[0] }));
    await send('pods', items);
    expect(messages.map((message) => message.kind === 'put' && message.parts.length)).toEqual([2, 0, 0]);
    expect(held.items('pods')).toEqual(items);
    const [first] = items;
    expect((held.items('pods') as typeof items)[2]?.part).toBe((held.items('pods') as typeof items)[598]?.part);
    // numbers begin again with each list and with each sending
    await send('nodes', [{ name: 'node', part: parts[2] }]);
    await send('pods', [...(first ? [first] : []), { name: 'late', part: parts[2] }]);
    expect(held.items('nodes')).toEqual([{ name: 'node', part: parts[2] }]);
    expect(held.items('pods')).toEqual([first, { name: 'late', part: parts[2] }]);
  });

  it('is empty if the list was never sent', () => {
    expect(pair().held.items('nodes')).toEqual([]);
  });
});
