/**
 * Leader election over a Lease: one of several operators is active, and all other replicas stand by.
 *
 *   standing by ──lease free, released or expired, and our write wins──▶ leading
 *   leading ──renewed every retry period──▶ leading
 *   leading ──not renewed within the deadline, or held by another replica──▶ lost (ends)
 *   any ──signal aborts──▶ released (ends)
 *
 * A lease is expired if it has not changed for its duration. This replica measures the time since it noticed the last change with
 * its own clock, so the clocks of other machines do not matter. If its clock was set or its machine slept, the time that passed
 * on other machines is uncertain. The holder then assumes the longest possible time, and a standby assumes the shortest.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { LEASE, type Lease } from '#api/objects';
import { type Clock, type Elapsed, since } from '#lib/clock';
import { eventOf, LEADER_ELECTION } from '#observe/events';
import { errorText, type Logger } from '#observe/logger';
import { LEADER_ELECTION_MASTER_STATUS, type Metrics } from '#observe/metrics';
import { ApiError, isConflict, type KubeClient } from './client.ts';
import type { EventRecorder } from './events.ts';
import type { Leadership } from './fence.ts';

export interface LeaseOptions {
  /** Separate client, so that load on the operator's client does not lose the lease. */
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly name: string;
  readonly namespace: string;
  /** The election opens it, each renewal keeps it open, and the loss or release of the lease ends it. */
  readonly leadership: Leadership;
  /** Releases the lease. Abort this signal only after the work under the lease has stopped. */
  readonly signal: AbortSignal;
  readonly events?: EventRecorder;
  readonly metrics?: Metrics;
  /** Default `<hostname>_<uuid>`. */
  readonly identity?: string;
  /** Time that other replicas wait for a holder that does not renew its lease. */
  readonly durationMs?: number;
  readonly retryMs?: number;
  readonly random?: () => number;
}

interface LeaderElection {
  readonly identity: string;
  /** Resolves when this replica is the leader. Never resolves if the signal aborts first. */
  readonly elected: Promise<void>;
  /** Resolves when this election ends: `lost` if another replica may now lead, `released` after the signal. */
  readonly ended: Promise<'lost' | 'released'>;
}

const DURATION_MS = 15_000;
const RETRY_MS = 2_000;
/** Maximum factor for the wait of standbys between tries, so that they do not all write at the same time. */
const JITTER = 1.2;

export function electLeader(options: LeaseOptions): LeaderElection {
  const identity = options.identity ?? `${hostname()}_${randomUUID()}`;
  const { promise: elected, resolve } = Promise.withResolvers<void>();
  const candidate = new Candidate(identity, options);
  return { identity, elected, ended: candidate.run(resolve) };
}

class Candidate {
  readonly #identity: string;
  readonly #options: LeaseOptions;
  readonly #retryMs: number;
  readonly #durationMs: number;
  readonly #deadlineMs: number;
  /** Last known version of the lease. `#sinceSeen` is the time since this version was first read. */
  #seen: Lease | undefined;
  #sinceSeen: Elapsed | undefined;
  /** Reason of the last failed renewal; undefined if the renewal succeeded. */
  #failure: unknown;

  constructor(identity: string, options: LeaseOptions) {
    this.#identity = identity;
    this.#options = options;
    this.#retryMs = options.retryMs ?? RETRY_MS;
    this.#durationMs = options.durationMs ?? DURATION_MS;
    this.#deadlineMs = options.leadership.renewDeadlineMs;
  }

  async run(onElected: () => void): Promise<'lost' | 'released'> {
    const { signal, log, metrics, name, namespace, leadership } = this.#options;
    const isMaster = metrics?.gauge(LEADER_ELECTION_MASTER_STATUS);
    isMaster?.set({ name }, 0);
    log.info('attempting to acquire leader lease', { lease: `${namespace}/${name}` });
    const renewed = await this.#acquire();
    if (renewed === undefined) {
      await this.#release();
      return 'released';
    }

    log.info('successfully acquired lease', { lease: `${namespace}/${name}` });
    isMaster?.set({ name }, 1);
    this.#announce(`${this.#identity} became leader`);
    leadership.renew(renewed);
    onElected();
    await this.#hold();
    const expiry: unknown = leadership.signal.reason;
    leadership.end('the leader election lease was released');
    isMaster?.set({ name }, 0);
    this.#announce(`${this.#identity} stopped leading`);
    if (!signal.aborted) {
      const holder = this.#seen?.spec?.holderIdentity;
      const error = this.#failure ?? expiry;
      const why = error === undefined ? { holder } : { error };
      log.error('leader election lost', { lease: `${namespace}/${name}`, ...why });
      return 'lost';
    }
    await this.#release();
    return 'released';
  }

  /**
   * Tries until this replica holds the lease. Returns the time since the lease is certainly held, or undefined if the signal
   * aborts.
   */
  async #acquire(): Promise<Elapsed | undefined> {
    const { clock, signal, log, random = Math.random } = this.#options;
    let failure = '';
    while (!signal.aborted) {
      try {
        const taken = await this.#take();
        if (signal.aborted) return undefined;
        if (taken) return taken;
        failure = '';
      } catch (error) {
        if (signal.aborted) return undefined;
        const text = errorText(error);
        if (text !== failure) log.error('failed acquiring lease, retrying', { error });
        failure = text;
      }
      await clock.sleep(this.#retryMs * (1 + (JITTER - 1) * random()), signal);
    }
    return undefined;
  }

  /** Tries once to take the lease. @throws Error if the lease is taken, but the response came too late to renew it in time */
  async #take(): Promise<Elapsed | undefined> {
    // measured from before the request, as for renewals, because other replicas measure from the time of the write
    const started = since(this.#options.clock);
    if (!(await this.#within(this.#deadlineMs, this.#claim()))) return undefined;
    const tookMs = started.atMost();
    if (tookMs + this.#retryMs < this.#deadlineMs) return started;
    throw new Error(
      `the API server took ${Math.round(tookMs / 1_000)} s to respond, but the lease must be renewed within ${this.#deadlineMs / 1_000} s`,
    );
  }

  /** Renews until the signal aborts, another candidate holds the lease, or the renew deadline passes. */
  async #hold(): Promise<void> {
    const { clock, signal, log, leadership } = this.#options;
    const over = AbortSignal.any([signal, leadership.signal]);
    while (!over.aborted) {
      await clock.sleep(this.#retryMs, over);
      if (over.aborted || !leadership.isOpen) return;
      const started = since(clock);
      try {
        // limits the time of a single request, so that a retry can reach a server that responds
        const limitMs = Math.min(leadership.remainingMs, this.#deadlineMs / 2);
        if (!(await this.#within(limitMs, this.#claim()))) {
          this.#failure = undefined;
          return;
        }
        // measured from before the request, because the lease is certainly held from this time
        leadership.renew(started);
        this.#failure = undefined;
      } catch (error) {
        this.#failure = error;
        log.debug('failed renewing lease, retrying', { error });
      }
    }
  }

  /** Waits for the work for at most `ms`. @throws Error if the work takes longer; the work itself continues */
  async #within<T>(ms: number, work: Promise<T>): Promise<T> {
    const giveUp = new AbortController();
    const timedOut = this.#options.clock.sleep(ms, giveUp.signal).then(() => {
      throw new Error(`the API server did not respond to the request for the lease within ${Math.round(ms) / 1_000} s`);
    });
    timedOut.catch(() => undefined);
    work.catch(() => undefined);
    try {
      return await Promise.race([work, timedOut]);
    } finally {
      giveUp.abort();
    }
  }

  /** Tries once to take or renew the lease. Returns true if this replica holds the lease. */
  async #claim(): Promise<boolean> {
    const { client, clock, name, namespace } = this.#options;
    const found = await client.find(LEASE, { name, namespace });
    if (!found) return this.#wins(client.create(LEASE, this.#claimed(undefined)));
    if (found.metadata.resourceVersion !== this.#seen?.metadata.resourceVersion) {
      this.#seen = found;
      this.#sinceSeen = since(clock);
    }
    const holder = found.spec?.holderIdentity ?? '';
    const theirsMs = (found.spec?.leaseDurationSeconds ?? this.#durationMs / 1_000) * 1_000;
    const isCurrent = (this.#sinceSeen?.atLeast() ?? theirsMs) < theirsMs;
    const isTaken = holder !== '' && holder !== this.#identity && isCurrent;
    return isTaken ? false : this.#wins(client.update(LEASE, this.#claimed(found)));
  }

  async #wins(write: Promise<Lease>): Promise<boolean> {
    try {
      this.#seen = await write;
      this.#sinceSeen = since(this.#options.clock);
      return true;
    } catch (error) {
      if (isConflict(error) || (error instanceof ApiError && error.reason === 'AlreadyExists')) {
        // Another client wrote first. The next try reads the current holder; until then the previous state is kept.
        if (this.#seen?.spec?.holderIdentity === this.#identity) throw error;
        return false;
      }
      throw error;
    }
  }

  /** Returns the lease with this replica as the holder. Includes the version that was read, so that only one write wins. */
  #claimed(found: Lease | undefined): Lease {
    const { clock, name, namespace } = this.#options;
    const now = microTime(clock.now());
    const isOurs = found?.spec?.holderIdentity === this.#identity;
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: found?.metadata ?? { name, namespace },
      spec: {
        ...found?.spec,
        holderIdentity: this.#identity,
        leaseDurationSeconds: Math.round(this.#durationMs / 1_000),
        acquireTime: isOurs ? (found?.spec?.acquireTime ?? now) : now,
        renewTime: now,
        leaseTransitions: (found?.spec?.leaseTransitions ?? 0) + (found === undefined || isOurs ? 0 : 1),
      },
    };
  }

  async #release(): Promise<void> {
    const { client, clock, log } = this.#options;
    if (this.#seen?.spec?.holderIdentity !== this.#identity) return;
    const now = microTime(clock.now());
    // a duration of one second frees the lease after a second even for clients that ignore the holder
    const spec = { ...this.#seen.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: now };
    try {
      await this.#within(this.#retryMs, client.update(LEASE, { ...this.#seen, spec }));
    } catch (error) {
      log.debug('failed releasing lease', { error });
    }
  }

  #announce(message: string): void {
    const { events, name, namespace } = this.#options;
    const lease = this.#seen ?? { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace } };
    events?.publish(eventOf(LEADER_ELECTION, lease, { message }));
  }
}

/** Formats a time as RFC 3339 with microseconds, the format of leases. */
const microTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');
