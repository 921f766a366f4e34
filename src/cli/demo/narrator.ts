/** Prints each step in the life of NodeClaims and nodes once, when it is observed. */
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, isTrue, type NodeClaim, type Pod, ZONE_LABEL } from '#api/objects';
import type { World } from '#local/world';
import type { Bills } from './bills.ts';
import { type Screen, usdText } from './screen.ts';
import type { View } from './view.ts';

export interface Narrator {
  /** Seconds from the creation of the slowest pod of the last scale-up to its Ready condition, as the demo saw it. */
  slowestStartMs(): number;
  /** Resets pod timings, so that the next stage is measured separately. */
  startTiming(): void;
  readonly bought: number;
  readonly podsStarted: number;
}

const instanceIdOf = (claim: NodeClaim): string => claim.status?.providerID?.split('/').at(-1) ?? '';

export interface NarratorParts {
  readonly world: World;
  readonly bills: Bills;
}

export function narrate(view: View, { world, bills }: NarratorParts, screen: Screen): Narrator {
  const told = new Set<string>();
  const created = new Map<string, number>();
  const startMs: number[] = [];
  let bought = 0;
  let podsStarted = 0;

  const once = (claim: NodeClaim, step: string, text: () => string): void => {
    const key = `${claim.metadata.uid} ${step}`;
    if (told.has(key)) return;
    told.add(key);
    screen.line(text());
  };

  view.claims.subscribe((claim, before) => {
    if (claim === undefined) {
      if (before && instanceIdOf(before) !== '')
        once(before, 'gone', () => `terminated  ${before.metadata.name}: node drained, instance terminated`);
      else if (before)
        once(before, 'gone', () => `withdrawn   ${before.metadata.name}: no instance was launched for it`);
      return;
    }
    const { labels, name } = claim.metadata;
    if (isTrue(claim, 'Launched'))
      once(claim, 'launched', () => {
        bought += 1;
        const instance = world.aws.instances.get(instanceIdOf(claim));
        const price = instance === undefined ? 0 : bills.usdPerHourOf(instance);
        return `launched    ${name}: ${labels?.[INSTANCE_TYPE_LABEL]} in ${labels?.[ZONE_LABEL]}, ${labels?.[CAPACITY_TYPE_LABEL]}, ${usdText(price)} an hour`;
      });
    if (isTrue(claim, 'Registered'))
      once(claim, 'registered', () => `registered  ${name}: node ${claim.status?.nodeName}`);
    if (claim.metadata.deletionTimestamp && instanceIdOf(claim) !== '')
      once(claim, 'deleting', () => `draining    ${name}: node ${claim.status?.nodeName ?? 'not registered'}`);
  });

  const seePod = (pod: Pod): void => {
    const uid = pod.metadata.uid ?? '';
    if (!created.has(uid)) created.set(uid, performance.now());
    if (!isTrue(pod, 'Ready') || told.has(uid)) return;
    told.add(uid);
    podsStarted += 1;
    startMs.push(performance.now() - (created.get(uid) ?? 0));
  };
  view.pods.subscribe((pod) => {
    if (pod?.metadata.labels?.app === 'inflate') seePod(pod);
  });

  return {
    slowestStartMs: () => Math.max(0, ...startMs),
    startTiming: () => {
      startMs.length = 0;
    },
    get bought() {
      return bought;
    },
    get podsStarted() {
      return podsStarted;
    },
  };
}
