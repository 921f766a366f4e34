/**
 * Reads a cluster page by page, with GET requests only. Records kinds that are forbidden or not served, and
 * continues.
 */
import { apiVersionOf, type Kind, type KubeObject } from '#api/objects';
import { ApiError, isNotFound, type ListOptions, pageCount } from '#kube/client';
import type { HttpKubeReader } from '#kube/connection';
import { defined } from '#lib';
import type { NotRead } from '../objects/snapshot-info.ts';
import { DEFINITIONS, OPTIONAL_GROUPS, READ_KINDS, type ReadKind } from './kinds.ts';

/** Objects of one kind in one page. */
export interface Page {
  readonly kind: string;
  readonly objects: readonly KubeObject[];
}

/** Kinds that were not read. Complete after all pages were read. */
export interface Gaps {
  readonly notServed: string[];
  readonly notRead: NotRead[];
}

export interface ReadOptions {
  /** Namespaces to read for namespaced kinds. All namespaces if undefined. */
  readonly namespaces?: readonly string[] | undefined;
  /** Kinds to read. By default all kinds of the offline commands. */
  readonly kinds?: readonly ReadKind[];
}

type Client = Pick<HttpKubeReader, 'list' | 'raw'>;

/** Maximum number of objects in a page. This limits the memory usage. */
const PAGE = 500;
const DEFINITION = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' } as const;
const WEBHOOKS: readonly Kind[] = (['Mutating', 'Validating'] as const).map((type) => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: `${type}WebhookConfiguration`,
  plural: `${type.toLowerCase()}webhookconfigurations`,
  namespaced: false,
}));

const REFUSED = 'objects of older versions cannot be detected';

/** @throws Error if the API server cannot be reached, or the connection fails */
export async function* readCluster(client: Client, options: ReadOptions, gaps: Gaps): AsyncGenerator<Page> {
  const served = await servedKinds(client);
  for (const read of options.kinds ?? READ_KINDS) {
    const { versions, effect } = read;
    const kind = versions.find((each) => !OPTIONAL_GROUPS.has(each.group) || served.has(keyOf(each)));
    if (kind === undefined) gaps.notServed.push(versions[0].kind);
    else yield* permitted(() => pagesOf(client, kind, { ...options, ...read }), { kind: kind.kind, effect, gaps });
  }
  yield* permitted(() => definitions(client), { kind: DEFINITION.kind, effect: REFUSED, gaps });
  for (const kind of WEBHOOKS)
    yield* permitted(() => karpenters(pagesOf(client, kind, {})), { kind: kind.kind, effect: REFUSED, gaps });
}

const keyOf = (kind: Kind): string => `${apiVersionOf(kind)}/${kind.plural}`;

interface GroupList {
  readonly groups?: readonly {
    readonly name: string;
    readonly versions: readonly { readonly groupVersion: string }[];
  }[];
}

/**
 * Returns the resources of optional groups that the API server serves, in the form `karpenter.sh/v1/nodepools`. Uses API
 * discovery, because the 404 of a kind that is not served looks like the 404 of a proxy.
 */
async function servedKinds(client: Client): Promise<ReadonlySet<string>> {
  const { groups } = (await client.raw('/apis')) as GroupList;
  if (!Array.isArray(groups)) throw new Error('the API server does not list its API groups');
  const versions = groups.flatMap((group) => (OPTIONAL_GROUPS.has(group.name) ? group.versions : []));
  const found = await Promise.all(
    versions.map(async ({ groupVersion }) => {
      const { resources = [] } = (await client.raw(`/apis/${groupVersion}`)) as {
        readonly resources?: readonly { readonly name: string }[];
      };
      return resources.map(({ name }) => `${groupVersion}/${name}`);
    }),
  );
  return new Set(found.flat());
}

interface Reading {
  readonly kind: string;
  readonly effect: string;
  readonly gaps: Gaps;
}

/** Records a forbidden request as a gap. Any other error ends the reading. */
async function* permitted(
  read: () => AsyncIterable<readonly KubeObject[]>,
  { kind, effect, gaps }: Reading,
): AsyncGenerator<Page> {
  try {
    for await (const objects of read()) yield { kind, objects };
  } catch (error) {
    if (!(error instanceof ApiError && [401, 403].includes(error.status))) throw error;
    if (!gaps.notRead.some((each) => each.kind === kind)) gaps.notRead.push({ kind, why: error.message, effect });
  }
}

async function* pagesOf(
  client: Client,
  kind: Kind,
  {
    namespaces,
    fieldSelector,
    labelSelector,
    isInAllNamespaces = false,
  }: Pick<ReadOptions, 'namespaces'> & Partial<ReadKind>,
): AsyncGenerator<readonly KubeObject[]> {
  const query = defined({ fieldSelector, labelSelector });
  if (!kind.namespaced || namespaces === undefined || isInAllNamespaces) return yield* pagesIn(client, kind, query);
  for (const namespace of namespaces) yield* pagesIn(client, kind, { ...query, namespace });
}

async function* pagesIn(client: Client, kind: Kind, query: ListOptions): AsyncGenerator<readonly KubeObject[]> {
  const written = new Set<string>();
  const fresh = (items: readonly KubeObject[]): readonly KubeObject[] => {
    const found = items.filter((item) => !written.has(nameOf(item)));
    for (const item of found) written.add(nameOf(item));
    return found;
  };
  const pages = pageCount(kind);
  let next: string | undefined;
  try {
    do {
      const page = await client.list(kind, {
        ...query,
        limit: PAGE,
        ...(next === undefined ? {} : { continue: next }),
      });
      yield fresh(page.items);
      next = pages.next(page);
    } while (next !== undefined);
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 410)) throw error;
    // the list outlived the server's history, so all objects are listed again and only new objects are returned
    yield fresh((await client.list(kind, query)).items);
  }
}

const nameOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name}`;

/** Reads the CRDs of Karpenter, of any version. */
async function* definitions(client: Client): AsyncGenerator<readonly KubeObject[]> {
  for (const name of DEFINITIONS) {
    try {
      const found = (await client.raw(
        `/apis/${DEFINITION.apiVersion}/customresourcedefinitions/${name}`,
      )) as KubeObject;
      yield [{ ...found, ...DEFINITION }];
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** Filters webhooks of Karpenter, because a cluster has webhooks of many products. */
async function* karpenters(pages: AsyncIterable<readonly KubeObject[]>): AsyncGenerator<readonly KubeObject[]> {
  for await (const page of pages) yield page.filter(({ metadata }) => metadata.name.includes('karpenter'));
}
