/**
 * Searches in batches. One pass over nodes and pods serves all waiting texts, and passes use only a share of the thread's time.
 */
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { nodeNameOf } from '#api/objects';
import { podKey } from '#engine/model';
import type { ClusterState } from '#state';
import type { SearchResult } from './responses.ts';
import { nodeRow } from './rows.ts';

/** Maximum number of results of a search. Further results are omitted. */
const MOST_FOUND = 50;
/** Maximum number of texts that wait for the next pass. */
const MOST_WAITING = 20;
/** Inverse share of the thread's time for passes, which is a twentieth. Requests collect during the pauses. */
const SHARE = 20;
const LEAST_PAUSE_MS = 50;
/** Number of objects between two checks of the time, and milliseconds after which other work can run. */
const OBJECTS = 200;
const STEP_MS = 4;

interface Search {
  readonly text: string;
  readonly found: SearchResult[];
  readonly promise: Promise<readonly SearchResult[]>;
  readonly resolve: (found: readonly SearchResult[]) => void;
  readonly reject: (error: unknown) => void;
}

export class Searches {
  readonly #cluster: ClusterState;
  /** Waiting searches by text. Equal texts share a search. */
  readonly #waiting = new Map<string, Search>();
  #isRunning = false;

  constructor(cluster: ClusterState) {
    this.#cluster = cluster;
  }

  /**
   * Finds nodes and pods whose names contain the text; nodes by type, zone and NodePool as well. Nodes come first.
   * Returns undefined if too many searches wait.
   */
  find(given: string): Promise<readonly SearchResult[]> | undefined {
    const text = given.trim().toLowerCase();
    if (text === '') return Promise.resolve([]);
    const known = this.#waiting.get(text);
    if (known !== undefined) return known.promise;
    if (this.#waiting.size >= MOST_WAITING) return undefined;
    const search = { text, found: [], ...Promise.withResolvers<readonly SearchResult[]>() };
    this.#waiting.set(text, search);
    if (!this.#isRunning) void this.#run();
    return search.promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // requests of the same turn share the first pass
    await nextTurn();
    while (this.#waiting.size > 0) {
      const searches = [...this.#waiting.values()];
      this.#waiting.clear();
      const tookMs = await this.#pass(searches);
      await pause(Math.max(LEAST_PAUSE_MS, tookMs * SHARE));
    }
    this.#isRunning = false;
  }

  /** Returns the milliseconds of this thread that the pass took. */
  async #pass(searches: readonly Search[]): Promise<number> {
    let tookMs = 0;
    let startedMs = performance.now();
    try {
      let count = 0;
      for (const look of this.#looks()) {
        for (const search of searches) look(search);
        count += 1;
        if (count % OBJECTS !== 0 || performance.now() - startedMs < STEP_MS) continue;
        if (searches.every(isFull)) break;
        tookMs += performance.now() - startedMs;
        await nextTurn();
        startedMs = performance.now();
      }
      for (const { found, resolve } of searches) resolve(found);
    } catch (error) {
      for (const { reject } of searches) reject(error);
    }
    return tookMs + performance.now() - startedMs;
  }

  /** For each node and pod, adds it to a search that it matches. */
  *#looks(): Generator<(search: Search) => void> {
    for (const node of this.#cluster.nodes()) {
      const row = nodeRow(node, undefined, undefined);
      const words = [row.name, row.nodeClaim ?? '', row.nodePool, row.instanceType, row.zone, row.capacityType];
      const lower = words.map((word) => word.toLowerCase());
      yield ({ text, found }) => {
        if (found.length >= MOST_FOUND || !lower.some((word) => word.includes(text))) return;
        found.push({ kind: 'node', name: row.name, text: `${row.instanceType} ${row.zone} ${row.nodePool}`.trim() });
      };
    }
    for (const pod of this.#cluster.stores.pods.list()) {
      const name = podKey(pod);
      const lower = name.toLowerCase();
      yield ({ text, found }) => {
        if (found.length >= MOST_FOUND || !lower.includes(text)) return;
        found.push({ kind: 'pod', name, text: nodeNameOf(pod) || 'pending' });
      };
    }
  }
}

const isFull = ({ found }: Search): boolean => found.length >= MOST_FOUND;
