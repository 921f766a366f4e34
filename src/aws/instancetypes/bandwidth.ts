import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';

/** Old families whose network has no dependable baseline; AWS calls it low, moderate or high. */
const UNRATED = new Set(['c1', 'c3', 'c4', 'cc2', 'cr1', 'd2', 'g2', 'hs1', 'i2', 'm1', 'm2', 'm3', 'r3', 't1']);

/** Each of the two cards of the largest sizes of these families is listed with what both have together. */
const SHARED = /^[cmr]6id?n\.(32xlarge|metal)$/;
const SHARED_MBPS = 200_000;

/** Baseline network bandwidth in Mbps over all cards. */
export function networkBandwidthMbps(info: InstanceTypeInfo): number | undefined {
  const name = info.InstanceType ?? '';
  const family = name.split('.')[0] ?? '';
  if (UNRATED.has(family)) return undefined;
  if (SHARED.test(name)) return SHARED_MBPS;
  const gbps = (info.NetworkInfo?.NetworkCards ?? []).reduce(
    (sum, card) => sum + (card.BaselineBandwidthInGbps ?? 0),
    0,
  );
  // Cut, not rounded: AWS publishes 1.5625 Gbps as 1562 Mbps.
  return gbps > 0 ? Math.floor(gbps * 1000 + 1e-6) : undefined;
}
