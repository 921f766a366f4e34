/**
 * Prices of burstable instance types. The price of a burstable type includes only its baseline of CPU. The provider charges the
 * CPU that pods use beyond the baseline as surplus CPU.
 */

/** Price of CPU beyond the baseline of a burstable instance type. */
export interface CpuBurst {
  /** CPU that the price of the instance includes, in millicores. */
  readonly baseline: number;
  /** Expected part of the requested CPU that pods use, above 0. */
  readonly utilization: number;
  /** Price of CPU beyond the baseline, in USD for a vCPU-hour. */
  readonly usdPerVcpuHour: number;
}

/** Instance type. Only burstable types have a baseline. */
interface MaybeBurstable {
  readonly cpuBurst?: CpuBurst | undefined;
}

/** Returns the requests up to which no surplus CPU is expected, in millicores. Returns Infinity for other types. */
export const includedCpu = ({ cpuBurst }: MaybeBurstable): number =>
  cpuBurst === undefined ? Number.POSITIVE_INFINITY : cpuBurst.baseline / cpuBurst.utilization;

/** Returns the price of surplus CPU for each requested millicore beyond the included CPU, in USD per hour. */
export const usdPerSurplusCpu = ({ cpuBurst }: MaybeBurstable): number =>
  cpuBurst === undefined ? 0 : (cpuBurst.usdPerVcpuHour * cpuBurst.utilization) / 1_000;

/**
 * Returns the expected price of the surplus CPU of a node, in USD per hour.
 * @param requestedCpu requests of all pods of the node, in millicores
 */
export const surplusUsdPerHour = (type: MaybeBurstable, requestedCpu: number): number =>
  type.cpuBurst === undefined ? 0 : Math.max(0, requestedCpu - includedCpu(type)) * usdPerSurplusCpu(type);
