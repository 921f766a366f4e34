/**
 * Address of the API server and credentials for it: from a given URL, a kubeconfig, or the pod's service account. The library
 * @kubernetes/client-node reads files and runs exec plugins. This file keeps the connections alive.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions as HttpsRequestOptions } from 'node:https';
import { delimiter, dirname, resolve } from 'node:path';
import { type Cluster, KubeConfig, type User } from '@kubernetes/client-node';
import { parse } from 'yaml';

export interface ConnectionOptions {
  /** Base URL of an API server that requires no credentials, such as the local API server. */
  readonly url?: string | undefined;
  /** Path of a kubeconfig, several paths joined as in KUBECONFIG, or the text of a kubeconfig. */
  readonly kubeconfig?: string | undefined;
  /** Context of the kubeconfig. Default: the current context. */
  readonly context?: string | undefined;
}

/** Credentials and connections of a request. */
interface Identity {
  readonly headers: Readonly<Record<string, string>>;
  readonly auth?: string;
  /** For short requests, with at most `MOST_SOCKETS` connections. */
  readonly agent: HttpAgent;
  /** For watches, because each watch occupies a connection. */
  readonly watchAgent: HttpAgent;
}

export interface Connection {
  readonly server: URL;
  /** Namespace of the kubeconfig's context or of the pod. */
  readonly namespace: string | undefined;
  /** The API server's CA certificates, PEM in base64. Undefined if the server has a public certificate or no certificate. */
  readonly caBundle: string | undefined;
  /** Returns the credentials. `renew` reads files and runs plugins again, after the server rejected the current credentials. */
  identity(renew?: boolean): Promise<Identity>;
  close(): void;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const MOST_SOCKETS = 128;
/** Maximum age of credentials and certificates, because service account tokens rotate. */
const IDENTITY_AGE_MS = 10_000;

/** Opens a connection. @throws Error if the configuration cannot be read or has no cluster */
export function openConnection(options: ConnectionOptions): Connection {
  let config = loadConfig(options);
  const cluster = clusterOf(config);
  const agents = agentCache(cluster.server.startsWith('https:'));
  let known: { readonly identity: Promise<Identity>; readonly readAtMs: number } | undefined;
  return {
    server: new URL(cluster.server),
    namespace: config.getContextObject(config.currentContext)?.namespace || undefined,
    caBundle: caOf(cluster),
    identity: (renew = false) => {
      const nowMs = performance.now();
      if (renew || known === undefined || nowMs - known.readAtMs > IDENTITY_AGE_MS) {
        // the library caches tokens from files and plugins; a new configuration reads them again
        if (renew) config = loadConfig(options);
        const identity = readIdentity(config, agents.get);
        known = { identity, readAtMs: nowMs };
        identity.catch(() => {
          known = undefined;
        });
      }
      return known.identity;
    },
    close: () => agents.close(),
  };
}

/** Reads the configuration. @throws Error if it cannot be read or has no cluster */
export function loadConfig(options: ConnectionOptions): KubeConfig {
  const config = new KubeConfig();
  if (options.url !== undefined) {
    config.loadFromClusterAndUser({ name: 'given', server: options.url, skipTLSVerify: false }, { name: 'none' });
  } else if (options.kubeconfig !== undefined && options.kubeconfig !== '') {
    loadGiven(config, options.kubeconfig);
  } else if (process.env.KUBERNETES_SERVICE_HOST && existsSync(`${SERVICE_ACCOUNT}/token`)) {
    config.loadFromCluster();
  } else {
    config.loadFromDefault();
    if (isInvented(config))
      throw new Error('Cannot find the API server: no kubeconfig found; set KUBECONFIG or create ~/.kube/config');
  }
  if (options.context !== undefined) choose(config, options.context);
  // the library refuses plain HTTP unless TLS verification is disabled; plain HTTP has no certificate to verify
  if (clusterOf(config).server.startsWith('http:')) allowPlainHttp(config);
  return config;
}

/** Returns the text of a kubeconfig that contains only the current context. @throws Error as `loadConfig` */
export function exportContext(options: ConnectionOptions): string {
  const config = loadConfig(options);
  const [user, context] = [config.getCurrentUser(), config.getContextObject(config.currentContext)];
  const only = new KubeConfig();
  only.loadFromOptions({
    clusters: [clusterOf(config)],
    users: user ? [user] : [],
    contexts: context ? [context] : [],
    currentContext: config.currentContext,
  });
  return only.exportConfig();
}

function choose(config: KubeConfig, context: string): void {
  const known = config.contexts.map(({ name }) => name);
  if (!known.includes(context))
    throw new Error(
      `Cannot find context "${context}" in the kubeconfig; existing contexts: ${known.join(', ') || 'none'}`,
    );
  config.setCurrentContext(context);
}

/**
 * Returns true for the library's default cluster, which it creates if no configuration exists. This default uses a port that
 * current API servers do not use.
 */
const isInvented = ({ contexts }: KubeConfig): boolean =>
  contexts.length === 1 && contexts[0]?.name === 'loaded-context' && contexts[0].cluster === 'cluster';

function clusterOf(config: KubeConfig): Cluster {
  const cluster = config.getCurrentCluster();
  if (cluster) return cluster;
  throw new Error(
    `Cannot find the API server: context "${config.currentContext}" of the kubeconfig does not refer to an existing cluster`,
  );
}

function loadGiven(config: KubeConfig, given: string): void {
  if (given.includes('\n')) {
    config.loadFromString(given);
    addTokenFiles(config, given, process.cwd());
    return;
  }
  const [first, ...rest] = given.split(delimiter).filter((path) => path !== '');
  if (first === undefined) throw new Error('Cannot read kubeconfig: the path is empty');
  loadFile(config, first);
  for (const path of rest) {
    const more = new KubeConfig();
    loadFile(more, path);
    config.mergeConfig(more, true);
  }
}

function loadFile(config: KubeConfig, path: string): void {
  try {
    config.loadFromFile(path);
    addTokenFiles(config, readFileSync(path, 'utf8'), dirname(path));
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
    throw new Error(`Cannot read kubeconfig "${path}" (${why}); set another file with --kubeconfig or KUBECONFIG`, {
      cause: error,
    });
  }
}

/**
 * Adds the token files of users. The library ignores a user's `tokenFile`, but its in-cluster authenticator reads such files
 * repeatedly.
 */
function addTokenFiles(config: KubeConfig, source: string, root: string): void {
  const document = parse(source) as { users?: readonly { name?: string; user?: { tokenFile?: string } }[] } | null;
  for (const { name, user } of document?.users ?? []) {
    if (!user?.tokenFile) continue;
    const authProvider = { name: 'tokenFile', config: { tokenFile: resolve(root, user.tokenFile) } };
    config.users = config.users.map((known): User => (known.name === name ? { ...known, authProvider } : known));
  }
}

function allowPlainHttp(config: KubeConfig): void {
  const name = config.getCurrentCluster()?.name;
  config.clusters = config.clusters.map((each) => (each.name === name ? { ...each, skipTLSVerify: true } : each));
  if (config.getCurrentUser() === null) {
    config.addUser({ name: 'anonymous' });
    config.contexts = config.contexts.map((each) =>
      each.name === config.currentContext ? { ...each, user: 'anonymous' } : each,
    );
  }
}

function caOf(cluster: Cluster): string | undefined {
  if (cluster.caData) return cluster.caData;
  if (cluster.caFile && existsSync(cluster.caFile)) return readFileSync(cluster.caFile).toString('base64');
  return undefined;
}

type Agents = Pick<Identity, 'agent' | 'watchAgent'>;

async function readIdentity(config: KubeConfig, agentsFor: (tls: HttpsRequestOptions) => Agents): Promise<Identity> {
  const options: HttpsRequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const headers = Object.fromEntries(
    Object.entries((options.headers ?? {}) as Record<string, unknown>).map(([name, value]) => [name, String(value)]),
  );
  const proxied = config.getCurrentCluster()?.proxyUrl ? (options.agent as HttpAgent) : undefined;
  const agents = proxied ? { agent: proxied, watchAgent: proxied } : agentsFor(options);
  return { headers, ...(options.auth == null ? {} : { auth: options.auth }), ...agents };
}

/**
 * Keeps one pair of agents per set of certificates. After a rotation, new requests open new connections and the old connections
 * close when idle.
 */
function agentCache(isSecure: boolean): { get(tls: HttpsRequestOptions): Agents; close(): void } {
  let current: { readonly key: string; readonly agents: Agents } | undefined;
  return {
    get: ({ ca, cert, key, rejectUnauthorized, servername }) => {
      const tls = { ca, cert, key, rejectUnauthorized, servername };
      const fingerprint = createHash('sha256').update(JSON.stringify(tls)).digest('hex');
      if (current?.key !== fingerprint) {
        const chosen = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
        const pool = (maxSockets: number): HttpAgent => {
          const options = { keepAlive: true, keepAliveMsecs: 30_000, maxSockets };
          return isSecure ? new HttpsAgent({ ...chosen, ...options }) : new HttpAgent(options);
        };
        current = {
          key: fingerprint,
          agents: { agent: pool(MOST_SOCKETS), watchAgent: pool(Number.POSITIVE_INFINITY) },
        };
      }
      return current.agents;
    },
    close: () => {
      current?.agents.agent.destroy();
      current?.agents.watchAgent.destroy();
    },
  };
}
