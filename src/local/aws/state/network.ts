/** VPCs, subnets with their free addresses, and security groups. */
import type { Tags } from '../types.ts';
import { AwsError } from '../wire/error.ts';

export interface Vpc {
  readonly id: string;
  readonly cidr: string;
  tags: Tags;
}

export interface SecurityGroup {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly vpcId: string;
  tags: Tags;
}

export interface Subnet {
  readonly id: string;
  readonly zone: string;
  readonly zoneId: string;
  readonly cidr: string;
  readonly vpcId: string;
  isPublic: boolean;
  /** True if new network interfaces get an IPv6 address. */
  assignsIpv6: boolean;
  dns: SubnetDns;
  readonly addresses: AddressPool;
  tags: Tags;
}

/** Host names and DNS records of new instances. */
interface SubnetDns {
  readonly hostnameType: 'ip-name' | 'resource-name';
  readonly hasResourceRecord: boolean;
  readonly hasResourceIpv6Record: boolean;
  /** True if the resolver returns synthetic IPv6 addresses of IPv4 destinations. */
  readonly hasDns64: boolean;
}

export interface AddressPool {
  free(): number;
  /** @throws AwsError InsufficientFreeAddressesInSubnet */
  take(): string;
  release(address: string): void;
}

/** EC2 reserves the first four addresses of a subnet and the last one. */
const RESERVED_LOW = 4;
const RESERVED = 5;

/**
 * Creates a pool that assigns the addresses of a CIDR in ascending order. Released addresses are assigned after the
 * others.
 * @param limit maximum number of addresses, for subnets that other accounts use
 * @throws RangeError if the CIDR cannot be parsed
 */
export function addressPool(subnetId: string, cidr: string, limit = Number.POSITIVE_INFINITY): AddressPool {
  const { base, size } = parseCidr(cidr);
  const usable = Math.min(size - RESERVED, limit);
  const released: number[] = [];
  const taken = new Set<number>();
  let fresh = RESERVED_LOW;
  const free = (): number => usable - taken.size;
  return {
    free,
    take() {
      if (free() <= 0) {
        throw new AwsError(
          'InsufficientFreeAddressesInSubnet',
          `There are not enough free addresses in subnet '${subnetId}' to satisfy the requested number of instances.`,
        );
      }
      const offset = fresh < size - 1 ? fresh++ : (released.shift() ?? RESERVED_LOW);
      taken.add(offset);
      return formatAddress(base + offset);
    },
    release(address) {
      const offset = parseAddress(address) - base;
      if (taken.delete(offset)) released.push(offset);
    },
  };
}

function parseCidr(cidr: string): { readonly base: number; readonly size: number } {
  const match = /^(\d+\.\d+\.\d+\.\d+)\/(\d+)$/.exec(cidr);
  const bits = Number(match?.[2]);
  if (!match?.[1] || bits < 8 || bits > 28) throw new RangeError(`Cannot use CIDR "${cidr}"; use a.b.c.d/8 to /28`);
  return { base: parseAddress(match[1]), size: 2 ** (32 - bits) };
}

const parseAddress = (address: string): number => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);

const formatAddress = (value: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
