/** Asks Application Recovery Controller which zones a cluster has been shifted away from. */
import type { EKSClient } from '@aws-sdk/client-eks';
import { signedRequest } from '../signed.ts';

export interface Shift {
  /** Zone id, such as `use1-az1`. */
  readonly awayFrom: string;
  readonly expiresMs: number;
  /** False for one that has been cancelled or has been replaced. */
  readonly applied: boolean;
}

export interface ShiftSource {
  /** @throws Error when the service cannot be asked, or the resource is not registered with it */
  shifts(resourceArn: string): Promise<readonly Shift[]>;
}

interface ManagedResource {
  readonly zonalShifts?: readonly {
    readonly awayFrom?: string;
    /** Seconds since the epoch. */
    readonly expiryTime?: number;
    readonly appliedStatus?: string;
  }[];
}

export const shiftSource = (eks: EKSClient, region: string): ShiftSource => ({
  async shifts(resourceArn) {
    const path = `/managedresources/${encodeURIComponent(resourceArn)}`;
    const text = await signedRequest(eks, { service: 'arc-zonal-shift', region, path });
    const { zonalShifts = [] } = JSON.parse(text) as ManagedResource;
    return zonalShifts.map(({ awayFrom = '', expiryTime = 0, appliedStatus }) => ({
      awayFrom,
      expiresMs: expiryTime * 1000,
      applied: appliedStatus === 'APPLIED',
    }));
  },
});
