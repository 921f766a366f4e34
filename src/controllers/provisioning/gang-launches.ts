/** Launches of gangs: all NodeClaims for the pods of a gang are created together. */
import { LRUCache } from 'lru-cache';
import { GANGS_ANNOTATION, NODE_CLAIM, type NodeClaim, type Pod, uidOf } from '#api/objects';
import { billedUsdPerHour } from '#engine/costs';
import { causeText } from '#engine/explanations';
import { gangMarkOf, isReschedulable, type Plan, type PlannedClaim } from '#engine/model';
import { deleteExactly } from '#kube/client';
import { backOffMs } from '#kube/reconcilers';
import { monotonicMs } from '#lib/clock';
import { eventOf, GANG_LAUNCH_ENDED } from '#observe/events';
import { wallTimeOf } from '#state';
import type { Deps } from '../deps.ts';
import { recordDeleted } from '../disrupted.ts';
import { gangIdsOf } from '../gang-ids.ts';
import { NOT_NEEDED } from './launches.ts';

/** Returns the ids of the gangs of pods. */
export const gangsOf = (keys: readonly string[], pods: ReadonlyMap<string, Pod>): ReadonlySet<string> =>
  new Set(keys.flatMap((key) => gangMarkOf(pods.get(key) ?? NO_POD)?.id ?? []));

const NO_POD: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: '' }, spec: { containers: [] } };

/**
 * Returns the claims that wait, so that no gang is launched in part. A gang waits only if all its claims must wait.
 * Otherwise an allowance that is smaller than the gang would hold it back for ever.
 */
export function wholeGangs(
  claims: readonly PlannedClaim[],
  short: ReadonlySet<PlannedClaim>,
  pods: ReadonlyMap<string, Pod>,
): ReadonlySet<PlannedClaim> {
  if (short.size === 0) return short;
  const admitted = new Set<string>();
  const openClaims = new Set(claims.filter((claim) => !short.has(claim)));
  for (const claim of openClaims) for (const gang of gangsOf(claim.pods, pods)) admitted.add(gang);
  // gangs that share a node are launched together
  for (let isGrowing = true; isGrowing; ) {
    isGrowing = false;
    for (const claim of claims) {
      const gangs = gangsOf(claim.pods, pods);
      if (openClaims.has(claim) || ![...gangs].some((gang) => admitted.has(gang))) continue;
      openClaims.add(claim);
      for (const gang of gangs) admitted.add(gang);
      isGrowing = true;
    }
  }
  return new Set(claims.filter((claim) => !openClaims.has(claim)));
}

/** Time for which a gang with a part of its nodes waits for room for the rest. */
const LAUNCH_TIMEOUT_MS = 60_000;
const BACK_OFF = { baseMs: 2 * 60_000, maxMs: 60 * 60_000 };
/** Maximum number of gangs and NodeClaims that are remembered. */
const MOST_REMEMBERED = 10_000;
/** Maximum length of the reason for a failed launch. */
const MOST_TEXT = 500;

/** Gang that the last solve refused. */
interface Refused {
  readonly sinceMs: number;
  readonly text: string;
}

interface Hold {
  readonly failures: number;
  /** By `monotonicMs`. */
  readonly untilMs: number;
  readonly text: string;
}

interface Launched {
  readonly sinceMs: number;
  readonly usdPerHour: number;
}

type GangDeps = Pick<Deps, 'client' | 'clock' | 'cluster' | 'decisions' | 'events' | 'log' | 'metrics' | 'random'>;

/**
 * Ends the launches of gangs that cannot be completed, and holds these gangs back. NodeClaims carry the ids of their gangs, so
 * that a new leader can end the launches of an earlier one.
 */
export class GangLaunches {
  readonly #deps: GangDeps;
  #refused: ReadonlyMap<string, Refused> = new Map();
  /** Provider ids of nodes with room for pods in the last plan. */
  #used: ReadonlySet<string> = new Set();
  readonly #holds = new LRUCache<string, Hold>({ max: MOST_REMEMBERED });
  readonly #launched = new LRUCache<string, Launched>({ max: MOST_REMEMBERED });

  constructor(deps: GangDeps) {
    this.#deps = deps;
  }

  /** Returns the planned claim with the ids of its gangs if it is for pods of gangs only. */
  withIds(planned: PlannedClaim, pods: ReadonlyMap<string, Pod>): PlannedClaim {
    const ids = planned.pods.map((key) => gangMarkOf(pods.get(key) ?? NO_POD)?.id);
    if (ids.includes(undefined)) return planned;
    const value = JSON.stringify([...new Set(ids)].sort());
    return { ...planned, annotations: { ...planned.annotations, [GANGS_ANNOTATION]: value } };
  }

  created({ metadata: { name } }: NodeClaim, planned: PlannedClaim): void {
    const sinceMs = monotonicMs(this.#deps.clock);
    this.#launched.set(name, { sinceMs, usdPerHour: billedUsdPerHour(planned) });
  }

  /** Records the result of a solve. */
  decided({ refusals, placements }: Plan, pods: ReadonlyMap<string, Pod>): void {
    const nowMs = monotonicMs(this.#deps.clock);
    const refused = new Map<string, Refused>();
    for (const [key, refusal] of refusals) {
      const isOfGang = refusal.code === 'gang' || (refusal.code === 'no-fit' && refusal.gang !== undefined);
      const id = isOfGang ? gangMarkOf(pods.get(key) ?? NO_POD)?.id : undefined;
      if (id === undefined || refused.has(id)) continue;
      const text = 'cause' in refusal && refusal.cause !== undefined ? causeText(refusal.cause) : refusal.text;
      const sinceMs = this.#refused.get(id)?.sinceMs ?? nowMs;
      refused.set(id, { sinceMs, text: text.slice(0, MOST_TEXT) });
    }
    this.#refused = refused;
    this.#used = new Set(placements.map(({ providerId }) => providerId));
  }

  /** Returns the reasons of gangs that must wait, by id of the gang. */
  holds(): ReadonlyMap<string, string> {
    const { clock } = this.#deps;
    const nowMs = monotonicMs(clock);
    const current = [...this.#holds].filter(([, { untilMs }]) => untilMs > nowMs);
    return new Map(
      current.map(([id, { text, untilMs }]) => [id, `${text}; the next attempt is at ${wallTimeOf(clock, untilMs)}`]),
    );
  }

  /** Ends the NodeClaims of gangs that found no room for their rest in time. A failure is tried again with the next call. */
  async end(): Promise<void> {
    const nowMs = monotonicMs(this.#deps.clock);
    const isOverdue = (id: string): boolean => nowMs - (this.#refused.get(id)?.sinceMs ?? nowMs) >= LAUNCH_TIMEOUT_MS;
    if (![...this.#refused.keys()].some(isOverdue)) return;
    const ended = new Map<string, NodeClaim[]>();
    for (const claim of this.#deps.cluster.stores.nodeClaims.list()) {
      const ids = gangIdsOf(claim);
      const [first] = ids;
      if (first === undefined || !ids.every(isOverdue) || this.#isUsed(claim)) continue;
      ended.set(first, [...(ended.get(first) ?? []), claim]);
    }
    for (const [id, claims] of ended) await this.#endAll(id, claims);
  }

  #isUsed(claim: NodeClaim): boolean {
    if (claim.metadata.deletionTimestamp !== undefined) return true;
    const node = this.#deps.cluster.nodeOfClaim(claim);
    return node !== undefined && (this.#used.has(node.providerId) || node.pods.some(isReschedulable));
  }

  async #endAll(id: string, claims: readonly NodeClaim[]): Promise<void> {
    const { clock, log, random } = this.#deps;
    const { text = '' } = this.#refused.get(id) ?? {};
    for (const claim of claims) {
      try {
        await this.#end(claim, text);
      } catch (error) {
        log.debug('failed deleting a nodeclaim of an incomplete gang, trying again', {
          NodeClaim: { name: claim.metadata.name },
          error,
        });
        return;
      }
    }
    const nowMs = monotonicMs(clock);
    const usd = claims.reduce((sum, { metadata: { name } }) => {
      const { sinceMs = nowMs, usdPerHour = 0 } = this.#launched.get(name) ?? {};
      return sum + (usdPerHour * (nowMs - sinceMs)) / HOUR_MS;
    }, 0);
    const failures = this.#holds.get(id)?.failures ?? 0;
    const nodes = `${claims.length} ${claims.length === 1 ? 'node' : 'nodes'}`;
    const why = `its last launch was not complete: ${text} (ended ${nodes}, $${usd.toFixed(4)})`;
    this.#holds.set(id, {
      failures: failures + 1,
      untilMs: nowMs + backOffMs(BACK_OFF, failures, random),
      text: why,
    });
    log.error('ended the launch of an incomplete gang', { gang: id, nodeclaims: claims.length, error: text });
  }

  async #end(claim: NodeClaim, text: string): Promise<void> {
    const { client, events } = this.#deps;
    if (!(await deleteExactly(client, NODE_CLAIM, claim))) return;
    recordDeleted(this.#deps, claim, { reason: NOT_NEEDED });
    const message = GANG_LAUNCH_ENDED.message(text);
    events.publish(eventOf(GANG_LAUNCH_ENDED, claim, { message, dedupe: [uidOf(claim)] }));
  }
}

const HOUR_MS = 60 * 60_000;
