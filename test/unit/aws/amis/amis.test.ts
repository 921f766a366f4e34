import type { Image } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { AmiSelectorTerm } from '#api/objects';
import { silent } from '#observe/logger';
import { amiStatus, selectAmis } from '../../../../src/aws/amis/amis.ts';
import type { Alias } from '../../../../src/aws/amis/families.ts';
import { aliasParameters, amiQueries, STANDARD } from '../../../../src/aws/amis/queries.ts';
import type { Parameter, SsmParameters } from '../../../../src/aws/ssm.ts';
import { nodeClassOf } from '../../../support/awsobjects.ts';

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

describe('amiQueries', () => {
  const VALUES: Readonly<Record<string, string>> = { '/image': 'ami-1', '/text': 'latest' };
  const parameters = {
    get: async ({ name }: Parameter) => {
      const value = VALUES[name];
      if (value !== undefined) return value;
      throw Object.assign(new Error('gone'), { name: 'ParameterNotFound', $metadata: {} });
    },
  } as unknown as SsmParameters;
  const queries = (...amiSelectorTerms: AmiSelectorTerm[]) =>
    amiQueries(nodeClassOf('test', { amiSelectorTerms }), { cluster: '1.34', parameters, log: silent });
  const named = (name: string) => ({ Name: 'name', Values: [name] });
  const tagged = { Name: 'tag:a', Values: ['b'] };
  const ids = (...Values: string[]) => ({ filters: [{ Name: 'image-id', Values }] });

  it.each<[string, readonly AmiSelectorTerm[], readonly object[]]>([
    ['a name', [{ name: 'x-*' }], [{ filters: [named('x-*')], owners: ['self', 'amazon'] }]],
    [
      'a name of an owner',
      [{ name: 'x', owner: '123456789012' }],
      [{ filters: [named('x')], owners: ['123456789012'] }],
    ],
    ['tags', [{ tags: { a: 'b' } }], [{ filters: [tagged] }]],
    ['tags of an owner', [{ tags: { a: 'b' }, owner: 'self' }], [{ filters: [tagged], owners: ['self'] }]],
    ['an empty name and owner beside tags', [{ name: '', owner: '', tags: { a: 'b' } }], [{ filters: [tagged] }]],
    ['an empty name alone', [{ name: '' }], [{ filters: [named('')], owners: ['self', 'amazon'] }]],
    [
      'ids and parameters, together and last',
      [{ id: 'ami-2' }, { ssmParameter: '/image' }, { name: 'x', ssmParameter: '' }, { id: 'ami-2' }],
      [{ filters: [named('x')], owners: ['self', 'amazon'] }, ids('ami-2', 'ami-1')],
    ],
    ['an id before a parameter', [{ id: 'ami-2', ssmParameter: '/image' }], [ids('ami-2')]],
    ['no parameter that is missing or holds no image', [{ ssmParameter: '/gone' }, { ssmParameter: '/text' }], []],
  ])('looks for %s', async (_, terms, expected) => {
    expect(await queries(...terms)).toEqual(expected);
  });
});

describe('a parameter of an alias', () => {
  const failure = (name: string, $fault: 'client' | 'server') =>
    Object.assign(new Error(name), { name, $fault, $metadata: {} });
  const REFUSED = failure('AccessDeniedException', 'client');
  const FAILED = failure('InternalServerError', 'server');
  const NEURON_IMAGE = {
    id: 'ami-neuron',
    requirements: [
      { key: 'kubernetes.io/arch', operator: 'In' as const, values: ['amd64'] },
      { key: 'karpenter.k8s.aws/instance-accelerator-count', operator: 'Exists' as const },
    ],
  };

  /** IDs that the queries request if the Neuron parameter, or each parameter, cannot be read. */
  async function looked(error: Error, { all = false, amis = [] as (typeof NEURON_IMAGE)[] } = {}) {
    const get = async ({ name }: Parameter): Promise<string> => {
      if (all || name.includes('neuron'))
        throw new Error(`getting ssm parameter, ${error.message} (parameter=${name})`, { cause: error });
      return `ami-${name.split('/').slice(7, 9).join('-')}`;
    };
    const nodeClass = nodeClassOf('test', { amiSelectorTerms: [{ alias: 'al2023@latest' }] });
    const parameters = { get } as unknown as SsmParameters;
    const [found] = await amiQueries({ ...nodeClass, status: { amis } }, { cluster: '1.34', parameters, log: silent });
    return found?.filters[0]?.Values;
  }

  it('is skipped if access is denied and no image for it is known', async () => {
    const others = ['ami-x86_64-standard', 'ami-arm64-standard', 'ami-x86_64-nvidia', 'ami-arm64-nvidia'];
    expect(await looked(REFUSED)).toEqual(others);
    const ofArm = { ...NEURON_IMAGE, requirements: NEURON_IMAGE.requirements.slice(1) };
    expect(await looked(REFUSED, { amis: [ofArm] })).toEqual(others);
  });

  it.each<[string, Error, NonNullable<globalThis.Parameters<typeof looked>[1]>]>([
    ['AWS fails', FAILED, {}],
    ['the credentials are too old', failure('ExpiredTokenException', 'client'), {}],
    ['AWS does not know who asks', failure('UnrecognizedClientException', 'client'), {}],
    ['an image of the one that is refused is known', REFUSED, { amis: [NEURON_IMAGE] }],
    ['all are refused', REFUSED, { all: true }],
  ])('is required while %s', async (_, error, options) => {
    await expect(looked(error, options)).rejects.toThrow(
      'failed to read SSM parameters of the alias (alias=al2023@latest)',
    );
  });
});

describe('aliasParameters', () => {
  /** Each parameter with the requirements of its image. */
  const listed = (family: Alias['family'], version: string, cluster = '1.34') =>
    aliasParameters({ family, version }, cluster).map(({ name, variants }) => [
      name,
      variants.map((requirements) =>
        requirements.map(({ key, operator, values }) => [key, operator, ...(values ?? [])].join(' ')),
      ),
    ]);
  const count = (what: string, operator: string) => `karpenter.k8s.aws/instance-${what}-count ${operator}`;
  const STANDARD_IMAGE = [count('accelerator', 'DoesNotExist'), count('gpu', 'DoesNotExist')];
  const NVIDIA = [count('gpu', 'Exists')];
  const NEURON = [count('accelerator', 'Exists')];

  it.each([
    ['latest', 'recommended', 'recommended', 'recommended'],
    [
      'v20260101',
      'amazon-eks-node-1.34-v20260101',
      'amazon-eks-arm64-node-1.34-v20260101',
      'amazon-eks-gpu-node-1.34-v20260101',
    ],
  ])('lists those of AL2@%s', (version, plain, arm, gpu) => {
    const path = '/aws/service/eks/optimized-ami/1.34/amazon-linux-2';
    expect(listed('AL2', version)).toEqual([
      [`${path}/${plain}/image_id`, [STANDARD_IMAGE]],
      [`${path}-arm64/${arm}/image_id`, [STANDARD_IMAGE]],
      [`${path}-gpu/${gpu}/image_id`, [NEURON, NVIDIA]],
    ]);
  });

  it.each(['latest', 'v20260101'])('lists those of AL2023@%s', (version) => {
    const name = (arch: string, type: string): string => {
      const release = version === 'latest' ? 'recommended' : `amazon-eks-node-al2023-${arch}-${type}-1.34-${version}`;
      return `/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/${arch}/${type}/${release}/image_id`;
    };
    expect(listed('AL2023', version)).toEqual([
      [name('x86_64', 'standard'), [STANDARD_IMAGE]],
      [name('arm64', 'standard'), [STANDARD_IMAGE]],
      [name('x86_64', 'nvidia'), [NVIDIA]],
      [name('arm64', 'nvidia'), [NVIDIA]],
      [name('x86_64', 'neuron'), [NEURON]],
    ]);
  });

  it.each([
    ['latest', 'latest'],
    ['v1.52.0', '1.52.0'],
    ['1.52.0', '1.52.0'],
  ])('lists those of bottlerocket@%s', (version, release) => {
    const path = '/aws/service/bottlerocket/aws-k8s-1.34';
    expect(listed('Bottlerocket', version)).toEqual([
      [`${path}/x86_64/${release}/image_id`, [STANDARD_IMAGE, NEURON]],
      [`${path}/arm64/${release}/image_id`, [STANDARD_IMAGE]],
      [`${path}-nvidia/x86_64/${release}/image_id`, [NVIDIA]],
      [`${path}-nvidia/arm64/${release}/image_id`, [NVIDIA]],
    ]);
  });

  it.each([
    ['Windows2019', '2019', '10.0.17763'],
    ['Windows2022', '2022', '10.0.20348'],
    ['Windows2025', '2025', '10.0.26100'],
  ] as const)('lists those of %s, which AWS may change at any time', (family, year, build) => {
    expect(listed(family, 'latest', '1.35')).toEqual([
      [
        `/aws/service/ami-windows-latest/Windows_Server-${year}-English-Core-EKS_Optimized-1.35/image_id`,
        [['kubernetes.io/os In windows', `node.kubernetes.io/windows-build In ${build}`]],
      ],
    ]);
    expect(aliasParameters({ family, version: 'latest' }, '1.35').every(({ mutable }) => mutable)).toBe(true);
  });

  it('is constant if the alias names a version', () => {
    const mutable = (version: string): boolean[] =>
      aliasParameters({ family: 'AL2023', version }, '1.34').map((parameter) => parameter.mutable);
    expect(new Set(mutable('latest'))).toEqual(new Set([true]));
    expect(new Set(mutable('v20260101'))).toEqual(new Set([false]));
  });
});
