/** DescribeImages queries for the AMI terms of a NodeClass. */
import type { Image } from '@aws-sdk/client-ec2';
import {
  type AmiSelectorTerm,
  ARCH_LABEL,
  type EC2NodeClass,
  INSTANCE_ACCELERATOR_COUNT_LABEL,
  INSTANCE_GPU_COUNT_LABEL,
  OS_LABEL,
  WINDOWS_BUILD_LABEL,
} from '#api/objects';
import type { Requirement } from '#engine/model';
import { messageOf, rejections } from '#lib';
import type { Logger } from '#observe/logger';
import { combineErrors, isDenied, isNotFound } from '../errors.ts';
import { setFingerprint } from '../fingerprint.ts';
import type { Parameter, SsmParameters } from '../ssm.ts';
import { tagFilters } from '../tags.ts';
import { type Alias, aliasOf } from './families.ts';

export interface AmiQuery {
  readonly filters: readonly { readonly Name: string; readonly Values: string[] }[];
  readonly owners?: readonly string[];
  /** Requirements of each image of an alias, by image ID. The architecture is added from the image. */
  readonly variants?: ReadonlyMap<string, readonly (readonly Requirement[])[]>;
}

/** The alias is not available for the cluster's version. A retry cannot succeed. */
export class UnsupportedAlias extends Error {}

/** No SSM parameter exists for the alias. */
export class AliasWithoutImages extends Error {
  /** The alias in the form that the NodeClass uses, for example `al2023@v20260801`. */
  readonly alias: string;
  readonly parts: Alias;

  constructor(alias: string, parts: Alias, options?: ErrorOptions) {
    super(`failed to discover any AMIs for alias (alias=${alias})`, options);
    this.alias = alias;
    this.parts = parts;
  }
}

const ofArchitecture = (arch: 'amd64' | 'arm64'): Requirement => ({ key: ARCH_LABEL, operator: 'In', values: [arch] });
const exists = (key: string): Requirement => ({ key, operator: 'Exists' });
const absent = (key: string): Requirement => ({ key, operator: 'DoesNotExist' });

export const STANDARD: readonly Requirement[] = [
  absent(INSTANCE_ACCELERATOR_COUNT_LABEL),
  absent(INSTANCE_GPU_COUNT_LABEL),
];
const NVIDIA: readonly Requirement[] = [exists(INSTANCE_GPU_COUNT_LABEL)];
const NEURON: readonly Requirement[] = [exists(INSTANCE_ACCELERATOR_COUNT_LABEL)];

interface AliasParameter extends Parameter {
  readonly variants: readonly (readonly Requirement[])[];
  /** Architecture of the image, as named by Kubernetes. */
  readonly arch: 'amd64' | 'arm64';
}

const WINDOWS = {
  Windows2019: ['2019', '10.0.17763'],
  Windows2022: ['2022', '10.0.20348'],
  Windows2025: ['2025', '10.0.26100'],
} as const;

/** Returns the SSM parameters with the images of an alias, for a cluster of version `major.minor`. */
export function aliasParameters({ family, version }: Alias, cluster: string): readonly AliasParameter[] {
  const latest = version === 'latest';
  const parameter = (name: string, ...variants: (readonly Requirement[])[]): AliasParameter => ({
    name,
    mutable: latest,
    custom: false,
    variants,
    arch: name.includes('arm64') ? 'arm64' : 'amd64',
  });
  const eks = `/aws/service/eks/optimized-ami/${cluster}`;
  switch (family) {
    case 'AL2': {
      const path = (os: string, pinned: string): string =>
        `${eks}/${os}/${latest ? 'recommended' : `${pinned}-${cluster}-${version}`}/image_id`;
      return [
        parameter(path('amazon-linux-2', 'amazon-eks-node'), STANDARD),
        parameter(path('amazon-linux-2-arm64', 'amazon-eks-arm64-node'), STANDARD),
        parameter(path('amazon-linux-2-gpu', 'amazon-eks-gpu-node'), NEURON, NVIDIA),
      ];
    }
    case 'AL2023': {
      const path = (arch: string, type: string): string => {
        const release = latest ? 'recommended' : `amazon-eks-node-al2023-${arch}-${type}-${cluster}-${version}`;
        return `${eks}/amazon-linux-2023/${arch}/${type}/${release}/image_id`;
      };
      return [
        parameter(path('x86_64', 'standard'), STANDARD),
        parameter(path('arm64', 'standard'), STANDARD),
        parameter(path('x86_64', 'nvidia'), NVIDIA),
        parameter(path('arm64', 'nvidia'), NVIDIA),
        parameter(path('x86_64', 'neuron'), NEURON),
      ];
    }
    case 'Bottlerocket': {
      const release = version.replace(/^v+/, '');
      const path = (variant: string, arch: string): string =>
        `/aws/service/bottlerocket/aws-k8s-${cluster}${variant}/${arch}/${release}/image_id`;
      return [
        parameter(path('', 'x86_64'), STANDARD, NEURON),
        parameter(path('', 'arm64'), STANDARD),
        parameter(path('-nvidia', 'x86_64'), NVIDIA),
        parameter(path('-nvidia', 'arm64'), NVIDIA),
      ];
    }
    case 'Custom':
      return [];
    case 'Windows2019':
    case 'Windows2022':
    case 'Windows2025': {
      const [year, build] = WINDOWS[family];
      const name = `/aws/service/ami-windows-latest/Windows_Server-${year}-English-Core-EKS_Optimized-${cluster}/image_id`;
      const only: readonly Requirement[] = [
        { key: OS_LABEL, operator: 'In', values: ['windows'] },
        { key: WINDOWS_BUILD_LABEL, operator: 'In', values: [build] },
      ];
      return [{ ...parameter(name, only), mutable: true }];
    }
  }
}

const isSupported = (): undefined => undefined;

/** Reasons why EKS has no images of a family for a minor version. */
const UNSUPPORTED: Readonly<Record<Alias['family'], (minor: number, cluster: string) => string | undefined>> = {
  AL2: (minor) =>
    minor >= 33
      ? 'AL2 aliases are no longer supported on EKS 1.33+ (see https://docs.aws.amazon.com/eks/latest/userguide/al2023.html)'
      : undefined,
  AL2023: isSupported,
  Bottlerocket: isSupported,
  Custom: isSupported,
  Windows2019: isSupported,
  Windows2022: isSupported,
  Windows2025: (minor, cluster) =>
    minor < 35 ? `Windows Server 2025 requires EKS version 1.35 or higher, current version: ${cluster}` : undefined,
};

function refuseUnsupported({ family }: Alias, cluster: string): void {
  const reason = UNSUPPORTED[family](Number(cluster.split('.')[1] ?? 0), cluster);
  if (reason !== undefined) throw new UnsupportedAlias(reason);
}

const imageIds = (ids: readonly string[]): AmiQuery['filters'] => [{ Name: 'image-id', Values: [...new Set(ids)] }];

/** Returns true if the NodeClass status lists an image of the parameter. */
const isListed = ({ variants, arch }: AliasParameter, { status }: EC2NodeClass): boolean => {
  const known = new Set((status?.amis ?? []).map(({ requirements }) => setFingerprint(requirements)));
  return variants.some((requirements) => known.has(setFingerprint([...requirements, ofArchitecture(arch)])));
};

interface AliasContext {
  readonly nodeClass: EC2NodeClass;
  readonly cluster: string;
  readonly parameters: SsmParameters;
  readonly log: Logger;
}

async function aliasQuery(alias: Alias, { nodeClass, cluster, parameters, log }: AliasContext): Promise<AmiQuery> {
  refuseUnsupported(alias, cluster);
  const wanted = aliasParameters(alias, cluster);
  const answers = await Promise.allSettled(wanted.map((parameter) => parameters.get(parameter)));
  const text = `${alias.family.toLowerCase()}@${alias.version}`;
  const variants = new Map<string, (readonly Requirement[])[]>();
  const unread: unknown[] = [];
  const refused: unknown[] = [];
  wanted.forEach((parameter, at) => {
    const answer = answers[at];
    if (answer?.status === 'fulfilled')
      variants.set(answer.value, [...(variants.get(answer.value) ?? []), ...parameter.variants]);
    // A missing parameter means that this region has no such image. After a failed read, the image may still exist.
    // If it were left out, nodes of this variant would appear to run an unknown image.
    else if (answer === undefined || isNotFound(answer.reason)) return;
    else if (isDenied(answer.reason) && !isListed(parameter, nodeClass)) refused.push(answer.reason);
    else unread.push(answer.reason);
  });
  if (unread.length > 0 || (variants.size === 0 && refused.length > 0))
    throw combineErrors(`failed to read SSM parameters of the alias (alias=${text})`, [...unread, ...refused]);
  if (variants.size === 0)
    throw new AliasWithoutImages(text, alias, { cause: new AggregateError(rejections(answers)) });
  for (const error of refused) log.error('ignoring ssm parameter, access is denied', { error });
  return { filters: imageIds([...variants.keys()]), variants };
}

async function parameterImage(name: string, parameters: SsmParameters, log: Logger): Promise<readonly string[]> {
  try {
    const value = await parameters.get({ name, mutable: true, custom: true });
    if (value.startsWith('ami-')) return [value];
    log.error('ignoring ssm parameter, its value is not an image ID', { parameter: name, value });
  } catch (error) {
    if (!isNotFound(error)) throw new Error(`resolving ssm parameter, ${messageOf(error)}`, { cause: error });
    log.error('ignoring ssm parameter, it does not exist', { parameter: name });
  }
  return [];
}

/**
 * A term with a name and no owner selects images of this account and of Amazon. A term with tags only selects images
 * of any owner.
 */
function termQuery({ name, owner, tags }: AmiSelectorTerm): AmiQuery {
  // An empty name is ignored if the term has tags. A term with only an empty name would otherwise match every image.
  const isNamed = name !== undefined && (name !== '' || tags === undefined);
  const filters = [...(isNamed ? [{ Name: 'name', Values: [name] }] : []), ...tagFilters(tags)];
  if (owner) return { filters, owners: [owner] };
  return isNamed ? { filters, owners: ['self', 'amazon'] } : { filters };
}

/**
 * Returns the queries for the AMI terms of a NodeClass.
 * @throws UnsupportedAlias, AliasWithoutImages, or an error if parameters cannot be read
 */
export async function amiQueries(
  nodeClass: EC2NodeClass,
  { cluster, parameters, log }: { readonly cluster: string; readonly parameters: SsmParameters; readonly log: Logger },
): Promise<readonly AmiQuery[]> {
  const alias = aliasOf(nodeClass);
  if (alias !== undefined) return [await aliasQuery(alias, { nodeClass, cluster, parameters, log })];
  const queries: AmiQuery[] = [];
  const ids: string[] = [];
  for (const term of nodeClass.spec.amiSelectorTerms) {
    const { id, ssmParameter } = term;
    if (id !== undefined) ids.push(id);
    else if (ssmParameter) ids.push(...(await parameterImage(ssmParameter, parameters, log)));
    else queries.push(termQuery(term));
  }
  return ids.length === 0 ? queries : [...queries, { filters: imageIds(ids) }];
}

/** Returns the requirements of an image including its architecture, or an empty list if no node can run the image. */
export function imageRequirements(
  query: AmiQuery,
  image: Pick<Image, 'ImageId' | 'Architecture'>,
): readonly (readonly Requirement[])[] {
  const arch = image.Architecture === 'x86_64' ? 'amd64' : image.Architecture === 'arm64' ? 'arm64' : undefined;
  if (arch === undefined) return [];
  const own = ofArchitecture(arch);
  const known = query.variants?.get(image.ImageId ?? '');
  return known === undefined ? [[own]] : known.map((requirements) => [...requirements, own]);
}
