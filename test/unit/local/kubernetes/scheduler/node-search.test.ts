import { describe, expect, it } from '@jest/globals';
import { NodeOrder } from '../../../../../src/local/kubernetes/scheduler/cluster.ts';
import { NodeSearch } from '../../../../../src/local/kubernetes/scheduler/node-search.ts';

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

describe('NodeSearch', () => {
  it.each([
    [1, 1],
    [100, 100],
    [101, 100],
    [250, 120],
    [1000, 420],
    [6000, 300],
  ])('finds in %d nodes at most %d that fit', (nodes, most) => {
    expect(new NodeSearch().find(upTo(nodes), () => true)).toHaveLength(most);
  });

  it('begins where the search before ended', () => {
    const search = new NodeSearch();
    expect(search.find(upTo(150), (node) => node >= 20).at(-1)).toBe(119);
    expect(search.find(upTo(150), () => true).slice(0, 31)).toEqual([...upTo(150).slice(120), 0]);
  });

  it('evaluates every node if too few nodes fit', () => {
    const search = new NodeSearch();
    search.find(upTo(150), () => true);
    expect(search.find(upTo(150), (node) => node < 3)).toEqual([0, 1, 2]);
  });
});

describe('NodeOrder', () => {
  it('takes one node of each zone in turn, the oldest first', () => {
    const order = new NodeOrder<string>();
    for (const node of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) order.put(node, node.slice(0, 1));
    expect(order.list()).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  });

  it('puts a node that moved to another zone last there, and a zone that came back last of all', () => {
    const order = new NodeOrder<string>();
    for (const node of ['a1', 'b1', 'b2']) order.put(node, node.slice(0, 1));
    expect(order.put('a1', 'b')).toBe(true);
    expect(order.list()).toEqual(['b1', 'b2', 'a1']);
    order.put('a2', 'a');
    expect(order.list()).toEqual(['b1', 'a2', 'b2', 'a1']);
    expect(order.put('a2', 'a')).toBe(false);
    order.remove('a2');
    expect(order.list()).toEqual(['b1', 'b2', 'a1']);
  });
});
