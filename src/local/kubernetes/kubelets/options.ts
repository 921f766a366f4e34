/** Durations of node lifecycle steps, in milliseconds of the cluster's clock. */
export interface KubeletOptions {
  /** From the running instance to its Node object. Default 25 s. */
  readonly bootMs: number;
  /** Relative random variation of each boot time. Default 0.2. */
  readonly bootJitter: number;
  /** From the Node object to its Ready condition. Default 5 s. */
  readonly readyMs: number;
  /** Minimum and maximum time from a pod's binding to its Ready condition. Default 1 s to 2 s. */
  readonly podStartMs: readonly [number, number];
  /** Time that a container needs to stop, limited by its grace period. Default 1 s. */
  readonly podStopMs: number;
  /** Time that an admitted resize of a pod needs. Default 1 s. */
  readonly podResizeMs: number;
  /** From Ready to available accelerators, because a device plugin starts after the kubelet. Default 10 s. */
  readonly devicePluginMs: number;
  /** From a running DRA driver to its published devices. Default 5 s. */
  readonly draDriverMs: number;
  /** Interval of lease renewals. Default 10 s. */
  readonly leaseMs: number;
  /** Interval of status updates without a change. Default 5 min. */
  readonly statusMs: number;
  /** Share of a machine's memory that its hypervisor and kernel use. Default 0.075. */
  readonly memoryOverhead: number;
  /** Share of the local disks that the metadata of a RAID0 array use. Default 0. */
  readonly raid0Overhead: number;
  /** False omits the addresses of nodes, because network plugins of other nodes would add routes to them. Default true. */
  readonly reportsAddresses: boolean;
  /** Seed of random variations. Default 1. */
  readonly seed: number;
}

export const KUBELET_DEFAULTS: KubeletOptions = {
  bootMs: 25_000,
  bootJitter: 0.2,
  readyMs: 5_000,
  podStartMs: [1_000, 2_000],
  podStopMs: 1_000,
  podResizeMs: 1_000,
  devicePluginMs: 10_000,
  draDriverMs: 5_000,
  leaseMs: 10_000,
  statusMs: 300_000,
  memoryOverhead: 0.075,
  raid0Overhead: 0,
  reportsAddresses: true,
  seed: 1,
};
