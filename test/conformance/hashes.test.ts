/**
 * Drift hashes of 4,000 NodePools and EC2NodeClasses, recorded from Karpenter: core 1.14.1 with the provider of August 2026,
 * which hashes EC2NodeClasses in version v6. Hashes of version v5 are recorded from the released 1.14.1. Nodes with another
 * hash are replaced, so a takeover depends on equal hashes.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { ec2NodeClassHash, matchesV5Hash, nodePoolHash } from '#api/hashes';
import type { EC2NodeClass, NodePool } from '#api/objects';
import type { Json } from '../unit/aws/support/json.ts';
import { recordings } from '../unit/aws/support/recordings.ts';

const { world, further: _, ...recorded } = recordings();
const METADATA_DEFAULTS = {
  httpEndpoint: 'enabled',
  httpProtocolIPv6: 'disabled',
  httpPutResponseHopLimit: 1,
  httpTokens: 'required',
};

/** EC2NodeClasses with API server defaults, and the hashes of their NodeClaims by Karpenter 1.14.1. */
const v5: readonly (readonly [string, EC2NodeClass, string])[] = Object.entries<Json>(recorded).map(([name, each]) => {
  const { nodeClass } = each.manifests;
  const metadataOptions = { ...METADATA_DEFAULTS, ...nodeClass.spec.metadataOptions };
  const hash = each.nodeClaims[0].metadata.annotations['karpenter.k8s.aws/ec2nodeclass-hash'];
  return [name, { ...nodeClass, spec: { ...nodeClass.spec, metadataOptions } }, hash];
});
const CA: string = world.cluster.caBundleBase64;

/** `ca`: the cluster's CA bundle. This bundle is part of the hash of an EC2NodeClass. */
type HashCase = { readonly ca: string; readonly hash: string } & (
  | { readonly kind: 'NodePool'; readonly object: NodePool }
  | { readonly kind: 'EC2NodeClass'; readonly object: EC2NodeClass }
);

const cases = gunzipSync(readFileSync(new URL('hash-cases.jsonl.gz', import.meta.url)))
  .toString('utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as HashCase);

/** The CRD forbids this value, so that no cluster can contain it. */
const isForbidden = (test: HashCase): boolean =>
  test.kind === 'EC2NodeClass' && test.object.spec.placementGroupSelector?.name === '';

const ours = (test: HashCase): string =>
  test.kind === 'NodePool' ? nodePoolHash(test.object) : ec2NodeClassHash(test.object, test.ca);

describe('the drift hash', () => {
  it.each(['NodePool', 'EC2NodeClass'] as const)('is the recorded one of every recorded %s', (kind) => {
    const tried = cases.filter((test) => test.kind === kind && !isForbidden(test));
    expect(tried.length).toBeGreaterThan(1_500);
    expect(tried.filter((test) => ours(test) !== test.hash)).toEqual([]);
  });

  it('is the recorded one of every EC2NodeClass with hash version v5, and differs from the hash in version v6', () => {
    expect(v5.length).toBeGreaterThan(60);
    expect(v5.filter(([, { spec }]) => spec.kubelet !== undefined).length).toBeGreaterThan(6);
    expect(v5.filter(([, nodeClass, hash]) => !matchesV5Hash(nodeClass, CA, hash)).map(([name]) => name)).toEqual([]);
    expect(v5.filter(([, nodeClass, hash]) => ec2NodeClassHash(nodeClass, CA) === hash)).toEqual([]);
  });

  it.each<[string, EC2NodeClass['spec'] | object, string]>([
    ['a tag', { tags: { edited: 'yes' } }, CA],
    ['the role', { role: 'edited' }, CA],
    ['the kubelet block', { kubelet: { maxPods: 7 } }, CA],
    ['a kubelet expression, which v5 does not know', { kubelet: { maxPods: 'cpu * 2' } }, CA],
    [
      'a kubelet duration that cannot be read',
      { kubelet: { evictionSoftGracePeriod: { 'memory.available': 'x' } } },
      CA,
    ],
    ['the CA bundle', {}, 'another'],
  ])('changes in version v5 of an EC2NodeClass with %s', (_what, edit, ca) => {
    const matching = v5.filter(([, nodeClass, hash]) =>
      matchesV5Hash({ ...nodeClass, spec: { ...nodeClass.spec, ...edit } }, ca, hash),
    );
    expect(matching.map(([name]) => name)).toEqual([]);
  });
});
