/** Reports durations of a NodeClaim that cannot be parsed. Reports each NodeClaim once, because its spec never changes. */

import type { NodeClaim } from '#api/objects';
import { durationOrNever } from '#api/values';
import { messageOf } from '#lib';
import { eventOf, UNREADABLE_FIELD } from '#observe/events';
import type { Logger } from '#observe/logger';
import type { Deps } from '../deps.ts';

interface UnreadableField {
  readonly field: 'expireAfter' | 'terminationGracePeriod';
  /** Behavior of the operator without a value of this field. */
  readonly consequence: string;
}

export interface UnreadableFields {
  report(claim: NodeClaim, field: UnreadableField, log: Logger): void;
  /** Removes the entry. Must be called once the NodeClaim is gone. */
  forget(name: string): void;
}

export function unreadableFields({ events }: Pick<Deps, 'events'>): UnreadableFields {
  /** UIDs by name. Contains at most one entry per NodeClaim. */
  const reported = new Map<string, string | undefined>();
  return {
    report(claim, { field, consequence }, log) {
      const { name, uid } = claim.metadata;
      if (reported.has(name) && reported.get(name) === uid) return;
      reported.set(name, uid);
      const message = UNREADABLE_FIELD.message(field, consequence, reasonOf(claim.spec[field]));
      log.error('unreadable field of nodeclaim', { NodeClaim: { name }, error: message });
      events.publish(eventOf(UNREADABLE_FIELD, claim, { message, dedupe: [uid ?? name, field] }));
    },
    forget: (name) => void reported.delete(name),
  };
}

function reasonOf(text: string | undefined): string {
  try {
    durationOrNever(text);
    return '';
  } catch (error) {
    return messageOf(error);
  }
}
