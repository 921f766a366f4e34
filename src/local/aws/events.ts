/** EventBridge events, forwarded to the interruption queue according to the five rules of a cluster. */
import type { Clock } from '#lib/clock';
import type { RandomStream } from './random.ts';
import type { InstanceState } from './types.ts';

export interface EventBus {
  spotInterruption(instanceId: string): void;
  rebalance(instanceId: string): void;
  stateChange(instanceId: string, state: InstanceState): void;
  scheduledChange(instanceId: string, startMs: number): void;
}

export interface EventBusOptions {
  readonly clock: Clock;
  readonly random: RandomStream;
  readonly region: string;
  readonly accountId: string;
  /** True if state changes are also forwarded. */
  readonly stateChanges: boolean;
  readonly deliver: (body: string) => void;
}

export function eventBus({ clock, random, region, accountId, stateChanges, deliver }: EventBusOptions): EventBus {
  const emit = (source: string, detailType: string, resources: readonly string[], detail: object): void =>
    deliver(
      JSON.stringify({
        version: '0',
        id: random.uuid(),
        'detail-type': detailType,
        source,
        account: accountId,
        time: new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z'),
        region,
        resources,
        detail,
      }),
    );
  const arn = (instanceId: string): string => `arn:aws:ec2:${region}:${accountId}:instance/${instanceId}`;

  return {
    spotInterruption: (id) =>
      emit('aws.ec2', 'EC2 Spot Instance Interruption Warning', [arn(id)], {
        'instance-id': id,
        'instance-action': 'terminate',
      }),
    rebalance: (id) => emit('aws.ec2', 'EC2 Instance Rebalance Recommendation', [arn(id)], { 'instance-id': id }),
    stateChange: (id, state) => {
      if (!stateChanges) return;
      emit('aws.ec2', 'EC2 Instance State-change Notification', [arn(id)], { 'instance-id': id, state });
    },
    scheduledChange: (id, startMs) =>
      emit('aws.health', 'AWS Health Event', [id], {
        eventArn: `arn:aws:health:${region}::event/EC2/AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED/${random.uuid()}`,
        service: 'EC2',
        eventTypeCode: 'AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED',
        eventTypeCategory: 'scheduledChange',
        startTime: new Date(startMs).toUTCString(),
        eventDescription: [{ language: 'en_US', latestDescription: 'Your instance is scheduled for maintenance.' }],
        affectedEntities: [{ entityValue: id, tags: {} }],
      }),
  };
}
