/** Checks scheduled capacity reservations, and open reservations that are paid but not used. */

import type { EC2NodeClass, NodePool } from '#api/objects';
import type { Finding } from '#cloud';
import { silent } from '#observe/logger';
import { allows, scheduledText } from '../reservations/calendar.ts';
import { describeOpen, idleReservations, idleText, selectedIds } from '../reservations/idle.ts';
import { Reservations } from '../reservations/reservations.ts';
import type { FoundController } from './cluster.ts';
import { fine, warning } from './finding.ts';
import type { NodeClassChecks } from './nodeclasses.ts';
import type { Coming, Survey } from './nodepools.ts';

interface ReservationChecks {
  readonly pools: readonly NodePool[];
  /** NodeClasses by name. */
  readonly nodeClasses: ReadonlyMap<string, EC2NodeClass>;
  readonly survey: Survey;
  /** Installed controller of this product. */
  readonly controller: FoundController | undefined;
  readonly context: Pick<NodeClassChecks, 'clients' | 'clock'>;
}

/** Returns no findings if the feature gate is disabled, because launches then use open reservations. */
export async function checkReservations(checks: ReservationChecks): Promise<readonly Finding[]> {
  const { controller, context, nodeClasses } = checks;
  if (/ReservedCapacity=false/i.test(controller?.setting('FEATURE_GATES') ?? '')) return [];
  const reservations = new Reservations(context.clients.ec2, context.clock, silent);
  const selecting = [...nodeClasses.values()].filter(({ spec }) => spec.capacityReservationSelectorTerms !== undefined);
  const selected: EC2NodeClass[] = [];
  const scheduled: Finding[] = [];
  for (const nodeClass of selecting) {
    const capacityReservations = [...(await reservations.list(nodeClass))];
    selected.push({ ...nodeClass, status: { ...nodeClass.status, capacityReservations } });
    for (const reservation of await reservations.scheduled(nodeClass))
      scheduled.push(
        fine(`EC2NodeClass ${nodeClass.metadata.name}`, `selects ${scheduledText(reservation, context.clock.now())}`),
      );
  }
  return [...scheduled, ...(await idle(checks, selectedIds(selected)))];
}

async function idle(
  { pools, nodeClasses, survey, context }: ReservationChecks,
  selected: ReadonlySet<string>,
): Promise<readonly Finding[]> {
  const open = (await describeOpen(context.clients.ec2)).filter(
    ({ CapacityReservationId: id = '' }) => !selected.has(id),
  );
  if (open.length === 0) return [];
  const known: { nodePool: NodePool; types: Awaited<ReturnType<typeof typesOf>> }[] = [];
  for (const nodePool of pools) {
    const nodeClass = nodeClasses.get(nodePool.spec.template.spec.nodeClassRef.name);
    if (nodeClass?.status !== undefined) known.push({ nodePool, types: await typesOf(nodeClass, survey) });
  }
  return idleReservations(open, selected, known).map((reservation) =>
    warning(
      `capacity reservation ${reservation.id}`,
      `${idleText(reservation)}, although NodePool ${reservation.nodePools.join(', ')} could use them: no EC2NodeClass selects it`,
      `select it in spec.capacityReservationSelectorTerms of EC2NodeClass ${reservation.nodeClass}, or cancel it`,
    ),
  );
}

const typesOf = async (nodeClass: EC2NodeClass, survey: Survey) =>
  (await survey(nodeClass)).map(({ type, entries }) => ({ ...type, offerings: entries.map((each) => each.offering) }));

export function comingOf({ clients, clock }: ReservationChecks['context']): Coming {
  const reservations = new Reservations(clients.ec2, clock, silent);
  return async (nodePool, nodeClass) => {
    const [first] = (await reservations.scheduled(nodeClass)).filter((each) => allows(nodePool, nodeClass, each));
    return first && scheduledText(first, clock.now());
  };
}
