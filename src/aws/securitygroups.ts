/** Resolves the security groups of a NodeClass. */
import { type EC2Client, paginateDescribeSecurityGroups } from '@aws-sdk/client-ec2';
import type { EC2NodeClass, SecurityGroupSelectorTerm, SecurityGroupStatus } from '#api/objects';
import { type Clock, type Freshness, LoadingCache } from '#lib/clock';
import { pagesOf } from './pages.ts';
import { tagFilters } from './tags.ts';

interface AwsFilter {
  readonly Name: string;
  readonly Values: string[];
}

const TTL_MS = 60_000;

/**
 * Returns one set of filters per call: each term with tags, then all IDs, then all names. The ID of a term takes
 * precedence.
 */
export function securityGroupQueries(terms: readonly SecurityGroupSelectorTerm[]): readonly AwsFilter[][] {
  const ids: string[] = [];
  const names: string[] = [];
  const queries: AwsFilter[][] = [];
  for (const { id, name, tags } of terms) {
    if (id !== undefined) ids.push(id);
    else if (name !== undefined) names.push(name);
    else queries.push(tagFilters(tags));
  }
  if (ids.length > 0) queries.push([{ Name: 'group-id', Values: ids }]);
  if (names.length > 0) queries.push([{ Name: 'group-name', Values: names }]);
  return queries;
}

export class SecurityGroups {
  readonly #ec2: EC2Client;
  /** Security groups by query, so that NodeClasses with the same selectors share the requests. */
  readonly #cache: LoadingCache<readonly SecurityGroupStatus[]>;

  constructor(ec2: EC2Client, clock: Clock) {
    this.#ec2 = ec2;
    this.#cache = new LoadingCache(clock, TTL_MS);
  }

  /** Returns the security groups sorted by ID. */
  list(nodeClass: EC2NodeClass, { anew = false }: Freshness = {}): Promise<readonly SecurityGroupStatus[]> {
    const queries = securityGroupQueries(nodeClass.spec.securityGroupSelectorTerms);
    const key = JSON.stringify(queries);
    if (anew) this.#cache.delete(key);
    return this.#cache.get(key, () => this.#describe(queries));
  }

  async #describe(queries: readonly AwsFilter[][]): Promise<readonly SecurityGroupStatus[]> {
    const found = new Map<string, SecurityGroupStatus>();
    await Promise.all(
      queries.map(async (Filters) => {
        for await (const page of pagesOf(
          'DescribeSecurityGroups',
          paginateDescribeSecurityGroups({ client: this.#ec2 }, { Filters, MaxResults: 500 }),
        ))
          for (const { GroupId: id = '', GroupName: name = '' } of page.SecurityGroups ?? [])
            found.set(id, { id, name });
      }),
    );
    return [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }
}
