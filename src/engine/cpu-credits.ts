/**
 * Prices of burstable instance types. The price of a burstable type includes only its baseline of CPU. In unlimited mode, AWS
 * charges the CPU that pods use beyond the baseline as surplus credits.
 */

/** CPU credits of a burstable instance type. */
export interface CpuCredits {
  /** CPU that the price of the instance includes, in millicores. */
  readonly baseline: number;
  /** Expected part of the requested CPU that pods use, above 0. */
  readonly utilization: number;
  /** Price of CPU beyond the baseline, in USD for a vCPU-hour. */
  readonly usdPerVcpuHour: number;
}

/** Instance type. Only burstable types have credits. */
interface MaybeBurstable {
  readonly cpuCredits?: CpuCredits | undefined;
}

/** Returns the requests up to which no surplus credits are expected, in millicores. Returns Infinity for other types. */
export const includedCpu = ({ cpuCredits }: MaybeBurstable): number =>
  cpuCredits === undefined ? Number.POSITIVE_INFINITY : cpuCredits.baseline / cpuCredits.utilization;

/** Returns the price of surplus credits for each requested millicore beyond the included CPU, in USD per hour. */
export const usdPerSurplusCpu = ({ cpuCredits }: MaybeBurstable): number =>
  cpuCredits === undefined ? 0 : (cpuCredits.usdPerVcpuHour * cpuCredits.utilization) / 1_000;

/**
 * Returns the expected price of the surplus credits of a node, in USD per hour.
 * @param requestedCpu requests of all pods of the node, in millicores
 */
export const surplusUsdPerHour = (type: MaybeBurstable, requestedCpu: number): number =>
  type.cpuCredits === undefined ? 0 : Math.max(0, requestedCpu - includedCpu(type)) * usdPerSurplusCpu(type);
