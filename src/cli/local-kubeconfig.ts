/** Writes the kubeconfig of `karpenter local`. Never overwrites the kubeconfig of a running cluster. */
import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { messageOf } from './objects/errors.ts';

const DEFAULT = 'karpenter-local.kubeconfig';
const LOOK_MS = 1_000;

/**
 * Writes the kubeconfig of a local cluster.
 *
 * @param wanted file from the user; by default `karpenter-local.kubeconfig`, with the port in its name if the file
 * belongs to another running cluster
 * @returns path of the file
 * @throws Error if the user's file belongs to another running cluster, or cannot be written
 */
export async function writeLocalKubeconfig(
  wanted: string | undefined,
  { url, kubeconfig }: { readonly url: string; kubeconfig(): string },
): Promise<string> {
  const first = resolve(wanted ?? DEFAULT);
  const other = await runningServer(first);
  if (other !== undefined && wanted !== undefined) {
    throw new Error(
      `Cannot write ${wanted}: it is the kubeconfig of ${other}, which is running. Choose another file with --kubeconfig.`,
    );
  }
  const file = other === undefined ? first : resolve(`karpenter-local-${new URL(url).port}.kubeconfig`);
  await write(file, kubeconfig());
  return file;
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { mode: 0o600 });
  } catch (error) {
    const remedy = 'choose a file in an existing folder with --kubeconfig';
    throw new Error(`the kubeconfig cannot be written to ${file} (${messageOf(error)}); ${remedy}`, { cause: error });
  }
}

/** Returns the server of a kubeconfig if it responds. */
async function runningServer(file: string): Promise<string | undefined> {
  const server = await serverOf(file);
  if (server === undefined) return undefined;
  try {
    await fetch(new URL('/version', server), { signal: AbortSignal.timeout(LOOK_MS) });
    return server;
  } catch {
    return undefined;
  }
}

interface Kubeconfig {
  readonly clusters?: readonly { readonly cluster?: { readonly server?: unknown } }[];
}

/** Returns undefined if the file does not exist or is not a kubeconfig. */
async function serverOf(file: string): Promise<string | undefined> {
  try {
    const server = (parse(await readFile(file, 'utf8')) as Kubeconfig | null)?.clusters?.[0]?.cluster?.server;
    return typeof server === 'string' ? server : undefined;
  } catch {
    return undefined;
  }
}
