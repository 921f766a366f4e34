/**
 * Leader election over a Lease: one of several operators works, the others stand by.
 *
 *   standing by ──lease free, released or expired, and our write wins──▶ leading
 *   leading ──renewed every retry period──▶ leading
 *   leading ──not renewed within the deadline, or another holds it──▶ lost (ends)
 *   any ──signal aborts──▶ released (ends)
 *
 * A lease counts as expired when it has not changed for its duration by our own clock since we saw its last change:
 * the clocks of other machines do not matter. Where our own clock was set, or our machine slept, we do not know how much
 * passed for the others: a holder counts the most that it can have been, who waits counts the least.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { LEASE } from '../api/kinds.ts';
import type { Lease } from '../api/kubernetes.ts';
import { type Clock, type Elapsed, since } from '../lib/clock.ts';
import { errorText } from '../observe/error-text.ts';
import { eventOf } from '../observe/events/declaration.ts';
import { LEADER_ELECTION } from '../observe/events/objects.ts';
import type { Logger } from '../observe/logger.ts';
import { LEADER_ELECTION_MASTER_STATUS } from '../observe/metrics/kube.ts';
import type { Metrics } from '../observe/metrics.ts';
import { ApiError, isConflict, type KubeClient } from './client.ts';
import type { EventRecorder } from './events.ts';
import type { Leadership } from './fence.ts';

export interface LeaseOptions {
  /** A client of its own, so that load on the other one does not lose the lease. */
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly name: string;
  readonly namespace: string;
  /** Opened by the election, kept open by each renewal, ended when the lease is lost or released. */
  readonly leadership: Leadership;
  /** Gives the lease up: to be aborted after the work under the lease has stopped. */
  readonly signal: AbortSignal;
  readonly events?: EventRecorder;
  readonly metrics?: Metrics;
  /** Default `<hostname>_<uuid>`. */
  readonly identity?: string;
  /** How long others wait for a silent holder. */
  readonly durationMs?: number;
  readonly retryMs?: number;
  readonly random?: () => number;
}

interface LeaderElection {
  readonly identity: string;
  /** Resolves when we lead; never when the signal aborts first. */
  readonly elected: Promise<void>;
  /** Resolves when it is over: `lost` when another may lead now, `released` after the signal. */
  readonly ended: Promise<'lost' | 'released'>;
}

const DURATION_MS = 15_000;
const RETRY_MS = 2_000;
/** Standbys spread their tries by up to this factor, so that they do not all write at once. */
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
  /** The lease as last seen, and for how long we have seen it so. */
  #seen: Lease | undefined;
  #sinceSeen: Elapsed | undefined;
  /** Why the last renewal failed, if it did. */
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
    leadership.end('the leader election lease was given up');
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

  /** Tries until we hold the lease; answers since when it is surely ours, or undefined when it is to stop. */
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

  /** One try to take the lease. @throws Error when it is ours, but the answer came too late to renew it in time */
  async #take(): Promise<Elapsed | undefined> {
    // counted from before the request, as with renewals: others count from when it was written
    const started = since(this.#options.clock);
    if (!(await this.#within(this.#deadlineMs, this.#claim()))) return undefined;
    const tookMs = started.atMost();
    if (tookMs + this.#retryMs < this.#deadlineMs) return started;
    throw new Error(
      `the API server took ${Math.round(tookMs / 1_000)} s to answer, and the lease must be renewed within ${this.#deadlineMs / 1_000} s`,
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
        // no single request may take all the time: the next may go to a server that answers
        const limitMs = Math.min(leadership.remainingMs, this.#deadlineMs / 2);
        if (!(await this.#within(limitMs, this.#claim()))) {
          this.#failure = undefined;
          return;
        }
        // counted from before the request: that is when the lease was surely ours
        leadership.renew(started);
        this.#failure = undefined;
      } catch (error) {
        this.#failure = error;
        log.debug('failed renewing lease, retrying', { error });
      }
    }
  }

  /** @throws Error when the work takes longer, which goes on all the same */
  async #within<T>(ms: number, work: Promise<T>): Promise<T> {
    const giveUp = new AbortController();
    const timedOut = this.#options.clock.sleep(ms, giveUp.signal).then(() => {
      throw new Error(`the API server did not answer about the lease within ${Math.round(ms) / 1_000} s`);
    });
    timedOut.catch(() => undefined);
    work.catch(() => undefined);
    try {
      return await Promise.race([work, timedOut]);
    } finally {
      giveUp.abort();
    }
  }

  /** One try to take or renew the lease; answers whether we hold it. */
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
        // somebody wrote first; whoever holds it now shows at the next try, and until then we keep what we had
        if (this.#seen?.spec?.holderIdentity === this.#identity) throw error;
        return false;
      }
      throw error;
    }
  }

  /** The lease as ours from now on; carries the version that was read, so that only one writer wins. */
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
    // a duration of one second frees it at once even for those that do not look at the holder
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

/** RFC 3339 with microseconds, as leases keep times. */
const microTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');
