/** The machines of the account and their life: pending → running → (stopping → stopped) → shutting-down → terminated. */
import type { InstanceStatusEvent, RequestLaunchTemplateData, StateReason } from '@aws-sdk/client-ec2';
import type { Clock } from '../../../kube/clock.ts';
import type { InstanceListener, InstanceState, LocalInstance, LocalInstances, Tags } from '../types.ts';
import type { StoredPlacementGroup, StoredReservation, StoredTemplate } from './stored.ts';

export interface MachineInterface {
  readonly id: string;
  readonly attachmentId: string;
  readonly deviceIndex: number;
  readonly cardIndex: number;
  /** `interface`, `efa` or `efa-only`. */
  readonly type: string;
  /** Empty for `efa-only`, which has no address. */
  readonly privateIp: string;
  readonly securityGroupIds: readonly string[];
  tags: Tags;
}

type Changing = 'state' | 'tags' | 'publicIp';

/** A machine as EC2 knows it: what the world sees, and what only the API shows. */
export interface Machine extends Omit<LocalInstance, Changing> {
  state: InstanceState;
  tags: Tags;
  publicIp?: string;
  /** Groups machines that were launched by one request. */
  readonly reservationId: string;
  readonly data: RequestLaunchTemplateData;
  readonly interfaces: readonly MachineInterface[];
  readonly spotRequestId: string | undefined;
  readonly template: StoredTemplate | undefined;
  readonly placementGroup: StoredPlacementGroup | undefined;
  readonly reservation: StoredReservation | undefined;
  readonly tenancy: string;
  readonly clientToken: string;
  readonly rootDeviceName: string;
  readonly volumeTags: Map<string, Tags>;
  /** `spot`, `capacity-block`, `interruptible-capacity-reservation`; undefined for on-demand. */
  readonly lifecycle: string | undefined;
  /** Before then the machine is unknown to reads and to tagging. */
  readonly visibleAt: number;
  /** Before then reads show no tags of it. */
  readonly taggedAt: number;
  runningAt: number | undefined;
  endedAt: number | undefined;
  stateReason: StateReason | undefined;
  /** Since when a status check fails. */
  impairedSince: { instance?: number; system?: number };
  scheduledEvents: readonly InstanceStatusEvent[];
}

export interface Machines extends LocalInstances {
  all(): readonly Machine[];
  machine(id: string): Machine | undefined;
  /** Takes a new machine in and starts it. */
  add(machine: Machine): void;
  stop(machine: Machine, reason: StateReason): void;
  terminate(machine: Machine, reason: StateReason): void;
  /** Ends all timers. */
  close(): void;
}

export interface MachinesOptions {
  readonly clock: Clock;
  readonly startDelayMs: number;
  readonly stopDelayMs: number;
  readonly terminatedVisibleMs: number;
  /** Called before the listeners, so that they find addresses and reservations already given back. */
  readonly onState: (machine: Machine) => void;
}

/** The tags that reads show at a time. */
export const tagsAt = ({ taggedAt, tags }: Machine, nowMs: number): Tags => (taggedAt <= nowMs ? tags : {});

/** States in which a machine holds capacity, quota and money. */
export const isAlive = ({ state }: { readonly state: InstanceState }): boolean =>
  state === 'pending' || state === 'running' || state === 'stopping';

export function createMachines({
  clock,
  startDelayMs,
  stopDelayMs,
  terminatedVisibleMs,
  onState,
}: MachinesOptions): Machines {
  const machines = new Map<string, Machine>();
  const listeners = new Set<InstanceListener>();
  const timers = new Set<() => void>();

  const after = (ms: number, fire: () => void): void => {
    const cancel = clock.after(ms, () => {
      timers.delete(cancel);
      fire();
    });
    timers.add(cancel);
  };
  const enter = (machine: Machine, state: InstanceState): void => {
    const previous = machine.state;
    machine.state = state;
    if (state === 'running') machine.runningAt ??= clock.now();
    if (state === 'shutting-down' || state === 'stopping') machine.endedAt ??= clock.now();
    announce(machine, previous);
  };
  const announce = (machine: Machine, previous: InstanceState | undefined): void => {
    onState(machine);
    for (const listener of [...listeners]) listener(machine, previous);
  };

  return {
    all: () => [...machines.values()],
    list: () => [...machines.values()],
    machine: (id) => machines.get(id),
    get: (id) => machines.get(id),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    add(machine) {
      machines.set(machine.id, machine);
      announce(machine, undefined);
      after(startDelayMs, () => {
        if (machine.state === 'pending') enter(machine, 'running');
      });
    },
    stop(machine, reason) {
      if (machine.state !== 'pending' && machine.state !== 'running') return;
      machine.stateReason = reason;
      enter(machine, 'stopping');
      after(stopDelayMs, () => {
        if (machine.state === 'stopping') enter(machine, 'stopped');
      });
    },
    terminate(machine, reason) {
      if (machine.state === 'shutting-down' || machine.state === 'terminated') return;
      machine.stateReason = reason;
      enter(machine, 'shutting-down');
      after(stopDelayMs, () => {
        enter(machine, 'terminated');
        after(terminatedVisibleMs, () => machines.delete(machine.id));
      });
    },
    close() {
      for (const cancel of timers) cancel();
      timers.clear();
      listeners.clear();
    },
  };
}
