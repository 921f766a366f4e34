/** Explains the state of a ProvisioningRequest. */
import { getCondition, type ProvisioningRequest } from '#api/objects';
import { timestamp } from '#lib';
import type { BufferOutcome } from './capacity-buffers.ts';
import {
  ENDS,
  isHandled,
  nextDueMs,
  outcomeCondition,
  phaseOf,
  type RequestPhase,
  requestKey,
} from './provisioning-requests.ts';

export interface RequestExplanation {
  /** `namespace/name` */
  readonly request: string;
  readonly class: string;
  /** `ignored`: the request is for another product. */
  readonly phase: RequestPhase | 'ignored';
  readonly pods: number;
  readonly text: string;
  /** Room of the pods now. Absent if no capacity is searched for or held. */
  readonly room?: {
    readonly existing: number;
    readonly joining: number;
    readonly new: number;
    readonly refused: number;
  };
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly text: string }[];
  /** Time of the next change without an event: the end of the search or booking, or the deletion. */
  readonly next?: string;
  readonly unknown?: readonly string[];
}

/**
 * @param outcome places of the pods in a solve of the current cluster
 * @param problem reason why the pods cannot be created
 */
export function explainRequest(
  request: ProvisioningRequest,
  outcome: BufferOutcome | undefined,
  { nowMs, problem }: { readonly nowMs: number; readonly problem: string | undefined },
): RequestExplanation {
  const phase = isHandled(request) ? phaseOf(request) : 'ignored';
  const { provisioningClassName, podSets } = request.spec;
  const room = outcome && {
    existing: outcome.existing,
    joining: outcome.joining,
    new: outcome.bought,
    refused: outcome.failed,
  };
  return {
    request: requestKey(request),
    class: provisioningClassName,
    phase,
    pods: podSets.reduce((sum, { count }) => sum + count, 0),
    text: problem ?? textOf(request, phase, outcome, nowMs),
    ...(room && { room }),
    conditions: (request.status?.conditions ?? []).map(({ type, status, reason, message, lastTransitionTime }) => ({
      type,
      status,
      text: `${reason} since ${lastTransitionTime ?? 'an unknown time'}${message ? `: ${message}` : ''}`,
    })),
    ...(phase !== 'ignored' && { next: timestamp(nextDueMs(request)) }),
  };
}

function textOf(
  request: ProvisioningRequest,
  phase: RequestExplanation['phase'],
  outcome: BufferOutcome | undefined,
  nowMs: number,
): string {
  switch (phase) {
    case 'ignored':
      return `the class ${request.spec.provisioningClassName} with these parameters is left to other products`;
    case 'booked': {
      const lost = outcome?.failed ?? 0;
      return lost === 0 ? 'the capacity is held' : `the capacity is held, but ${lost} pods have lost their room`;
    }
    case 'ended': {
      const ended = ENDS.map((type) => getCondition(request, type)).find((found) => found?.status === 'True');
      return ended?.message ?? '';
    }
    case 'open':
      return openText(request, outcome, nowMs);
  }
}

function openText(request: ProvisioningRequest, outcome: BufferOutcome | undefined, nowMs: number): string {
  if (outcome === undefined) return 'the pods were not tried';
  const { existing, joining, bought, failed } = outcome;
  if (failed === 0 && bought > 0)
    return `nodes are launched for ${bought} pods; ${existing + joining} pods have room on existing or joining nodes`;
  return (
    outcomeCondition(request, outcome, { nowMs, nextAttempt: undefined })?.message ?? 'the pods were not all tried'
  );
}
