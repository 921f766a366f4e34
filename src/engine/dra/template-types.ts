/** Devices of nodes that do not exist yet, as sources describe them for the instance types of a NodePool. */
import type { CounterSet, Device } from '#api/objects';

/** Pool of one driver on each new node. */
export interface PoolTemplate {
  readonly driver: string;
  readonly pool: string;
  readonly devices: readonly Device[];
  readonly sharedCounters?: readonly CounterSet[];
}

export interface TemplateDeviceRef {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
}

/** Attribute whose values exist only on a running node. */
export type RuntimeAttribute =
  /** Each device of the driver has a value of its own. */
  | { readonly attribute: string; readonly driver: string; readonly unique: true }
  /** The devices of each group share a value. With `disjoint`, no two groups do. */
  | {
      readonly attribute: string;
      readonly same: readonly (readonly TemplateDeviceRef[])[];
      readonly disjoint?: boolean;
    };

/** Devices of each new node of an instance type. Immutable. */
export interface DeviceTemplates {
  /** Includes the pools of suspended drivers. */
  readonly pools: readonly PoolTemplate[];
  readonly runtime?: readonly RuntimeAttribute[];
  /** Drivers that did not publish the expected devices on a node. Their devices are not offered for some time. */
  readonly suspended?: readonly SuspendedDriver[];
}

export interface SuspendedDriver {
  readonly driver: string;
  /** Time in RFC 3339. */
  readonly until: string;
  readonly reason: string;
}
