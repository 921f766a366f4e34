/** Records a live cluster: watches the kinds of a trace and writes their changes. */

import {
  CONFIG_MAP,
  type ConfigMap,
  type Kind,
  type KubeObject,
  NODE,
  NODE_CLAIM,
  RESOURCE_SLICE,
  type ResourceSlice,
} from '#api/objects';
import { ApiError, type KubeReader, type Store } from '#kube/client';
import { startInformers } from '#kube/informers';
import { messageOf } from '#lib';
import { type Clock, realClock } from '#lib/clock';
import type { LogFields, Logger } from '#observe/logger';
import { TRACE_KINDS, type TraceEvent, writeTrace } from '#replay/trace';
import { DEVICE_TEMPLATES_LABEL } from '#state';
import { pluralOf } from '../render/table.ts';
import { AuditHistory } from './history.ts';
import { historyNotes } from './notes.ts';
import { ObservedDrivers, traceDeclaration } from './observed-drivers.ts';

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

/** Kinds that are not watched. A replay creates volumes itself, Services have no effect, and few ConfigMaps are read. */
const NOT_WATCHED: ReadonlySet<string> = new Set(['PersistentVolume', 'Service', 'Job', CONFIG_MAP.kind]);
const KINDS: readonly Kind[] = TRACE_KINDS.filter(({ kind }) => !NOT_WATCHED.has(kind));

/** Kinds of resource claims. */
const DEVICE_KINDS: ReadonlySet<string> = new Set(
  [...KINDS, RESOURCE_SLICE].filter(({ group }) => group === RESOURCE_SLICE.group).map(({ kind }) => kind),
);

const PROGRESS_MS = 1_000;
/** Interval between writes of the file. If the process is killed, the changes since the last write are lost. */
const SAVE_MS = 600_000;

/**
 * Records a cluster and returns notes for the user.
 *
 * @throws Error if the cluster cannot be read or the file cannot be written
 */
export async function recordTrace(client: KubeReader, options: RecordOptions): Promise<readonly string[]> {
  const { clock = realClock(), signal, onStarted } = options;
  const ended = new AbortController();
  const trouble = new Map<string, string>();
  try {
    const informers = startInformers({ client, clock, log: collecting(trouble), signal: ended.signal });
    const stores = [...KINDS, NODE_CLAIM].map((kind) => informers.store(kind, {}, { optional: true }));
    const nodes = informers.store(NODE, {}, { optional: true });
    const slices = informers.store(RESOURCE_SLICE, {}, { optional: true });
    await informers.synced(signal).catch((error: unknown) => {
      throw signal.aborted ? new Error('interrupted before the cluster was read; no trace is written') : error;
    });
    if (stores.every(({ synced }) => !synced))
      throw new Error(`the cluster cannot be read: ${[...trouble.values()][0]}`);
    const declarations = await readDeclarations(client, trouble);
    const recording = new Recording(stores, { options, clock, declarations, drivers: new ObservedDrivers(nodes) });
    recording.followDrivers(slices);
    onStarted?.();
    await recording.run();
    return [...recording.notes(), ...unread([...stores, nodes, slices], trouble)];
  } finally {
    ended.abort();
  }
}

const unread = (
  stores: readonly Pick<Store<KubeObject>, 'kind' | 'synced'>[],
  trouble: ReadonlyMap<string, string>,
): readonly string[] => [
  ...stores
    // clusters before Kubernetes 1.34 do not serve resource claims
    .filter(({ synced, kind }) => !synced && (kind.group !== RESOURCE_SLICE.group || trouble.has(kind.kind)))
    .map(
      ({ kind }) =>
        `${pluralOf(kind.kind)} are not in the trace (${trouble.get(kind.kind) ?? 'they could not be listed'})`,
    ),
  ...(trouble.has(CONFIG_MAP.kind) ? [`declared devices are not in the trace (${trouble.get(CONFIG_MAP.kind)})`] : []),
];

/** Returns the ConfigMaps with devices of new nodes, in the namespace of the operator of a replay. */
async function readDeclarations(client: KubeReader, trouble: Map<string, string>): Promise<readonly KubeObject[]> {
  try {
    const found: readonly ConfigMap[] = await client.listAll(CONFIG_MAP, {
      labelSelector: `${DEVICE_TEMPLATES_LABEL}=true`,
    });
    return found.map(traceDeclaration);
  } catch (error) {
    trouble.set(CONFIG_MAP.kind, messageOf(error));
    return [];
  }
}

/**
 * Returns a logger that keeps the last error of each kind. Failed lists are retried, and their errors are reported
 * once at the end.
 */
function collecting(trouble: Map<string, string>): Logger {
  const error = (message: string, fields: LogFields = {}): void => {
    const kind = String(fields.kind ?? '');
    const isAbsent = fields.error instanceof ApiError && fields.error.status === 404;
    if (isAbsent && DEVICE_KINDS.has(kind)) return;
    trouble.set(kind, `${message}: ${messageOf(fields.error)}`);
  };
  const log: Logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error, with: () => log };
  return log;
}

interface RecordingParts {
  readonly options: RecordOptions;
  readonly clock: Clock;
  readonly declarations: readonly KubeObject[];
  readonly drivers: ObservedDrivers;
}

class Recording {
  readonly #options: RecordOptions;
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #history: AuditHistory;
  readonly #claims = { bought: 0, gone: 0 };
  readonly #full = new AbortController();

  readonly #declarations: readonly KubeObject[];
  readonly #drivers: ObservedDrivers;

  constructor(stores: readonly Store<KubeObject>[], { options, clock, declarations, drivers }: RecordingParts) {
    this.#options = options;
    this.#declarations = declarations;
    this.#drivers = drivers;
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
    await writeTrace(header, this.#events(endMs), path);
  }

  *#events(endMs: number): Generator<TraceEvent> {
    for (const apply of [...this.#declarations, ...this.#drivers.objects()]) yield { at: 0, apply };
    yield* this.#history.until(endMs);
  }

  /** Records the DRA drivers of the nodes. */
  followDrivers(slices: Store<ResourceSlice>): void {
    slices.subscribe((event, slice) => {
      if (event !== 'deleted') this.#drivers.put(slice);
    });
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
