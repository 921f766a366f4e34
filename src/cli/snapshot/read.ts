/** Reads a cluster page by page, with GETs alone. What may not be read, or is not served, is told, and the rest goes on. */
import { apiVersionOf, EVENT, type Kind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/kubernetes.ts';
import { ApiError, isNotFound, type ListOptions } from '../../kube/client.ts';
import type { HttpKubeReader } from '../../kube/http.ts';
import { pageCount } from '../../kube/pages.ts';
import type { NotRead } from '../objects/snapshot-info.ts';
import { CUSTOM_GROUPS, DEFINITIONS, READ_KINDS, type ReadKind } from './kinds.ts';

/** Objects of one kind, as many as a page has. */
export interface Page {
  readonly kind: string;
  readonly objects: readonly KubeObject[];
}

/** What there was besides objects; complete when all pages have been read. */
export interface Gaps {
  readonly notServed: string[];
  readonly notRead: NotRead[];
}

export interface ReadOptions {
  /** Namespaced kinds are read in these alone; all when undefined. */
  readonly namespaces?: readonly string[] | undefined;
  /** Default: every kind of the offline verbs. */
  readonly kinds?: readonly ReadKind[];
}

type Client = Pick<HttpKubeReader, 'list' | 'raw'>;

/** Objects in a page: what is held in memory at a time. */
const PAGE = 500;
const DEFINITION = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' } as const;
const WEBHOOKS: readonly Kind[] = (['Mutating', 'Validating'] as const).map((type) => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: `${type}WebhookConfiguration`,
  plural: `${type.toLowerCase()}webhookconfigurations`,
  namespaced: false,
}));

export const REFUSED = 'what older versions left behind cannot be said';

/** @throws Error when the API server cannot be reached, or breaks off */
export async function* readCluster(client: Client, options: ReadOptions, gaps: Gaps): AsyncGenerator<Page> {
  const served = await servedKinds(client);
  for (const { versions, effect, fieldSelector } of options.kinds ?? READ_KINDS) {
    const kind = versions.find((each) => !CUSTOM_GROUPS.has(each.group) || served.has(keyOf(each)));
    if (kind === undefined) gaps.notServed.push(versions[0].kind);
    else
      yield* permitted(() => pagesOf(client, kind, { ...options, fieldSelector }), { kind: kind.kind, effect, gaps });
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
 * `karpenter.sh/v1/nodepools` of the custom resources that the API server says it serves. It is asked, because the 404 of
 * a kind that is not served cannot be told from a proxy's.
 */
async function servedKinds(client: Client): Promise<ReadonlySet<string>> {
  const { groups } = (await client.raw('/apis')) as GroupList;
  if (!Array.isArray(groups)) throw new Error('the API server does not say which API groups it serves');
  const versions = groups.flatMap((group) => (CUSTOM_GROUPS.has(group.name) ? group.versions : []));
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

/** What the API server forbids is a gap; anything else that fails ends the reading. */
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
  { namespaces, fieldSelector }: Pick<ReadOptions, 'namespaces'> & { readonly fieldSelector?: string | undefined },
): AsyncGenerator<readonly KubeObject[]> {
  const query = fieldSelector === undefined ? {} : { fieldSelector };
  // events about nodes are in the namespace default
  if (!kind.namespaced || namespaces === undefined || kind.plural === EVENT.plural)
    return yield* pagesIn(client, kind, query);
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
    // the pages outlived the server's history: what is new since, and not given yet, comes at once
    yield fresh((await client.list(kind, query)).items);
  }
}

const nameOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name}`;

/** Those of Karpenter, of any version. */
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

/** A cluster has webhooks of many others. */
async function* karpenters(pages: AsyncIterable<readonly KubeObject[]>): AsyncGenerator<readonly KubeObject[]> {
  for await (const page of pages) yield page.filter(({ metadata }) => metadata.name.includes('karpenter'));
}
