/** Instances of the account and their states: pending → running → (stopping → stopped) → shutting-down → terminated. */
import type {
  ConnectionTrackingConfiguration,
  InstanceStatusEvent,
  RequestLaunchTemplateData,
  StateReason,
} from '@aws-sdk/client-ec2';
import type { Clock } from '#lib/clock';
import type { CapacityType, InstanceListener, InstanceState, LocalInstance, LocalInstances, Tags } from '../types.ts';
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
  readonly ipv6Address?: string;
  readonly securityGroupIds: readonly string[];
  /** Idle timeouts of connections. Undefined if the launch does not set them. */
  readonly connectionTracking?: ConnectionTrackingConfiguration;
  tags: Tags;
}

type Changing = 'state' | 'boots' | 'tags' | 'publicIp' | 'capacityType' | 'capacityReservationId';

/** An instance with the fields of the local world and the fields that only the API returns. */
export interface Machine extends Omit<LocalInstance, Changing> {
  state: InstanceState;
  boots: number;
  tags: Tags;
  publicIp?: string;
  capacityType: CapacityType;
  capacityReservationId?: string;
  /** Identifies instances that were launched by one request. */
  readonly reservationId: string;
  readonly data: RequestLaunchTemplateData;
  readonly interfaces: readonly MachineInterface[];
  readonly spotRequestId: string | undefined;
  spotRequestTags: Tags;
  readonly template: StoredTemplate | undefined;
  readonly placementGroup: StoredPlacementGroup | undefined;
  reservation: StoredReservation | undefined;
  readonly tenancy: string;
  readonly clientToken: string;
  readonly rootDeviceName: string;
  readonly volumeTags: Map<string, Tags>;
  /** `spot`, `capacity-block`, `interruptible-capacity-reservation`. Undefined for on-demand. */
  lifecycle: string | undefined;
  /** Time from which read and tagging requests find this instance. */
  readonly visibleAt: number;
  /** Time from which read requests return its tags. */
  readonly taggedAt: number;
  runningAt: number | undefined;
  endedAt: number | undefined;
  stateReason: StateReason | undefined;
  /** Start times of failed status checks. */
  impairedSince: { instance?: number; system?: number };
  scheduledEvents: readonly InstanceStatusEvent[];
}

export interface Machines extends LocalInstances {
  all(): readonly Machine[];
  machine(id: string): Machine | undefined;
  /** Adds a new instance and starts it. */
  add(machine: Machine): void;
  stop(machine: Machine, reason: StateReason): void;
  terminate(machine: Machine, reason: StateReason): void;
  /** Restarts a running instance, which keeps its state. */
  reboot(machine: Machine): void;
  /** Runs a change of the account after this time, unless the account is closed before. */
  schedule(ms: number, fire: () => void): void;
  /** Cancels all timers. */
  close(): void;
}

export interface MachinesOptions {
  readonly clock: Clock;
  readonly startDelayMs: number;
  readonly stopDelayMs: number;
  readonly terminatedVisibleMs: number;
  /** Called before the listeners, so that addresses and reservations are already released for them. */
  readonly onState: (machine: Machine) => void;
}

/** Returns the tags that read requests return at a time. */
export const tagsAt = ({ taggedAt, tags }: Machine, nowMs: number): Tags => (taggedAt <= nowMs ? tags : NO_TAGS);

const NO_TAGS: Tags = {};

/** Returns true in states in which an instance uses capacity and quota and is charged. */
export const isAlive = ({ state }: { readonly state: InstanceState }): boolean =>
  state === 'pending' || state === 'running' || state === 'stopping';

export const createMachines = (options: MachinesOptions): Machines => new Fleet(options);

class Fleet implements Machines {
  readonly #options: MachinesOptions;
  readonly #machines = new Map<string, Machine>();
  readonly #listeners = new Set<InstanceListener>();
  readonly #timers = new Set<() => void>();

  constructor(options: MachinesOptions) {
    this.#options = options;
  }

  all(): readonly Machine[] {
    return [...this.#machines.values()];
  }

  list(): readonly Machine[] {
    return this.all();
  }

  machine(id: string): Machine | undefined {
    return this.#machines.get(id);
  }

  get(id: string): Machine | undefined {
    return this.#machines.get(id);
  }

  subscribe(listener: InstanceListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  add(machine: Machine): void {
    this.#machines.set(machine.id, machine);
    this.#announce(machine, undefined);
    this.schedule(this.#options.startDelayMs, () => {
      if (machine.state === 'pending') this.#enter(machine, 'running');
    });
  }

  stop(machine: Machine, reason: StateReason): void {
    if (machine.state !== 'pending' && machine.state !== 'running') return;
    machine.stateReason = reason;
    this.#enter(machine, 'stopping');
    this.schedule(this.#options.stopDelayMs, () => {
      if (machine.state === 'stopping') this.#enter(machine, 'stopped');
    });
  }

  terminate(machine: Machine, reason: StateReason): void {
    if (machine.state === 'shutting-down' || machine.state === 'terminated') return;
    machine.stateReason = reason;
    this.#enter(machine, 'shutting-down');
    this.schedule(this.#options.stopDelayMs, () => {
      this.#enter(machine, 'terminated');
      this.schedule(this.#options.terminatedVisibleMs, () => this.#machines.delete(machine.id));
    });
  }

  reboot(machine: Machine): void {
    machine.boots += 1;
    this.#announce(machine, machine.state);
  }

  close(): void {
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#listeners.clear();
  }

  schedule(ms: number, fire: () => void): void {
    const cancel = this.#options.clock.after(ms, () => {
      this.#timers.delete(cancel);
      fire();
    });
    this.#timers.add(cancel);
  }

  #enter(machine: Machine, state: InstanceState): void {
    const { clock } = this.#options;
    const previous = machine.state;
    machine.state = state;
    if (state === 'running') machine.runningAt ??= clock.now();
    if (state === 'shutting-down' || state === 'stopping') machine.endedAt ??= clock.now();
    this.#announce(machine, previous);
  }

  #announce(machine: Machine, previous: InstanceState | undefined): void {
    this.#options.onState(machine);
    for (const listener of [...this.#listeners]) listener(machine, previous);
  }
}
