import type { Image } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { amiStatus, selectAmis } from '../../../../src/aws/amis/amis.ts';
import { aliasParameters, STANDARD } from '../../../../src/aws/amis/queries.ts';

const NOW = Date.UTC(2026, 7, 1);
const query = { filters: [] };
const image = (ImageId: string, more: Partial<Image> = {}): Image => ({
  ImageId,
  Name: ImageId,
  Architecture: 'x86_64',
  CreationDate: '2026-07-01T00:00:00.000Z',
  ...more,
});
const best = (...images: Image[]): (string | undefined)[] =>
  selectAmis(
    images.map((each) => ({ query, image: each })),
    NOW,
  ).map(({ id }) => id);

describe('selectAmis', () => {
  it.each([
    ['the newest', [image('old'), image('new', { CreationDate: '2026-07-02T00:00:00.000Z' })], ['new']],
    [
      'one that is not deprecated before a newer one that is',
      [
        image('old'),
        image('new', { CreationDate: '2026-07-02T00:00:00.000Z', DeprecationTime: '2026-07-31T00:00:00.000Z' }),
      ],
      ['old'],
    ],
    ['the greater name of two of an age', [image('a'), image('b')], ['b']],
    [
      'one per architecture, newest first',
      [image('x'), image('y', { Architecture: 'arm64', CreationDate: '2026-07-02T00:00:00Z' })],
      ['y', 'x'],
    ],
    ['nothing that no node can run', [image('mac', { Architecture: 'arm64_mac' as 'arm64' })], []],
  ])('keeps %s', (_, images, ids) => {
    expect(best(...images)).toEqual(ids);
  });

  it('does not depend on the order in which AWS lists images', () => {
    const images = ['a', 'b', 'c', 'd'].map((id, at) =>
      image(id, { Architecture: at % 2 === 0 ? 'x86_64' : 'arm64', CreationDate: `2026-07-0${at + 1}T00:00:00Z` }),
    );
    fc.assert(
      fc.property(fc.shuffledSubarray(images, { minLength: 4, maxLength: 4 }), (shuffled) => {
        expect(best(...shuffled)).toEqual(best(...images));
      }),
    );
  });

  it('lists an image of an alias once per variant', () => {
    const variants = new Map([['ami-1', [STANDARD, [{ key: 'gpu', operator: 'Exists' as const }]]]]);
    const found = selectAmis([{ query: { filters: [], variants }, image: image('ami-1') }], NOW);
    expect(found.map(amiStatus).map(({ requirements }) => requirements.map(({ key }) => key))).toEqual([
      ['kubernetes.io/arch', 'karpenter.k8s.aws/instance-gpu-count', 'karpenter.k8s.aws/instance-accelerator-count'],
      ['gpu', 'kubernetes.io/arch'],
    ]);
  });
});

describe('aliasParameters', () => {
  const names = (family: Parameters<typeof aliasParameters>[0]['family'], version: string): string[] =>
    aliasParameters({ family, version }, '1.34').map(({ name }) => name);

  it.each([
    ['AL2', 'latest', '/aws/service/eks/optimized-ami/1.34/amazon-linux-2/recommended/image_id'],
    [
      'AL2',
      'v20260101',
      '/aws/service/eks/optimized-ami/1.34/amazon-linux-2-gpu/amazon-eks-gpu-node-1.34-v20260101/image_id',
    ],
    [
      'AL2023',
      'v20260101',
      '/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/arm64/standard/amazon-eks-node-al2023-arm64-standard-1.34-v20260101/image_id',
    ],
    ['Bottlerocket', 'v1.52.0', '/aws/service/bottlerocket/aws-k8s-1.34-nvidia/arm64/1.52.0/image_id'],
    [
      'Windows2022',
      'latest',
      '/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.34/image_id',
    ],
  ] as const)('of %s@%s has %s', (family, version, name) => {
    expect(names(family, version)).toContain(name);
  });
});
