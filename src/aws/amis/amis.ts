/** AMIs that a NodeClass selects, and the instance types that each AMI supports. */
import { DescribeImagesCommand, type EC2Client, type Image, paginateDescribeImages } from '@aws-sdk/client-ec2';
import type { AmiStatus, EC2NodeClass } from '#api/objects';
import { type Requirement, Requirements } from '#engine/model';
import { after, type Singleton } from '#kube/reconcilers';
import { defined, messageOf, timeOf } from '#lib';
import { type Clock, type Freshness, LoadingCache } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { fingerprint, setFingerprint } from '../fingerprint.ts';
import { pagesOf } from '../pages.ts';
import type { SsmParameters } from '../ssm.ts';
import type { Alias } from './families.ts';
import { type AmiQuery, amiQueries, imageRequirements } from './queries.ts';

interface Ami {
  readonly id: string;
  readonly name: string;
  readonly deprecated: boolean;
  readonly createdMs: number;
  readonly requirements: readonly Requirement[];
}

const secondOf = (text: string | undefined): number => {
  const parsed = timeOf(text);
  // Compares whole seconds, as AWS does. An image without a date counts as the oldest.
  return Number.isNaN(parsed) ? 0 : Math.floor(parsed / 1000) * 1000;
};

const isDeprecated = (image: Image, nowMs: number): boolean =>
  image.DeprecationTime !== undefined && secondOf(image.DeprecationTime) <= nowMs;

/** Returns true if image `a` is preferred to image `b` for the same requirements. */
function isBetter(a: Ami, b: Ami): boolean {
  if (a.deprecated !== b.deprecated) return b.deprecated;
  if (a.createdMs !== b.createdMs) return a.createdMs > b.createdMs;
  return a.name > b.name;
}

/** Selects the best image for each set of requirements, newest first. */
export function selectAmis(
  found: readonly { readonly query: AmiQuery; readonly image: Image }[],
  nowMs: number,
): readonly Ami[] {
  const best = new Map<string, Ami>();
  for (const { query, image } of found)
    for (const requirements of imageRequirements(query, image)) {
      const ami: Ami = {
        id: image.ImageId ?? '',
        name: image.Name ?? '',
        deprecated: isDeprecated(image, nowMs),
        createdMs: secondOf(image.CreationDate),
        requirements,
      };
      const key = setFingerprint(requirements);
      const known = best.get(key);
      if (known === undefined || isBetter(ami, known)) best.set(key, ami);
    }
  return [...best.values()].sort((a, b) =>
    a.createdMs !== b.createdMs ? b.createdMs - a.createdMs : a.id < b.id ? -1 : a.id > b.id ? 1 : 0,
  );
}

/** Converts an image to an entry of the NodeClass status. */
export function amiStatus(ami: Ami): AmiStatus {
  const requirements = Requirements.fromRequirements(ami.requirements)
    .toApi()
    .toSorted((a, b) => a.key.length - b.key.length || (a.key < b.key ? -1 : 1));
  return {
    id: ami.id,
    name: ami.name,
    ...(ami.deprecated ? { deprecated: true } : {}),
    requirements: requirements.map(({ key, operator, values }) => ({
      key,
      operator: operator as AmiStatus['requirements'][number]['operator'],
      ...defined({ values: values && [...values] }),
    })),
  };
}

interface AmisOptions {
  readonly ec2: EC2Client;
  readonly parameters: SsmParameters;
  /** Kubernetes version of the cluster, as `major.minor`. */
  readonly clusterVersion: () => string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly refreshMs: number;
}

export class Amis {
  readonly #options: AmisOptions;
  /** AMIs by query, so that NodeClasses with the same selectors share requests. */
  readonly #cache: LoadingCache<readonly Ami[]>;
  #logged = '';

  constructor(options: AmisOptions) {
    this.#options = options;
    this.#cache = new LoadingCache(options.clock, options.refreshMs);
  }

  /** @throws UnsupportedAlias, AliasWithoutImages, or the error of a failed AWS request */
  async list(nodeClass: EC2NodeClass, { anew = false }: Freshness = {}): Promise<readonly Ami[]> {
    const { clusterVersion, parameters, log } = this.#options;
    let queries: readonly AmiQuery[];
    try {
      queries = await amiQueries(nodeClass, { cluster: clusterVersion(), parameters, log });
    } catch (error) {
      throw new Error(`getting AMI queries, ${messageOf(error)}`, { cause: error });
    }
    const key = fingerprint(
      queries.map(({ variants, ...query }) => ({ ...query, variants: variants && [...variants] })),
    );
    if (anew) this.#cache.delete(key);
    const amis = await this.#cache.get(key, () => this.#describe(queries));
    const ids = [...new Set(amis.map((ami) => ami.id))];
    if (ids.join() !== this.#logged) log.debug('discovered amis', { ids });
    this.#logged = ids.join();
    return amis;
  }

  /**
   * Returns the versions of existing images that are nearest to the version of an alias, at most two older and two newer ones.
   * @throws the error of a failed AWS request
   */
  async releasesNear({ family, version }: Alias): Promise<readonly string[]> {
    const names = RELEASE_NAMES[family]?.(this.#options.clusterVersion());
    if (names === undefined || version === 'latest') return [];
    const query = { filters: [{ Name: 'name', Values: [`${names.prefix}*`] }], owners: ['amazon'] };
    const images = await this.#images(query);
    const known = images.flatMap(({ Name = '' }) => names.version.exec(Name.slice(names.prefix.length))?.[1] ?? []);
    const sorted = [...new Set(known)].sort(compareReleases);
    const at = sorted.filter((each) => compareReleases(each, version) < 0).length;
    return sorted.slice(Math.max(0, at - 2), at + 2).map((each) => `v${each}`);
  }

  async #describe(queries: readonly AmiQuery[]): Promise<readonly Ami[]> {
    const found: { query: AmiQuery; image: Image }[] = [];
    try {
      for (const query of queries) for (const image of await this.#images(query)) found.push({ query, image });
    } catch (error) {
      throw new Error(`describing images, ${messageOf(error)}`, { cause: error });
    }
    return selectAmis(found, this.#options.clock.now());
  }

  async #images({ filters, owners }: AmiQuery): Promise<readonly Image[]> {
    const input = {
      Filters: [...filters, { Name: 'state', Values: ['available'] }],
      IncludeDeprecated: true,
      MaxResults: 1000,
      ...defined({ Owners: owners && [...owners] }),
    };
    const images: Image[] = [];
    for await (const page of pagesOf('DescribeImages', paginateDescribeImages({ client: this.#options.ec2 }, input)))
      images.push(...(page.Images ?? []));
    return images;
  }

  /** Bypasses the cache. */
  async isDeprecated(imageId: string): Promise<boolean> {
    const answer = await this.#options.ec2.send(
      new DescribeImagesCommand({
        Filters: [{ Name: 'image-id', Values: [imageId] }],
        IncludeDeprecated: true,
      }),
    );
    return (answer.Images ?? []).some((image) => isDeprecated(image, this.#options.clock.now()));
  }
}

const PERIOD_MS = 30 * 60_000;

/** Removes `latest` parameters from the cache if their images have been deprecated. */
export const ssmInvalidation = (parameters: SsmParameters, amis: Amis): Singleton => ({
  name: 'providers.ssm.invalidation',
  singleton: true,
  async reconcile() {
    const cached = parameters.mutable();
    const deprecated = new Map<string, boolean>();
    for (const id of new Set(cached.values())) deprecated.set(id, await amis.isDeprecated(id));
    for (const [name, id] of cached) if (deprecated.get(id) === true) parameters.forget(name);
    return after(PERIOD_MS);
  },
});

/** Names of the public images of an alias, which contain their versions. */
interface ReleaseNames {
  /** Beginning of the names of all releases for one architecture. */
  readonly prefix: string;
  /** Expression for the rest of a name, whose first group is the version without `v`. */
  readonly version: RegExp;
}

/** Names of releases for a version of the cluster. Undefined for families without pinned versions. */
const RELEASE_NAMES: Readonly<Record<Alias['family'], ((cluster: string) => ReleaseNames) | undefined>> = {
  AL2: (cluster) => ({ prefix: `amazon-eks-node-${cluster}-v`, version: /^(\d{8})$/ }),
  AL2023: (cluster) => ({ prefix: `amazon-eks-node-al2023-x86_64-standard-${cluster}-v`, version: /^(\d{8})$/ }),
  Bottlerocket: (cluster) => ({
    prefix: `bottlerocket-aws-k8s-${cluster}-x86_64-v`,
    version: /^(\d{1,4}\.\d{1,4}\.\d{1,4})-/,
  }),
  Custom: undefined,
  Windows2019: undefined,
  Windows2022: undefined,
  Windows2025: undefined,
};

/** Compares versions by their numbers. A `v` at the beginning does not matter. */
function compareReleases(a: string, b: string): number {
  const [left, right] = [a, b].map((each) => each.replace(/^v+/, '').split('.').map(Number)) as [number[], number[]];
  for (const [at, part] of left.entries()) if (part !== right[at]) return part - (right[at] ?? 0);
  return 0;
}
