/**
 * AWS charges for a node besides the instance price. Prices are the list prices of us-east-1 for EBS volumes, and the
 * price of a public IPv4 address, which is the same in all regions. No API that the operator may call returns the
 * prices for a NodeClass in one request. Other regions charge up to twice as much for volumes, a few cents a day for
 * usual sizes. Sources: aws.amazon.com/ebs/pricing, aws.amazon.com/vpc/pricing.
 */
import type { BlockDeviceMapping, EC2NodeClass } from '#api/objects';
import { parseQuantity } from '#api/values';
import type { NodeCharges } from '#engine/costs';
import type { AmiFamily } from '../amis/families.ts';

const GIB = 2 ** 30;
/** Hours per month by which AWS divides monthly prices. */
const HOURS_A_MONTH = 730;
const IPV4_USD_PER_HOUR = 0.005;

interface VolumePrice {
  /** USD per GiB and month. */
  readonly size: number;
  /** USD per month for one provisioned operation per second, by tier. */
  readonly iops?: readonly (readonly [from: number, usd: number])[];
  /** USD per month for one MiB per second above the included throughput. */
  readonly throughput?: { readonly included: number; readonly usd: number };
}

const VOLUME_PRICES: Readonly<Record<string, VolumePrice>> = {
  gp3: { size: 0.08, iops: [[3000, 0.005]], throughput: { included: 125, usd: 0.04 } },
  gp2: { size: 0.1 },
  io1: { size: 0.125, iops: [[0, 0.065]] },
  io2: {
    size: 0.125,
    iops: [
      [0, 0.065],
      [32_000, 0.0455],
      [64_000, 0.03185],
    ],
  },
  st1: { size: 0.045 },
  sc1: { size: 0.015 },
  standard: { size: 0.05 },
};
/** EC2's volume type for a mapping without a type. */
const DEFAULT_TYPE = 'gp2';

type Ebs = NonNullable<BlockDeviceMapping['ebs']>;

/** Returns USD per month. The size counts as 0 if only the snapshot defines it, because it is unknown. */
function volumeUsdPerMonth({ volumeType = DEFAULT_TYPE, volumeSize, iops = 0, throughput = 0 }: Ebs): number {
  const price = VOLUME_PRICES[volumeType];
  if (price === undefined) return 0;
  const gib = volumeSize === undefined ? 0 : Math.ceil(parseQuantity(volumeSize) / GIB);
  const tiers = price.iops ?? [];
  const operations = tiers.reduce((sum, [from, usd], tier) => {
    const to = tiers[tier + 1]?.[0] ?? Number.POSITIVE_INFINITY;
    return sum + Math.max(0, Math.min(iops, to) - from) * usd;
  }, 0);
  const { included = 0, usd = 0 } = price.throughput ?? {};
  return gib * price.size + operations + Math.max(0, throughput - included) * usd;
}

/**
 * Computes the hourly charges.
 * @param publicShare share of the NodeClass's subnets that assign public addresses to instances by default
 * @throws Error if the size of a volume cannot be parsed
 */
export function nodeCharges(
  { spec }: Pick<EC2NodeClass, 'spec'>,
  family: Pick<AmiFamily, 'blockDevices'>,
  publicShare: number,
): NodeCharges {
  const own = spec.blockDeviceMappings ?? [];
  const volumes: readonly Ebs[] =
    own.length > 0
      ? own.flatMap(({ ebs }) => (ebs === undefined ? [] : [ebs]))
      : family.blockDevices.map(({ size }) => ({ volumeSize: size, volumeType: 'gp3' }));
  const usdPerMonth = volumes.reduce((sum, volume) => sum + volumeUsdPerMonth(volume), 0);
  const isPublic = spec.associatePublicIPAddress;
  return {
    volumesUsdPerHour: usdPerMonth / HOURS_A_MONTH,
    publicIpv4UsdPerHour: IPV4_USD_PER_HOUR * (isPublic === undefined ? publicShare : Number(isPublic)),
  };
}
