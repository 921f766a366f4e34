/** Records why pods stay pending, each cause once while it lasts. */
import { type Cause, refusedVerdict } from '#engine/explanations';
import type { Plan } from '#engine/model';
import { timestamp } from '#lib';
import { MOST_NAMES, namespacesOf, type Refused } from '#observe/history';
import type { Deps } from '../deps.ts';

/** Time without a cause after which it counts as new again. */
const FORGET_MS = 10 * 60_000;
/** Maximum number of entries of one solve: the causes with the most pods. */
const MOST_CAUSES = 10;
const EXAMPLES = 3;
/** Refusals that a user cannot prevent. */
const LEFT_OUT: ReadonlySet<string> = new Set(['reserved-capacity', 'ignored']);

interface Group {
  readonly code: string;
  readonly text: string;
  readonly nodePools: Set<string>;
  readonly pods: string[];
}

export class RefusalLog {
  readonly #deps: Pick<Deps, 'clock' | 'decisions'>;
  /** Last time at which each cause was found, by its key. */
  readonly #seenMs = new Map<string, number>();

  constructor(deps: Pick<Deps, 'clock' | 'decisions'>) {
    this.#deps = deps;
  }

  /** Records the causes of a solve that are new. */
  record(refusals: Plan['refusals']): void {
    const { clock, decisions } = this.#deps;
    if (decisions === undefined) return;
    const nowMs = clock.now();
    for (const [key, seenMs] of this.#seenMs) if (nowMs - seenMs >= FORGET_MS) this.#seenMs.delete(key);
    const found: Refused[] = [];
    for (const [key, { code, text, nodePools, pods }] of groupsOf(refusals)) {
      const isNew = !this.#seenMs.has(key);
      this.#seenMs.set(key, nowMs);
      if (!isNew) continue;
      found.push({
        kind: 'refused',
        at: timestamp(nowMs),
        code,
        text,
        nodePools: [...nodePools].slice(0, MOST_NAMES),
        namespaces: namespacesOf(pods),
        pods: pods.length,
        examples: pods.slice(0, EXAMPLES),
      });
    }
    for (const entry of found.sort((a, b) => b.pods - a.pods).slice(0, MOST_CAUSES)) decisions.record(entry);
  }
}

function groupsOf(refusals: Plan['refusals']): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>();
  for (const [pod, refusal] of refusals) {
    if (LEFT_OUT.has(refusal.code)) continue;
    const { cause, text } = refusedVerdict(pod, refusal);
    if (cause?.code === 'launch-withheld') continue;
    const key = cause === undefined ? text : keyOf(cause);
    const group = groups.get(key) ?? { code: cause?.code ?? refusal.code, text, nodePools: new Set(), pods: [] };
    groups.set(key, group);
    group.pods.push(pod);
    if (cause?.object.kind === 'NodePool') group.nodePools.add(cause.object.name);
  }
  return groups;
}

/** Pods may request different amounts and still wait for the same change. */
const keyOf = ({ code, object, field }: Cause): string => JSON.stringify([code, object.kind, object.name, field]);
