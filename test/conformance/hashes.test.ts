/**
 * The drift hashes that Karpenter 1.14.1 gives 4,000 NodePools and EC2NodeClasses. A cluster that changes hands must see the
 * same ones: nodes whose hash differs are replaced.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import type { EC2NodeClass } from '../../src/api/ec2-nodeclass.ts';
import { ec2NodeClassHash, nodePoolHash } from '../../src/api/hash.ts';
import type { NodePool } from '../../src/api/nodepool.ts';

/** `ca`: the cluster's CA bundle, which takes part in the hash of an EC2NodeClass. */
type HashCase = { readonly ca: string; readonly hash: string } & (
  | { readonly kind: 'NodePool'; readonly object: NodePool }
  | { readonly kind: 'EC2NodeClass'; readonly object: EC2NodeClass }
);

const cases = gunzipSync(readFileSync(new URL('hash-cases.jsonl.gz', import.meta.url)))
  .toString('utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as HashCase);

/** The CRD forbids it: no cluster can hold one. */
const isForbidden = (test: HashCase): boolean =>
  test.kind === 'EC2NodeClass' && test.object.spec.placementGroupSelector?.name === '';

const ours = (test: HashCase): string =>
  test.kind === 'NodePool' ? nodePoolHash(test.object) : ec2NodeClassHash(test.object, test.ca);

describe('the drift hash of', () => {
  it.each(['NodePool', 'EC2NodeClass'] as const)('every recorded %s is the recorded one', (kind) => {
    const tried = cases.filter((test) => test.kind === kind && !isForbidden(test));
    expect(tried.length).toBeGreaterThan(1_500);
    expect(tried.filter((test) => ours(test) !== test.hash)).toEqual([]);
  });
});
