/** Costs of instances: per second from `running` until they stop, at least for a minute, at the launch price. */
import type { Clock } from '../../lib/clock.ts';
import { isAlive, type Machine, type Machines } from './state/machines.ts';
import type { Spending } from './types.ts';

const HOUR_MS = 3_600_000;
const MINIMUM_MS = 60_000;

export function spending(machines: Machines, clock: Clock): Spending {
  const running = new Map<string, Machine>();
  // Instances are removed from the account after a while, but their costs are kept.
  const bills = new Map<string, number>();
  let billedUsd = 0;
  const bill = (machine: Machine): number => {
    if (machine.runningAt === undefined) return 0;
    const until = machine.endedAt ?? clock.now();
    return (Math.max(MINIMUM_MS, until - machine.runningAt) / HOUR_MS) * machine.usdPerHour;
  };
  machines.subscribe((instance) => {
    const machine = machines.machine(instance.id);
    if (!machine || bills.has(machine.id)) return;
    // The cost of a stopped or terminated instance does not increase.
    if (machine.endedAt === undefined) {
      running.set(machine.id, machine);
      return;
    }
    const usd = bill(machine);
    running.delete(machine.id);
    bills.set(machine.id, usd);
    billedUsd += usd;
  });
  return {
    usd(instanceId) {
      if (instanceId === undefined)
        return [...running.values()].reduce((sum, machine) => sum + bill(machine), billedUsd);
      const machine = running.get(instanceId);
      return machine ? bill(machine) : (bills.get(instanceId) ?? 0);
    },
    usdPerHour: () =>
      machines
        .all()
        .filter(isAlive)
        .reduce((sum, machine) => sum + machine.usdPerHour, 0),
  };
}
