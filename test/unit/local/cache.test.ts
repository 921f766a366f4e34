import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE } from '#api/objects';
import { watchList } from '../../../src/local/watched-caches.ts';
import { ApiError } from '../../support/kube-api.ts';
import { startCluster, type TestCluster } from './world-cluster.ts';

let cluster: TestCluster;

beforeEach(async () => {
  cluster = await startCluster();
});
afterEach(() => cluster.stop());

const names = (cache: ReturnType<typeof open>['cache']): string[] =>
  cache
    .list()
    .map(({ metadata }) => metadata.name)
    .sort();

/** A cache of nodes, and a log of its notifications. */
function open() {
  const cache = watchList(NODE, { ...cluster.parts, client: cluster.client });
  const told: string[] = [];
  cache.subscribe((now, before) => {
    const what = now ? (before ? 'changed' : 'came') : 'went';
    told.push(`${(now ?? before)?.metadata.name} ${what}`);
  });
  return { cache, told };
}

describe('a cache', () => {
  it('contains existing objects and follows changes', async () => {
    await cluster.node('a', { schedulable: false });
    const { cache, told } = open();
    await cache.synced;
    expect(names(cache)).toEqual(['a']);
    await cluster.node('b', { schedulable: false });
    await cluster.client.patch(NODE, { name: 'a' }, { metadata: { labels: { x: 'y' } } });
    await cluster.client.delete(NODE, { name: 'b' });
    await cluster.until('the changes', async () => told.length === 4);
    expect(told).toEqual(['a came', 'b came', 'a changed', 'b went']);
    expect(cache.get({ name: 'a' })?.metadata.labels).toMatchObject({ x: 'y' });
  });

  it('continues after broken watches without loss or repetition', async () => {
    const { cache, told } = open();
    await cache.synced;
    await cluster.node('a', { schedulable: false });
    await cluster.until('the first', async () => told.length === 1);
    cluster.server.dropWatches();
    await cluster.node('b', { schedulable: false });
    await cluster.until('the second', async () => told.length === 2);
    expect(told).toEqual(['a came', 'b came']);
  });

  it('lists again if the history is gone', async () => {
    await cluster.node('a', { schedulable: false });
    await cluster.node('b', { schedulable: false });
    const { cache, told } = open();
    await cache.synced;
    cluster.server.dropWatches();
    await cluster.client.delete(NODE, { name: 'a' });
    await cluster.node('c', { schedulable: false });
    cluster.server.expireHistory();
    await cluster.until('the new list', async () => names(cache).join() === 'b,c');
    expect(told.slice().sort()).toEqual(['a came', 'a went', 'b came', 'c came']);
  });

  it('contains an own write immediately and never reverts it', async () => {
    const { cache, told } = open();
    await cache.synced;
    const made = await cluster.node('a', { schedulable: false });
    const changed = await cluster.client.patch(NODE, { name: 'a' }, { metadata: { labels: { x: 'y' } } });
    cache.wrote(changed);
    expect(cache.get({ name: 'a' })?.metadata.labels).toMatchObject({ x: 'y' });
    cache.wrote(made);
    expect(cache.get({ name: 'a' })?.metadata.resourceVersion).toBe(changed.metadata.resourceVersion);
    await cluster.node('b', { schedulable: false });
    await cluster.until('the watch to catch up', async () => told.includes('b came'));
    expect(cache.get({ name: 'a' })?.metadata.labels).toMatchObject({ x: 'y' });
  });
});

describe('the client', () => {
  it('returns undefined if an object does not exist, and throws other errors of the server', async () => {
    expect(await cluster.client.find(NODE, { name: 'nobody' })).toBeUndefined();
    await cluster.node('a', { schedulable: false });
    const failure = await cluster.node('a', { schedulable: false }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ApiError);
    expect(failure).toMatchObject({ status: 409, reason: 'AlreadyExists' });
  });
});
