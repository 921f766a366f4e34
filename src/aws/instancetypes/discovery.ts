/** Reads the region's instance types from EC2, and the zones that offer them. */
import {
  type EC2Client,
  type Filter,
  type InstanceTypeInfo,
  paginateDescribeInstanceTypeOfferings,
  paginateDescribeInstanceTypes,
} from '@aws-sdk/client-ec2';
import { instanceType } from '../answers/instance-type.ts';
import { type ReportUnusable, usableItems } from '../answers/unusable.ts';
import { pagesOf } from '../pages.ts';

const TYPES_PER_PAGE = 100;
const OFFERINGS_PER_PAGE = 1000;

const filter = (Name: string, ...Values: string[]): Filter => ({ Name, Values });

/**
 * The pages of a list are read sequentially. The list is therefore divided into parts of similar length, which are
 * read in parallel.
 */
const PARTS: readonly (readonly Filter[])[] = ['x86_64', 'arm64'].flatMap((architecture) =>
  ['true', 'false'].map((stored) => [
    filter('processor-info.supported-architecture', architecture),
    filter('instance-storage-supported', stored),
  ]),
);

const TYPES_CALL = { service: 'EC2', operation: 'DescribeInstanceTypes' };

async function fetchPart(
  client: EC2Client,
  part: readonly Filter[],
  report: ReportUnusable,
): Promise<InstanceTypeInfo[]> {
  const found: InstanceTypeInfo[] = [];
  const input = { MaxResults: TYPES_PER_PAGE, Filters: [filter('supported-virtualization-type', 'hvm'), ...part] };
  for await (const page of pagesOf('DescribeInstanceTypes', paginateDescribeInstanceTypes({ client }, input)))
    found.push(...usableItems(TYPES_CALL, page.InstanceTypes ?? [], instanceType, report));
  return found;
}

/** Returns the usable instance types for nodes by name, sorted by name. */
export async function fetchTypes(
  client: EC2Client,
  report: ReportUnusable,
): Promise<ReadonlyMap<string, InstanceTypeInfo>> {
  const parts = await Promise.all(PARTS.map((part) => fetchPart(client, part, report)));
  const named = parts.flat().flatMap((info): [string, InstanceTypeInfo][] => {
    const { InstanceType: name } = info;
    return name === undefined ? [] : [[name, info]];
  });
  return new Map(named.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns the zones that offer each instance type, by the name of the type. Both are sorted by name. */
export async function fetchZones(client: EC2Client): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const zonesOf = new Map<string, string[]>();
  const input = { LocationType: 'availability-zone', MaxResults: OFFERINGS_PER_PAGE } as const;
  for await (const page of pagesOf(
    'DescribeInstanceTypeOfferings',
    paginateDescribeInstanceTypeOfferings({ client }, input),
  ))
    for (const { InstanceType: type = '', Location: zone = '' } of page.InstanceTypeOfferings ?? []) {
      const zones = zonesOf.get(type);
      if (zones === undefined) zonesOf.set(type, [zone]);
      else zones.push(zone);
    }
  const sorted = [...zonesOf].sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(sorted.map(([type, zones]) => [type, new Set(zones.sort())]));
}

/**
 * Returns the current list of EC2, by the name of the type. Types are rarely withdrawn, and the next refresh is hours
 * away. If a known type is missing in the response, the list is therefore requested once more.
 * @throws Error if EC2 lists no types although it listed some before
 */
export async function confirmTypes<V>(
  known: ReadonlyMap<string, V>,
  fetch: () => Promise<ReadonlyMap<string, V>>,
): Promise<ReadonlyMap<string, V>> {
  const first = await fetch();
  if ([...known.keys()].every((name) => first.has(name))) return first;
  const both = [...first, ...(await fetch())];
  if (both.length === 0) throw new Error('EC2 returned no instance types');
  return new Map([...new Map(both)].sort(([a], [b]) => (a < b ? -1 : 1)));
}
