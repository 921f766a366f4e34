/** Reads facts about the API server itself. */
import { NODE_CLAIM, NODE_POOL } from '#api/objects';
import { ApiError } from './client.ts';
import type { HttpKubeReader } from './http.ts';

/**
 * Checks that the API server serves the custom resources. The API server returns the list of resources from memory.
 * @throws Error if a resource is not served or if the list is unreadable
 */
export async function crdsServed(client: Pick<HttpKubeReader, 'raw'>, signal: AbortSignal): Promise<void> {
  const { group, version } = NODE_CLAIM;
  const served = await client.raw(`/apis/${group}/${version}`, signal).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return { resources: [] };
    throw error;
  });
  const { resources } = (served ?? {}) as { readonly resources?: readonly { readonly name: string }[] };
  if (!Array.isArray(resources)) throw new Error(`the API server does not list the resources of ${group}/${version}`);
  const missing = [NODE_POOL, NODE_CLAIM].filter(
    ({ plural }) => !resources.some((resource) => resource?.name === plural),
  );
  if (missing.length === 0) return;
  const names = missing.map(({ plural }) => `${plural}.${group}`).join(' and ');
  throw new Error(`the API server does not serve ${names}; install the chart karpenter-crd`);
}

/**
 * Maximum silence of the API server in response to a version request, which it serves from memory. The start waits for the
 * version.
 */
const VERSION_MS = 10_000;

/** Returns `major.minor` of the API server. */
export async function serverVersion(client: Pick<HttpKubeReader, 'raw'>, signal?: AbortSignal): Promise<string> {
  const version = (await client.raw('/version', signal, { idleMs: VERSION_MS })) as {
    readonly major?: unknown;
    readonly minor?: unknown;
  } | null;
  return `${String(version?.major)}.${String(version?.minor).replace(/\D.*/s, '')}`;
}
