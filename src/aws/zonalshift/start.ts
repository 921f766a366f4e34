/** Reads the zonal shifts of the cluster at the start. */
import { messageOf } from '../../lib/error-message.ts';
import type { Clients } from '../clients.ts';
import { clusterArn } from '../cluster.ts';
import type { AwsOptions } from '../options.ts';
import { shiftSource } from './client.ts';
import { ZonalShifts } from './zonalshift.ts';

/** @throws Error if the cluster is not registered for zonal shift, because the setting would have no effect */
export async function zonalShifts(
  { settings, clock }: AwsOptions,
  { eks, region, shifts: source }: Clients,
): Promise<ZonalShifts> {
  const { clusterName } = settings;
  try {
    const shifts = new ZonalShifts(source ?? shiftSource(eks, region), await clusterArn(eks, clusterName), clock);
    await shifts.poll();
    return shifts;
  } catch (error) {
    throw new Error(
      `--enable-zonal-shift is set, but zonal shifts of cluster "${clusterName}" cannot be read, ${messageOf(error)}`,
      { cause: error },
    );
  }
}
