/**
 * Where the API server is and who we are there: a given URL, a kubeconfig, or the pod's service account. Files and exec
 * plugins are read by @kubernetes/client-node; connections are kept alive here.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions as HttpsRequestOptions } from 'node:https';
import { delimiter, dirname, resolve } from 'node:path';
import { type Cluster, KubeConfig, type User } from '@kubernetes/client-node';
import { parse } from 'yaml';

export interface ConnectionOptions {
  /** Base URL of an API server that asks for no credentials, such as the local one. */
  readonly url?: string | undefined;
  /** Path of a kubeconfig, several joined as in KUBECONFIG, or a kubeconfig's own text. */
  readonly kubeconfig?: string | undefined;
  /** Of the kubeconfig. Default: its current one. */
  readonly context?: string | undefined;
}

/** What a request needs besides its own path and body. */
interface Identity {
  readonly headers: Readonly<Record<string, string>>;
  readonly auth?: string;
  /** For short requests; at most `MOST_SOCKETS` at a time. */
  readonly agent: HttpAgent;
  /** For watches, which hold their connection. */
  readonly watchAgent: HttpAgent;
}

export interface Connection {
  readonly server: URL;
  /** Namespace of the kubeconfig's context or of the pod. */
  readonly namespace: string | undefined;
  /** The API server's CA certificates, base64 of PEM; undefined when it uses a public or no certificate. */
  readonly caBundle: string | undefined;
  /** `renew` reads files and asks plugins again: after the server refused the present credentials. */
  identity(renew?: boolean): Promise<Identity>;
  close(): void;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const MOST_SOCKETS = 128;
/** Credentials and certificates are looked up again after this time: service account tokens rotate. */
const IDENTITY_AGE_MS = 10_000;

/** @throws Error when the configuration cannot be read or names no cluster */
export function openConnection(options: ConnectionOptions): Connection {
  let config = load(options);
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
        // the library keeps tokens of files and plugins for a while; a new configuration reads them anew
        if (renew) config = load(options);
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

function load(options: ConnectionOptions): KubeConfig {
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
      throw new Error('Cannot find the API server: there is no kubeconfig, set KUBECONFIG or write ~/.kube/config');
  }
  if (options.context !== undefined) choose(config, options.context);
  // the library refuses plain HTTP unless it knows that TLS is not wanted; there is none to verify
  if (clusterOf(config).server.startsWith('http:')) allowPlainHttp(config);
  return config;
}

function choose(config: KubeConfig, context: string): void {
  const known = config.contexts.map(({ name }) => name);
  if (!known.includes(context))
    throw new Error(`Cannot find context "${context}" in the kubeconfig; it has ${known.join(', ') || 'none'}`);
  config.setCurrentContext(context);
}

/** Where it finds nothing, the library makes up a cluster at a port at which none has been for years. */
const isInvented = ({ contexts }: KubeConfig): boolean =>
  contexts.length === 1 && contexts[0]?.name === 'loaded-context' && contexts[0].cluster === 'cluster';

function clusterOf(config: KubeConfig): Cluster {
  const cluster = config.getCurrentCluster();
  if (cluster) return cluster;
  throw new Error(
    `Cannot find the API server: context "${config.currentContext}" of the kubeconfig names no known cluster`,
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
    throw new Error(`Cannot read kubeconfig "${path}" (${why}); name another by --kubeconfig or KUBECONFIG`, {
      cause: error,
    });
  }
}

/** The library does not know a user's `tokenFile`, but its in-cluster authenticator reads such files and re-reads them. */
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

/** One pair of agents per set of certificates: a rotated certificate opens new connections, the old ones run out. */
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
