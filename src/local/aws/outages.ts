/** External events of single instances: interruptions, maintenance, failed status checks and manual actions. */
import type { InstanceStatusEvent, StateReason } from '@aws-sdk/client-ec2';
import type { FaultBook } from './faults.ts';
import type { Account } from './state/account.ts';
import type { Machine } from './state/machines.ts';
import type { Faults } from './types.ts';

/** Time between EC2's warning and the interruption of a spot instance. */
const SPOT_WARNING_MS = 120_000;
/** Time between the announcement and the start of maintenance. */
const MAINTENANCE_AHEAD_MS = 24 * 3_600_000;

const TAKEN_BACK: StateReason = {
  Code: 'Server.SpotInstanceTermination',
  Message: 'Server.SpotInstanceTermination: Spot instance termination',
};
const BY_HAND: StateReason = {
  Code: 'Client.UserInitiatedShutdown',
  Message: 'Client.UserInitiatedShutdown: User initiated shutdown',
};

type Outages = Omit<Faults, keyof Pick<FaultBook, 'add' | 'clear' | 'list'>>;

/** @param timers collects functions that cancel future events */
export function outages(account: Account, timers: Set<() => void>): Outages {
  const { machines, events, clock, random } = account;
  const find = (action: string, id: string): Machine => {
    const machine = machines.machine(id);
    if (!machine) throw new RangeError(`Cannot ${action} ${id}: the instance does not exist`);
    if (machine.state === 'shutting-down' || machine.state === 'terminated') {
      throw new RangeError(`Cannot ${action} ${id}: the instance is ${machine.state}`);
    }
    return machine;
  };

  return {
    interrupt(id) {
      const machine = find('interrupt', id);
      if (machine.capacityType !== 'spot') {
        throw new RangeError(
          `Cannot interrupt ${id}: it is an ${machine.capacityType} instance, and only spot instances can be interrupted`,
        );
      }
      events.spotInterruption(id);
      const cancel = clock.after(SPOT_WARNING_MS, () => {
        timers.delete(cancel);
        machines.terminate(machine, TAKEN_BACK);
      });
      timers.add(cancel);
    },
    recommendRebalance(id) {
      find('recommend to rebalance', id);
      events.rebalance(id);
    },
    scheduleChange(id, code = 'system-maintenance') {
      const machine = find('schedule a change of', id);
      const start = clock.now() + MAINTENANCE_AHEAD_MS;
      const event: InstanceStatusEvent = {
        InstanceEventId: random.id('instance-event'),
        Code: code as NonNullable<InstanceStatusEvent['Code']>,
        Description: 'The instance is scheduled for maintenance',
        NotBefore: new Date(start),
        NotAfter: new Date(start + 2 * 3_600_000),
      };
      machine.scheduledEvents = [...machine.scheduledEvents, event];
      events.scheduledChange(id, start);
    },
    stop: (id) => machines.stop(find('stop', id), BY_HAND),
    terminate: (id) => machines.terminate(find('terminate', id), BY_HAND),
    impair(id, check = 'instance') {
      const machine = find('impair', id);
      machine.impairedSince = { ...machine.impairedSince, [check]: clock.now() };
    },
    recover(id) {
      const machine = find('recover', id);
      machine.impairedSince = {};
      machine.scheduledEvents = [];
    },
  };
}
