/** The core names no concept of a single provider (docs/decisions/0125-provider-contract.md). */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { SRC, sources } from './import-graph.ts';

/** Areas of the provider, of the local AWS and of the tools for EKS. The kinds of the product are declared in `api`. */
const OF_PROVIDER = /^(?:aws|local|cli|replay|api)\//;
const NAMES = /EC2_?NODE_?CLASS|savings ?plan|cpu ?credit|\bEBS\b/i;

/** Files that still name such concepts. A file may only leave this list. */
const LEFT: readonly string[] = [
  'controllers/cost/covered-prices.ts',
  'controllers/metrics/cost.ts',
  'engine-worker/instance-type-lists.ts',
  'engine/billed-price.ts',
  'engine/causes/cause.ts',
  'engine/cost/account.ts',
  'engine/cost/node-prices.ts',
  'engine/cost/report.ts',
  'engine/cpu-credits.ts',
  'engine/disruption/candidates/disruption-cost.ts',
  'engine/disruption/methods/consolidation.ts',
  'engine/disruption/pricing/price-filter.ts',
  'engine/entries/costs.ts',
  'engine/expected-costs.ts',
  'engine/instance-type-report.ts',
  'engine/instance-types.ts',
  'engine/model.ts',
  'engine/packing/commitments.ts',
  'engine/packing/offers.ts',
  'engine/packing/problem.ts',
  'engine/packing/shop.ts',
  'engine/packing/template-rows.ts',
  'engine/price-book/book-entries.ts',
  'engine/price-book/commitment.ts',
  'engine/price-book/coverage.ts',
  'engine/shared-types.ts',
  'engine/solver/claim.ts',
  'engine/solver/compiled-pool.ts',
  'engine/solver/cover.ts',
  'engine/solver/finalise.ts',
  'engine/solver/surplus-prices.ts',
  'engine/volume-limits.ts',
  'engine/volumes.ts',
  'engine/zone-balance.ts',
  'live/costs.ts',
  'live/model.ts',
  'live/rows.ts',
  'live/view.ts',
  'observe/entries/metrics.ts',
  'observe/events/aws.ts',
  'observe/events/devices.ts',
  'observe/events/nodeclaims.ts',
  'observe/events/nodepools.ts',
  'observe/events/objects.ts',
  'observe/history/cost-hours.ts',
  'observe/history/decision-log.ts',
  'observe/metrics/aws.ts',
  'observe/metrics/nodepools.ts',
  'observe/remedies.ts',
  'process/settings.ts',
];

describe('a core file', () => {
  it('names no EC2NodeClass, EBS volume, Savings Plan or CPU credit', () => {
    const core = sources.filter((file) => !OF_PROVIDER.test(relative(SRC, file)));
    expect(core.length).toBeGreaterThan(500);
    const naming = core.filter((file) => NAMES.test(readFileSync(file, 'utf8')));
    expect(naming.map((file) => relative(SRC, file)).sort()).toEqual([...LEFT].sort());
  });
});
