/** Loops with urgent work after an outage of AWS or the API server. Failures must not extend their waits. */
import { describe, expect, it } from '@jest/globals';
import type { KubeClient } from '#kube/client';
import type { Timepiece } from '#lib/clock';
import { silent } from '#observe/logger';
import type { Instances } from '../../../src/aws/instances/instances.ts';
import { reservationExpiration, reservedCapacityType } from '../../../src/aws/reservations/capacitytype.ts';
import { zonalShiftController } from '../../../src/aws/zonalshift/controller.ts';
import type { ZonalShifts } from '../../../src/aws/zonalshift/zonalshift.ts';
import { handFed } from '../kube/fakes.ts';

const { informers } = handFed();
const clock = { now: () => 0 } as Timepiece;
const nobody = {} as unknown as KubeClient;
const shifts = { poll: async () => undefined, active: () => [] } as unknown as ZonalShifts;

describe('a loop after many failures', () => {
  it.each([
    zonalShiftController(shifts, informers, { publish: () => undefined }),
    reservationExpiration(nobody, informers, clock),
    reservedCapacityType(nobody, informers, {} as unknown as Instances),
  ])('is $name: it runs again after its period at the latest', async ({ reconcile, backOff }) => {
    const outcome = await reconcile({ log: silent, signal: new AbortController().signal });
    expect(outcome).toEqual({ kind: 'after', waitMs: backOff?.maxMs });
  });
});
