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

describe('copies in a thread', () => {
  it('follow their list, of which only what changes goes over', async () => {
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

  it('take an object that differs for another one', async () => {
    const { copies, held } = pair();
    const [a, b] = [{ name: 'a' }, { name: 'b' }];
    await copies.send({ name: 'nodes', items: [a, b] });
    await copies.send({ name: 'nodes', items: [{ name: 'a2' }, b] });
    expect(new Set(held.items('nodes'))).toEqual(new Set([{ name: 'a2' }, { name: 'b' }]));
  });

  it('go over in parts, in the form that they are given', async () => {
    const { copies, held, messages } = pair();
    const items = numbered(600);
    await copies.send({ name: 'pods', items, formOf: ({ name }) => ({ short: name.slice(5) }) });
    expect(messages.length).toBe(3);
    expect(held.items('pods')).toEqual(items.map(({ name }) => ({ short: name.slice(5) })));
  });

  it('of lists that were never shown are empty', () => {
    expect(pair().held.items('nodes')).toEqual([]);
  });
});
