import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { silent } from '#observe/logger';
import type { LiveState } from '../../../src/live/model.ts';
import { Searches } from '../../../src/live/search.ts';
import { LiveFeed, LiveStream } from '../../../src/live/stream.ts';
import { LiveView } from '../../../src/live/view.ts';
import { LiveCluster, NOW_MS } from './live-cluster.ts';

let live: LiveCluster;
let view: LiveView;
beforeEach(() => {
  live = new LiveCluster();
  live.fill(3, 2, 1);
  view = new LiveView(live.sources);
});

/** Response of one client, with the buffers that were written. */
class Client extends EventEmitter {
  readonly written: Buffer[] = [];
  writableLength = 0;
  writeHead(): void {}
  flushHeaders(): void {}
  write(data: Buffer): void {
    this.written.push(data);
  }
  destroy(): void {
    this.emit('close');
  }
  get response(): ServerResponse {
    return this as unknown as ServerResponse;
  }
}

/** Jest's test timeout limits the wait. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('the feed', () => {
  const stateOf = (feed: LiveFeed): LiveState => JSON.parse(feed.state().toString().split('data: ')[1] ?? '');

  it('serializes a revision once', () => {
    const feed = new LiveFeed(view);
    const first = feed.state();
    live.pod('more', 'node-1.internal');
    expect(feed.state()).toBe(first);
    feed.advance();
    expect(feed.state()).not.toBe(first);
    expect(feed.state()).toBe(feed.state());
  });

  it('has a state that equals the sum of its changes', () => {
    const feed = new LiveFeed(view);
    const before = stateOf(feed);
    expect(before.nodes).toEqual(view.nodes());
    expect(before.pending.map(({ pod }) => pod)).toEqual(['default/waits-0']);
    live.pod('more', 'node-1.internal');
    live.pod('waits-1');
    const change = feed.advance();
    const after = stateOf(feed);
    const merged = before.nodes.map((node) => change.nodes.find(({ name }) => name === node.name) ?? node);
    expect(after.nodes).toEqual(merged);
    expect(after.pending).toEqual(change.pending);
    expect(after.summary).toEqual(change.summary);
  });

  it('sends all nodes first, and then at most five hundred changed nodes at a time, in turn', () => {
    live.fill(1_200, 1);
    const feed = new LiveFeed(view);
    expect(stateOf(feed).nodes).toHaveLength(1_200);
    live.verdicts = Array.from({ length: 1_200 }, (_, at) => ({
      node: `node-${at}.internal`,
      code: 'pdb',
      text: 'in the way',
      methods: [],
    }));
    live.clock.put(60_000);
    const sent = new Set<string>();
    for (const expected of [500, 500, 200, 0]) {
      const change = feed.advance();
      expect(change.nodes).toHaveLength(expected);
      for (const { name } of change.nodes) sent.add(name);
      const shown = new Map(stateOf(feed).nodes.map((node) => [node.name, node]));
      for (const node of change.nodes) expect(shown.get(node.name)).toEqual(node);
    }
    expect(sent.size).toBe(1_200);
    expect(stateOf(feed).nodes).toEqual(view.nodes());
  });

  it('sends every changed node within three changes if all nodes change all the time', () => {
    live.fill(1_200, 1);
    const feed = new LiveFeed(view);
    const sent = new Set<string>();
    for (let turn = 1; turn <= 3; turn += 1) {
      live.verdicts = Array.from({ length: 1_200 }, (_, at) => ({
        node: `node-${at}.internal`,
        code: 'pdb',
        text: `turn ${turn}`,
        methods: [],
      }));
      live.clock.put(60_000);
      for (const { name } of feed.advance().nodes) sent.add(name);
    }
    expect(sent.size).toBe(1_200);
  });

  it('has each decision either in the state or in a later change', () => {
    const feed = new LiveFeed(view);
    view.decisions.add({ atMs: NOW_MS, topic: 'problem', object: 'NodeClaim/claim-0', text: 'late' });
    expect(stateOf(feed).decisions).toEqual([]);
    expect(feed.advance().decisions.map(({ text }) => text)).toEqual(['late']);
    expect(stateOf(feed).decisions.map(({ text }) => text)).toEqual(['late']);
    expect(feed.advance().decisions).toEqual([]);
  });
});

describe('the stream', () => {
  it('serializes the state once per update for clients that reconnect repeatedly', async () => {
    const looks = jest.spyOn(view, 'nodes');
    // Each serialization reads the list once.
    const serialized = jest.spyOn(view.decisions, 'list');
    const stream = new LiveStream(view, silent);
    const states: Buffer[] = [];
    let isOver = false;
    const connect = (): void => {
      const client = new Client();
      client.write = (data) => {
        states.push(data);
        client.destroy();
        if (!isOver) setImmediate(connect);
      };
      stream.watch(client.response);
    };
    for (let client = 0; client < 19; client += 1) connect();
    await until(() => looks.mock.calls.length >= 4);
    isOver = true;
    expect(states.length).toBeGreaterThan(3 * 19);
    expect(serialized.mock.calls.length).toBeLessThanOrEqual(looks.mock.calls.length);
    expect(new Set(states).size).toBe(serialized.mock.calls.length);
    // Clients that wait for an update, and a few between two updates.
    expect(states.length).toBeLessThanOrEqual(looks.mock.calls.length * (19 + 4));
  });

  it('does not update more often for one client that reconnects repeatedly', async () => {
    const looks = jest.spyOn(view, 'nodes');
    const stream = new LiveStream(view, silent);
    const startedMs = performance.now();
    for (let times = 0; times < 200; times += 1) {
      const client = new Client();
      stream.watch(client.response);
      client.destroy();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(looks.mock.calls.length).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - startedMs) / 1_000));
  });

  it('does not update again immediately after an error', async () => {
    const stream = new LiveStream(view, silent);
    const looks = jest.spyOn(view, 'nodes').mockImplementation(() => {
      throw new Error('no verdicts');
    });
    const startedMs = performance.now();
    for (let times = 0; times < 200; times += 1) {
      const client = new Client();
      stream.watch(client.response);
      await new Promise((resolve) => setImmediate(resolve));
      client.destroy();
    }
    expect(looks.mock.calls.length).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - startedMs) / 1_000));
    looks.mockRestore();
    const client = new Client();
    expect(stream.watch(client.response)).toBe(true);
    await until(() => client.written.length === 1);
  });
});

describe('a search', () => {
  it('shares a pass over all pods, and equal texts share a search', async () => {
    const passes = jest.spyOn(live.cluster.stores.pods, 'list');
    const searches = new Searches(live.cluster);
    const texts = Array.from({ length: 200 }, (_, at) => `pod-${at % 20}`);
    const found = await Promise.all(texts.map((text) => searches.find(text)));
    expect(found[2]?.map(({ name }) => name)).toEqual(['default/pod-2-0', 'default/pod-2-1']);
    expect(found[22]).toBe(found[2]);
    expect(passes).toHaveBeenCalledTimes(1);
  });

  it('is rejected beyond twenty pending texts, and accepted after these are done', async () => {
    const searches = new Searches(live.cluster);
    const waiting = Array.from({ length: 20 }, (_, at) => searches.find(`pod-${at}`));
    expect(waiting).not.toContain(undefined);
    expect(searches.find('one more')).toBeUndefined();
    await Promise.all(waiting);
    expect(await searches.find('node-1')).toHaveLength(1);
  });

  it('fails if the cluster cannot be read, and a later search succeeds', async () => {
    const searches = new Searches(live.cluster);
    const nodes = jest.spyOn(live.cluster, 'nodes').mockImplementationOnce(() => {
      throw new Error('unreadable');
    });
    await expect(searches.find('node-1')).rejects.toThrow('unreadable');
    expect(await searches.find('node-1')).toHaveLength(1);
    expect(nodes).toHaveBeenCalledTimes(2);
  });
});
