/** Records a live cluster: watches the kinds of a trace and writes their changes. */

import { type Kind, NODE_CLAIM } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/kubernetes.ts';
import type { KubeReader, Store } from '../../kube/client.ts';
import { startInformers } from '../../kube/informers.ts';
import { type Clock, realClock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/error-message.ts';
import type { LogFields, Logger } from '../../observe/logger.ts';
import { TRACE_KINDS } from '../../replay/trace/kinds.ts';
import { writeTrace } from '../../replay/trace/write.ts';
import { pluralOf } from '../render/table.ts';
import { AuditHistory } from './history.ts';
import { historyNotes } from './notes.ts';

interface RecordOptions {
  /** Duration in milliseconds. */
  readonly forMs: number;
  readonly limitBytes: number;
  readonly namespaces?: readonly string[] | undefined;
  readonly name: string;
  /** File of the trace. */
  readonly path: string;
  /** Signal that stops the recording. Changes that were observed before are written. */
  readonly signal: AbortSignal;
  readonly onProgress?: (events: number, secondsLeft: number) => void;
  readonly clock?: Clock;
  /** Called when the recording has started. */
  readonly onStarted?: () => void;
}

/** Kinds that are not recorded. A replay creates volumes itself, and Services have no effect. */
const NOT_WATCHED: ReadonlySet<string> = new Set(['PersistentVolume', 'Service', 'Job']);
const KINDS: readonly Kind[] = TRACE_KINDS.filter(({ kind }) => !NOT_WATCHED.has(kind));

const PROGRESS_MS = 1_000;
/** Interval between writes of the file. If the process is killed, the changes since the last write are lost. */
const SAVE_MS = 600_000;

/**
 * Records a cluster and returns notes for the user.
 *
 * @throws Error if the cluster cannot be read or the file cannot be written
 */
export async function record(client: KubeReader, options: RecordOptions): Promise<readonly string[]> {
  const { clock = realClock(), signal, onStarted } = options;
  const ended = new AbortController();
  const trouble = new Map<string, string>();
  try {
    const informers = startInformers({ client, clock, log: collecting(trouble), signal: ended.signal });
    const stores = [...KINDS, NODE_CLAIM].map((kind) => informers.store(kind, {}, { optional: true }));
    await informers.synced(signal).catch((error: unknown) => {
      throw signal.aborted ? new Error('interrupted before the cluster was read; no trace is written') : error;
    });
    if (stores.every(({ synced }) => !synced))
      throw new Error(`the cluster cannot be read: ${[...trouble.values()][0]}`);
    const recording = new Recording(stores, options, clock);
    onStarted?.();
    await recording.run();
    return [...recording.notes(), ...unread(stores, trouble)];
  } finally {
    ended.abort();
  }
}

const unread = (stores: readonly Store<KubeObject>[], trouble: ReadonlyMap<string, string>): readonly string[] =>
  stores
    .filter(({ synced }) => !synced)
    .map(
      ({ kind }) =>
        `${pluralOf(kind.kind)} are not in the trace (${trouble.get(kind.kind) ?? 'they could not be listed'})`,
    );

/**
 * Returns a logger that keeps the last error of each kind. Failed lists are retried, and their errors are reported
 * once at the end.
 */
function collecting(trouble: Map<string, string>): Logger {
  const error = (message: string, fields: LogFields = {}): void => {
    trouble.set(String(fields.kind ?? ''), `${message}: ${messageOf(fields.error)}`);
  };
  const log: Logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error, with: () => log };
  return log;
}

class Recording {
  readonly #options: RecordOptions;
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #history: AuditHistory;
  readonly #claims = { bought: 0, gone: 0 };
  readonly #full = new AbortController();

  constructor(stores: readonly Store<KubeObject>[], options: RecordOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#startMs = clock.now();
    this.#history = new AuditHistory({
      startMs: this.#startMs,
      limitBytes: options.limitBytes,
      namespaces: options.namespaces,
    });
    for (const store of stores) this.#follow(store);
  }

  /** Records until the time is over, the signal aborts, or the limit is reached. Then completes the file. */
  async run(): Promise<void> {
    const { forMs, signal, onProgress } = this.#options;
    const stop = AbortSignal.any([signal, this.#full.signal]);
    const endMs = this.#startMs + forMs;
    let savedMs = this.#startMs;
    for (let now = this.#clock.now(); now < endMs && !stop.aborted; now = this.#clock.now()) {
      onProgress?.(this.#history.events, Math.round((endMs - now) / 1000));
      if (now - savedMs >= SAVE_MS) {
        await this.#save();
        savedMs = now;
      }
      await this.#clock.sleep(Math.min(PROGRESS_MS, endMs - now), stop);
    }
    await this.#save();
  }

  notes(): readonly string[] {
    const { bought, gone } = this.#claims;
    return [
      ...historyNotes(this.#history),
      `during the recording, the cluster created ${bought} NodeClaims and deleted ${gone}`,
    ];
  }

  async #save(): Promise<void> {
    const { name, path } = this.#options;
    const endMs = this.#clock.now();
    const header = {
      trace: 'karpenter/v1' as const,
      name,
      start: new Date(this.#startMs).toISOString(),
      seconds: Math.max(1, Math.ceil((endMs - this.#startMs) / 1000)),
      source: 'recorded from a live cluster',
    };
    await writeTrace(header, this.#history.until(endMs), path);
  }

  #follow(store: Store<KubeObject>): void {
    if (store.kind.kind === NODE_CLAIM.kind) {
      const known = new Set(store.list().map(({ metadata }) => metadata.name));
      // a new subscriber also receives the existing objects
      store.subscribe((event, { metadata }) => known.delete(metadata.name) || this.#count(event));
      return;
    }
    store.subscribe((event, object) => this.#take(event, object));
  }

  #take(event: 'added' | 'updated' | 'deleted', object: KubeObject): void {
    if (event === 'deleted') this.#history.remove(object, this.#clock.now());
    else this.#history.put(object, this.#clock.now());
    if (this.#history.isFull) this.#full.abort();
  }

  #count(event: 'added' | 'updated' | 'deleted'): void {
    if (event === 'added') this.#claims.bought += 1;
    if (event === 'deleted') this.#claims.gone += 1;
  }
}
