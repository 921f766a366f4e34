/** Reads the zonal shifts of a cluster from Application Recovery Controller. */
import type { EKSClient } from '@aws-sdk/client-eks';
import { tryRun } from '#lib';
import { amount, list, problemOf, structure, text } from '../answers/checks.ts';
import { UnusableAnswer } from '../answers/unusable.ts';
import { signedRequest } from '../signed.ts';

export interface Shift {
  /** Zone id, such as `use1-az1`. */
  readonly awayFrom: string;
  readonly expiresMs: number;
  /** False for a canceled or replaced shift. */
  readonly applied: boolean;
}

export interface ShiftSource {
  /** @throws Error when the request fails, or the resource is not registered with it */
  shifts(resourceArn: string): Promise<readonly Shift[]>;
}

interface ManagedShift {
  readonly awayFrom: string;
  /** Seconds since the epoch. */
  readonly expiryTime: number;
  readonly appliedStatus: string;
}

interface ManagedResource {
  readonly zonalShifts: readonly ManagedShift[];
}

const CALL = { service: 'ARC', operation: 'GetManagedResource' };
/** A shift with an invalid field may be active, so the whole response is rejected. */
const managedResource = structure<ManagedResource>({
  zonalShifts: list(structure<ManagedShift>({ awayFrom: text, expiryTime: amount(), appliedStatus: text })),
});

/** @throws UnusableAnswer */
function read(json: string): ManagedResource {
  const answer = tryRun((): unknown => JSON.parse(json));
  if (answer === undefined) throw new UnusableAnswer(CALL, 'it is not a JSON object');
  const problem = problemOf(managedResource, answer);
  if (problem !== undefined) throw new UnusableAnswer(CALL, problem);
  return answer as ManagedResource;
}

export const shiftSource = (eks: EKSClient, region: string): ShiftSource => ({
  async shifts(resourceArn) {
    const path = `/managedresources/${encodeURIComponent(resourceArn)}`;
    const { zonalShifts } = read(await signedRequest(eks, { service: 'arc-zonal-shift', region, path }));
    return zonalShifts.map(({ awayFrom, expiryTime, appliedStatus }) => ({
      awayFrom,
      expiresMs: expiryTime * 1000,
      applied: appliedStatus === 'APPLIED',
    }));
  },
});
