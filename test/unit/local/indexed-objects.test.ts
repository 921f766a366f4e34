import { expect, it } from '@jest/globals';
import type { Pod } from '#api/objects';
import { IndexedObjects } from '../../../src/local/indexed-objects.ts';

const pod = (name: string, nodeName?: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [], ...(nodeName === undefined ? {} : { nodeName }) },
});
const nodeName = ({ spec }: Pod): string | undefined => spec.nodeName;
const names = (pods: readonly Pod[]): string => pods.map(({ metadata }) => metadata.name).join(' ');

it('indexes objects from before and after the first read in order of creation', () => {
  const pods = new IndexedObjects<Pod>();
  for (const name of ['a', 'b', 'c']) pods.put(name, pod(name));
  pods.put('b', pod('b', 'n1'));
  expect(names(pods.by(nodeName, 'n1'))).toBe('b');
  pods.put('d', pod('d', 'n1'));
  // This pod is older than the remaining pods, and only its node was set later.
  pods.put('a', pod('a', 'n1'));
  expect(names(pods.by(nodeName, 'n1'))).toBe('a b d');
  expect(names(pods.list())).toBe('a b c d');
});

it('moves objects between values, and removes deleted objects', () => {
  const pods = new IndexedObjects<Pod>();
  pods.put('a', pod('a', 'n1'));
  pods.put('b', pod('b', 'n1'));
  expect(names(pods.by(nodeName, 'n1'))).toBe('a b');
  expect(pods.put('a', pod('a', 'n2'))?.spec.nodeName).toBe('n1');
  expect(names(pods.by(nodeName, 'n1'))).toBe('b');
  expect(pods.delete('b')?.metadata.name).toBe('b');
  expect(pods.delete('b')).toBeUndefined();
  expect(pods.by(nodeName, 'n1')).toEqual([]);
  expect(names(pods.by(nodeName, 'n2'))).toBe('a');
  expect(names(pods.list())).toBe('a');
});

it('restores the order when an object returns to a value', () => {
  const pods = new IndexedObjects<Pod>();
  for (const name of ['a', 'b', 'c']) pods.put(name, pod(name, 'n1'));
  expect(names(pods.by(nodeName, 'n1'))).toBe('a b c');
  pods.put('b', pod('b', 'n2'));
  pods.put('b', pod('b', 'n1'));
  pods.put('d', pod('d', 'n1'));
  expect(names(pods.by(nodeName, 'n1'))).toBe('a b c d');
});

it('returns the latest state, and does not mutate lists that it returned before', () => {
  const pods = new IndexedObjects<Pod>();
  pods.put('a', pod('a', 'n1'));
  const listed = pods.list();
  const onNode = pods.by(nodeName, 'n1');
  const newer = pod('a', 'n1');
  pods.put('a', newer);
  pods.put('b', pod('b', 'n1'));
  expect(names(listed)).toBe('a');
  expect(names(onNode)).toBe('a');
  expect(pods.by(nodeName, 'n1')[0]).toBe(newer);
  expect(pods.get({ name: 'a' })).toBe(newer);
});
