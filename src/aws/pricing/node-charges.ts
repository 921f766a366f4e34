/**
 * What AWS charges for a node besides its instance. Prices are the list prices of us-east-1 for EBS volumes and the
 * price of a public IPv4 address, which is the same in all regions; no API that the operator may call tells those of a
 * NodeClass in one request. Other regions charge up to twice as much for volumes, a few cents a day for usual sizes.
 * Sources: aws.amazon.com/ebs/pricing, aws.amazon.com/vpc/pricing.
 */
import type { BlockDeviceMapping, EC2NodeClass } from '../../api/ec2-nodeclass.ts';
import { parseQuantity } from '../../api/quantity.ts';
import type { NodeCharges } from '../../engine/node-extras.ts';
import type { AmiFamily } from '../amis/families.ts';

const GIB = 2 ** 30;
/** Hours by which AWS divides monthly prices. */
const HOURS_A_MONTH = 730;
const IPV4_USD_PER_HOUR = 0.005;

interface VolumePrice {
  /** USD per GiB and month. */
  readonly size: number;
  /** USD per provisioned operation per second and month, from so many on. */
  readonly iops?: readonly (readonly [from: number, usd: number])[];
  /** USD per MiB per second and month above what is included. */
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
/** What EC2 makes of a mapping without a type. */
const DEFAULT_TYPE = 'gp2';

type Ebs = NonNullable<BlockDeviceMapping['ebs']>;

/** USD per month. A volume whose size comes from its snapshot alone counts without it: nobody has said how large it is. */
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
 * @param publicShare the part of the NodeClass's subnets that give instances a public address by themselves
 * @throws Error when the size of a volume cannot be read
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
