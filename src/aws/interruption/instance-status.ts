/** Handles instances that fail EC2's status checks or have scheduled events. */
import {
  type EC2Client,
  type InstanceStatus,
  type InstanceStatusSummary,
  paginateDescribeInstanceStatus,
} from '@aws-sdk/client-ec2';
import { NODE, NODE_CLAIM } from '#api/objects';
import { after, type Singleton } from '#kube/reconcilers';
import { withBoundedConcurrency } from '#lib';
import type { Logger } from '#observe/logger';
import { isDenied } from '../errors.ts';
import { instanceIdOfClaim, instanceIdOfNode } from '../instances/instance.ts';
import { pagesOf } from '../pages.ts';
import { type ActOptions, act } from './act.ts';
import { EndedEvents, hasOpenEvent, plannedStartMs, startOfEvents } from './scheduled-events.ts';

const PERIOD_MS = 60_000;
/** Number of instances that are handled concurrently. */
const AT_ONCE = 10;
/** Minimum duration of a failure, because shorter failures may resolve themselves. */
const IMPAIRED_MS = 120_000;
const SCHEDULED_EVENTS = [
  'instance-reboot',
  'system-reboot',
  'system-maintenance',
  'instance-retirement',
  'instance-stop',
];

const QUERIES = [
  { Name: 'instance-status.status', Values: ['impaired'] },
  { Name: 'system-status.status', Values: ['impaired'] },
  { Name: 'event.code', Values: SCHEDULED_EVENTS },
];

const CATEGORIES = {
  InstanceStatus: 'instance_status',
  SystemStatus: 'system_status',
  EventStatus: 'event_status',
} as const;
type Category = keyof typeof CATEGORIES;

const isImpaired = (summary: InstanceStatusSummary | undefined, nowMs: number): boolean =>
  (summary?.Details ?? []).some(
    ({ Status, ImpairedSince }) =>
      Status === 'failed' && ImpairedSince !== undefined && nowMs - ImpairedSince.getTime() >= IMPAIRED_MS,
  );

/** Returns the categories of an instance's problems. */
function categoriesOf(status: InstanceStatus, nowMs: number, plansEvents: boolean): readonly Category[] {
  const found: Category[] = [];
  if (isImpaired(status.InstanceStatus, nowMs)) found.push('InstanceStatus');
  if (isImpaired(status.SystemStatus, nowMs)) found.push('SystemStatus');
  // Karpenter also counts events that have ended
  const hasEvent = plansEvents ? hasOpenEvent(status.Events) : (status.Events ?? []).length > 0;
  if (hasEvent) found.push('EventStatus');
  return found;
}

interface InstanceStatusOptions extends ActOptions {
  readonly ec2: EC2Client;
}

/**
 * Handles events that only the annotations of nodes have. They have ended. Without the permission to read events, their start
 * may be near.
 */
async function followPlans(
  statuses: ReadonlyMap<string, InstanceStatus> | undefined,
  ended: EndedEvents,
  options: ActOptions,
  log: Logger,
): Promise<void> {
  const planned = options.informers
    .store(NODE)
    .list()
    .filter((node) => {
      const events = statuses?.get(instanceIdOfNode(node) ?? '')?.Events;
      return plannedStartMs(node) !== undefined && !hasOpenEvent(events);
    });
  if (statuses !== undefined) return ended.remove(planned, options, log);
  await withBoundedConcurrency(planned, AT_ONCE, (node) =>
    act('event_status', [instanceIdOfNode(node) ?? ''], options, log, plannedStartMs(node)),
  );
}

export function instanceStatus(options: InstanceStatusOptions): Singleton {
  const { ec2, informers, clock, metrics } = options;
  const reported = new Set<string>();

  async function describe(): Promise<ReadonlyMap<string, InstanceStatus>> {
    const found = new Map<string, InstanceStatus>();
    for (const filter of QUERIES)
      for await (const page of pagesOf(
        'DescribeInstanceStatus',
        paginateDescribeInstanceStatus({ client: ec2 }, { Filters: [filter], MaxResults: 1000 }),
      ))
        for (const status of page.InstanceStatuses ?? [])
          if (!found.has(status.InstanceId ?? '')) found.set(status.InstanceId ?? '', status);
    return found;
  }

  /** Counts each instance of the cluster once per category, until it is no longer reported. */
  function report(found: ReadonlyMap<string, readonly Category[]>, log: Logger): void {
    const ours = new Set(informers.store(NODE_CLAIM).list().map(instanceIdOfClaim));
    const seen = new Set<string>();
    for (const [instanceID, categories] of found) {
      for (const category of categories) {
        const key = `${instanceID}/${category}`;
        seen.add(key);
        if (!ours.has(instanceID) || reported.has(key)) continue;
        log.info('detected unhealthy instance owned by cluster', { instanceID, category });
        metrics.unhealthyInstances.inc({ category });
        reported.add(key);
      }
    }
    for (const key of reported) if (!seen.has(key)) reported.delete(key);
  }

  const ended = new EndedEvents();
  let isRefused = false;

  /** Returns undefined without the permission. */
  async function read(log: Logger): Promise<ReadonlyMap<string, InstanceStatus> | undefined> {
    if (isRefused) return undefined;
    try {
      return await describe();
    } catch (error) {
      if (!isDenied(error)) throw error;
      log.error('not authorized to call ec2:DescribeInstanceStatus, instance status checks are off', { error });
      isRefused = true;
      return undefined;
    }
  }

  return {
    name: 'interruption.instancestatus',
    singleton: true,
    backOff: { baseMs: 1000, maxMs: PERIOD_MS },
    async reconcile({ log }) {
      const statuses = await read(log);
      const found = new Map(
        [...(statuses ?? [])].map(([id, status]) => [id, categoriesOf(status, clock.now(), options.plansEvents)]),
      );
      report(found, log);
      await withBoundedConcurrency([...found], AT_ONCE, ([instanceID, categories]) =>
        withBoundedConcurrency(categories, 1, (category) =>
          act(CATEGORIES[category], [instanceID], options, log, startOfEvents(statuses?.get(instanceID)?.Events)),
        ),
      );
      if (options.plansEvents) await followPlans(statuses, ended, options, log);
      return after(PERIOD_MS);
    },
  };
}
