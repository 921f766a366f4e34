/** Expected part of the requested CPU that pods use. It decides how many surplus CPU credits burstable nodes use. */

/** docs/decisions/0058 derives it. */
export const DEFAULT_CPU_UTILIZATION = 0.7;

/** Returns the error in a utilization, or undefined if it is valid. */
export const cpuUtilizationError = (part: number): string | undefined =>
  part >= 0 && part <= 1 ? undefined : 'must be a part of the requested CPU from 0 to 1';
