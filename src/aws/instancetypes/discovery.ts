/** What EC2 tells of the region's instance types, and in which zones it sells them. */
import {
  type EC2Client,
  type Filter,
  type InstanceTypeInfo,
  paginateDescribeInstanceTypeOfferings,
  paginateDescribeInstanceTypes,
} from '@aws-sdk/client-ec2';

const TYPES_PER_PAGE = 100;
const OFFERINGS_PER_PAGE = 1000;

const filter = (Name: string, ...Values: string[]): Filter => ({ Name, Values });

/** Each page has to wait for the one before, so the list is asked for in parts of similar length, side by side. */
const PARTS: readonly (readonly Filter[])[] = ['x86_64', 'arm64'].flatMap((architecture) =>
  ['true', 'false'].map((stored) => [
    filter('processor-info.supported-architecture', architecture),
    filter('instance-storage-supported', stored),
  ]),
);

async function fetchPart(client: EC2Client, part: readonly Filter[]): Promise<InstanceTypeInfo[]> {
  const found: InstanceTypeInfo[] = [];
  const input = { MaxResults: TYPES_PER_PAGE, Filters: [filter('supported-virtualization-type', 'hvm'), ...part] };
  for await (const page of paginateDescribeInstanceTypes({ client }, input)) found.push(...(page.InstanceTypes ?? []));
  return found;
}

/** Instance types that could run a node, by name, in the order of their names. */
export async function fetchTypes(client: EC2Client): Promise<ReadonlyMap<string, InstanceTypeInfo>> {
  const parts = await Promise.all(PARTS.map((part) => fetchPart(client, part)));
  const named = parts.flat().flatMap((info): [string, InstanceTypeInfo][] => {
    const { InstanceType: name } = info;
    return name === undefined ? [] : [[name, info]];
  });
  return new Map(named.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Names of the zones that sell an instance type, sorted, by the type's name, in the order of the names. */
export async function fetchZones(client: EC2Client): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const zonesOf = new Map<string, string[]>();
  const input = { LocationType: 'availability-zone', MaxResults: OFFERINGS_PER_PAGE } as const;
  for await (const page of paginateDescribeInstanceTypeOfferings({ client }, input))
    for (const { InstanceType: type = '', Location: zone = '' } of page.InstanceTypeOfferings ?? []) {
      const zones = zonesOf.get(type);
      if (zones === undefined) zonesOf.set(type, [zone]);
      else zones.push(zone);
    }
  const sorted = [...zonesOf].sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(sorted.map(([type, zones]) => [type, new Set(zones.sort())]));
}
