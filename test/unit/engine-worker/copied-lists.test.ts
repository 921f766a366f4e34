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

describe('copied lists in a worker', () => {
  it('receive only the changes of the sent list', async () => {
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

  it('replace an object if its content changed', async () => {
    const { copies, held } = pair();
    const [a, b] = [{ name: 'a' }, { name: 'b' }];
    await copies.send({ name: 'nodes', items: [a, b] });
    await copies.send({ name: 'nodes', items: [{ name: 'a2' }, b] });
    expect(new Set(held.items('nodes'))).toEqual(new Set([{ name: 'a2' }, { name: 'b' }]));
  });

  it('receive long lists in parts, in the requested form', async () => {
    const { copies, held, messages } = pair();
    const items = numbered(600);
    await copies.send({ name: 'pods', items, formOf: ({ name }) => ({ short: name.slice(5) }) });
    expect(messages.length).toBe(3);
    expect(held.items('pods')).toEqual(items.map(({ name }) => ({ short: name.slice(5) })));
  });

  it('are empty if the list was never sent', () => {
    expect(pair().held.items('nodes')).toEqual([]);
  });
});
