/** How long machines take, in milliseconds of the world's clock. */
export interface KubeletOptions {
  /** From the instance running to its Node object. Default 25 s. */
  readonly bootMs: number;
  /** Each boot takes up to this share more or less, by a seeded draw. Default 0.2. */
  readonly bootJitter: number;
  /** From the Node object to its Ready condition. Default 5 s. */
  readonly readyMs: number;
  /** From a pod's binding to its Ready condition, shortest and longest. Default 1 s to 2 s. */
  readonly podStartMs: readonly [number, number];
  /** How long a container takes to stop when it is told to; its grace period ends it earlier. Default 1 s. */
  readonly podStopMs: number;
  /** From Ready to accelerators being offered, as a device plugin starts after the kubelet. Default 10 s. */
  readonly devicePluginMs: number;
  /** Between two renewals of the node's lease. Default 10 s. */
  readonly leaseMs: number;
  /** Between two status updates without a change. Default 5 min. */
  readonly statusMs: number;
  /** Share of a machine's memory that its hypervisor and kernel keep. Default 0.075. */
  readonly memoryOverhead: number;
  /** Volumes that the EBS CSI driver can attach to one node. Default 27. */
  readonly volumeLimit: number;
  /** Decides the jitter. Default 1. */
  readonly seed: number;
}

export const KUBELET_DEFAULTS: KubeletOptions = {
  bootMs: 25_000,
  bootJitter: 0.2,
  readyMs: 5_000,
  podStartMs: [1_000, 2_000],
  podStopMs: 1_000,
  devicePluginMs: 10_000,
  leaseMs: 10_000,
  statusMs: 300_000,
  memoryOverhead: 0.075,
  volumeLimit: 27,
  seed: 1,
};
