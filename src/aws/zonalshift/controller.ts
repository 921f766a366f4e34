/** Reads the zonal shifts of the cluster at the start, then polls them and publishes events on the affected NodePools. */

import { EC2_NODE_CLASS, type EC2NodeClass, NODE_POOL, type NodePool, ZONE_ID_LABEL, ZONE_LABEL } from '#api/objects';
import type { Informers } from '#kube/client';
import { after, type EventNote, type EventRecorder, type Singleton } from '#kube/reconcilers';
import { messageOf } from '#lib';
import { eventOf, ZONAL_SHIFT_ACTIVE, ZONAL_SHIFT_CLEARED } from '#observe/events';
import type { Clients } from '../clients.ts';
import { clusterArn } from '../cluster.ts';
import { poolRequirements } from '../nodepools.ts';
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

const PERIOD_MS = 30_000;

/** The name of a zone, when the NodeClass has subnets in it. */
const zoneName = ({ status }: EC2NodeClass, zoneId: string): string | undefined =>
  (status?.subnets ?? []).find((subnet) => subnet.zoneID === zoneId)?.zone;

function eventFor(nodePool: NodePool, zone: string, zoneId: string, shifted: boolean): EventNote {
  const event = shifted ? ZONAL_SHIFT_ACTIVE : ZONAL_SHIFT_CLEARED;
  const dedupe = [nodePool.metadata.uid ?? nodePool.metadata.name, zoneId];
  return eventOf(event, nodePool, { message: event.message(zone, zoneId), dedupe });
}

export function zonalShiftController(shifts: ZonalShifts, informers: Informers, events: EventRecorder): Singleton {
  let reported: readonly string[] = [];

  function report(zoneId: string, shifted: boolean): void {
    for (const nodePool of informers.store(NODE_POOL).list()) {
      const { name } = nodePool.spec.template.spec.nodeClassRef;
      const nodeClass = informers.store(EC2_NODE_CLASS).get({ name });
      const zone = nodeClass === undefined ? undefined : zoneName(nodeClass, zoneId);
      const requirements = poolRequirements(nodePool);
      if (zone !== undefined && requirements.get(ZONE_LABEL).has(zone) && requirements.get(ZONE_ID_LABEL).has(zoneId))
        events.publish(eventFor(nodePool, zone, zoneId, shifted));
    }
  }

  return {
    name: 'zonalshift',
    singleton: true,
    backOff: { baseMs: 1000, maxMs: PERIOD_MS },
    async reconcile({ log }) {
      await shifts.poll();
      const active = shifts.active();
      const begun = active.filter((zoneId) => !reported.includes(zoneId));
      const ended = reported.filter((zoneId) => !active.includes(zoneId));
      for (const zoneId of begun) report(zoneId, true);
      for (const zoneId of ended) report(zoneId, false);
      if (begun.length + ended.length > 0) log.info('zonal shifts changed', { 'zone-ids': active });
      reported = active;
      return after(PERIOD_MS);
    },
  };
}
