/** What the machines cost: by the second from `running` until they stop, a minute at least, at the price of their launch. */
import type { Clock } from '../../kube/clock.ts';
import { isAlive, type Machine, type Machines } from './state/machines.ts';
import type { Spending } from './types.ts';

const HOUR_MS = 3_600_000;
const MINIMUM_MS = 60_000;

export function spending(machines: Machines, clock: Clock): Spending {
  // machines fade from the account after a while, their bills do not
  const seen = new Map<string, Machine>();
  machines.subscribe((instance) => {
    const machine = machines.machine(instance.id);
    if (machine) seen.set(machine.id, machine);
  });
  const bill = (machine: Machine): number => {
    if (machine.runningAt === undefined) return 0;
    const until = machine.endedAt ?? clock.now();
    return (Math.max(MINIMUM_MS, until - machine.runningAt) / HOUR_MS) * machine.usdPerHour;
  };
  return {
    usd(instanceId) {
      if (instanceId === undefined) return [...seen.values()].reduce((sum, machine) => sum + bill(machine), 0);
      const machine = seen.get(instanceId);
      return machine ? bill(machine) : 0;
    },
    usdPerHour: () =>
      machines
        .all()
        .filter(isAlive)
        .reduce((sum, machine) => sum + machine.usdPerHour, 0),
  };
}
