/** Conditions of unhealthy nodes: of the kubelet, and of EKS's node monitoring agent. */
import type { RepairRule } from '#engine/disruption';

const MINUTE_MS = 60_000;

const unhealthy = (conditionType: string, conditionStatus: 'False' | 'Unknown', minutes: number): RepairRule => ({
  conditionType,
  conditionStatus,
  tolerationMs: minutes * MINUTE_MS,
});

export const REPAIR_RULES: readonly RepairRule[] = [
  unhealthy('Ready', 'False', 30),
  unhealthy('Ready', 'Unknown', 30),
  unhealthy('AcceleratedHardwareReady', 'False', 10),
  unhealthy('StorageReady', 'False', 30),
  unhealthy('NetworkingReady', 'False', 30),
  unhealthy('KernelReady', 'False', 30),
  unhealthy('ContainerRuntimeReady', 'False', 30),
];
