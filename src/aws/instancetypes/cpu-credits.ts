/** CPU credits of burstable instance types. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { CpuBurst } from '#engine/costs';
import { EARNED_CREDITS } from './cpu-credit-table.ts';
import { architectureOf } from './labels.ts';

/**
 * Prices of surplus credits in USD for a vCPU-hour. They are the same for all sizes, regions and capacity types. Source:
 * https://aws.amazon.com/ec2/pricing/on-demand, chapter on unlimited mode (as known on 2026-11-24).
 */
const SURPLUS_USD = { windows: 0.096, arm64: 0.04, amd64: 0.05 };

/** Family whose credits apply to a burstable family that is missing in the table. */
const USUAL_FAMILY = 't3';

/**
 * Returns the CPU credits of an instance type. Returns undefined if the type is not burstable, or if no use of CPU is expected.
 * In standard mode there are no surplus charges, but CPU beyond the baseline is missing, so it counts at the same price.
 * @param utilization expected part of the requested CPU that pods use
 */
export function cpuCreditsOf(info: InstanceTypeInfo, isWindows: boolean, utilization: number): CpuBurst | undefined {
  if (info.BurstablePerformanceSupported !== true || utilization === 0) return undefined;
  const [family = '', size = ''] = (info.InstanceType ?? '').split('.');
  const earned = earnedPerHour(family, size) ?? earnedPerHour(USUAL_FAMILY, size);
  if (earned === undefined) return undefined;
  const os = isWindows ? 'windows' : architectureOf(info) === 'arm64' ? 'arm64' : 'amd64';
  return { baseline: (earned * 1_000) / 60, utilization, usdPerVcpuHour: SURPLUS_USD[os] };
}

function earnedPerHour(family: string, size: string): number | undefined {
  const entry = EARNED_CREDITS[family]?.split(' ').find((each) => each.startsWith(`${size}:`));
  return entry === undefined ? undefined : Number(entry.slice(size.length + 1));
}
