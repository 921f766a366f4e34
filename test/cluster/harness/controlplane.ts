/**
 * A Kubernetes control plane on the loopback interface with RBAC: etcd, kube-apiserver, kube-scheduler and
 * kube-controller-manager as child processes.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../support/free-port.ts';
import { type Credentials, connect, type KubeApi } from '../../support/kube-api.ts';
import { type Binaries, binaries } from './binaries.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { eventually, logTails, type Process, requireRunning, startProcess } from './processes.ts';

/** A start takes five seconds of CPU time, and several control planes may start at the same time. */
const START_LIMIT_MS = 150_000;
const TRIES = 3;
const HTTPS_PORT = 443;

/** Controllers that need a cloud or missing hardware. */
const NO_CONTROLLERS = [
  'node-ipam-controller',
  'node-route-controller',
  'cloud-node-lifecycle-controller',
  'service-lb-controller',
  'persistentvolume-attach-detach-controller',
];

export interface ControlPlaneOptions {
  /**
   * Address of this machine under which nodes reach the API server. It then listens on every address with the port of
   * HTTPS. Default: a free port of the loopback interface.
   */
  readonly host?: string;
  /** Groups of additional users by their name. */
  readonly users?: Readonly<Record<string, string>>;
  /** Users whose requests `audit()` returns. */
  readonly audited?: readonly string[];
  /**
   * False: no scheduler and no controllers, so that objects do not change. `scheduler`: no controllers, so
   * that pods are bound and not changed otherwise. Default true.
   */
  readonly controllers?: boolean | 'scheduler';
  /** Additional flags of the API server. */
  readonly apiServerFlags?: readonly string[];
  /** Feature gates that all components get. */
  readonly featureGates?: readonly string[];
  /** Keeps running after this process exits. */
  readonly detached?: boolean;
  readonly progress?: (message: string) => void;
}

/** A request of an audited user. */
export interface AuditedRequest {
  readonly verb: string;
  readonly user: { readonly username: string; readonly extra?: Readonly<Record<string, readonly string[]>> };
  readonly userAgent?: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly apiGroup?: string;
  };
  readonly requestURI: string;
  readonly responseStatus?: { readonly code?: number; readonly reason?: string; readonly message?: string };
}

export interface Processes {
  readonly etcd: Process;
  readonly apiServer: Process;
  readonly scheduler?: Process;
  readonly controllerManager?: Process;
}

export interface ControlPlane {
  readonly url: string;
  /** PEM file of the API server's certificate authority. */
  readonly certificateAuthority: string;
  /** PEM file of the private key of the API server's certificate, which is in the authority file. */
  readonly certificateKey: string;
  /** etcd accepts any client. */
  readonly etcdUrl: string;
  /** Credentials of a member of system:masters. */
  readonly credentials: Credentials;
  /** PEM file of the key that signs the tokens of service accounts. */
  readonly serviceAccountKey: string;
  /** Client with these credentials. */
  readonly client: KubeApi;
  /** Path of a kubeconfig with these credentials. */
  readonly kubeconfig: string;
  /** Paths of the kubeconfigs of additional users by their name. */
  readonly userKubeconfigs: Readonly<Record<string, string>>;
  readonly binaries: Binaries;
  /** Folder of logs and data, which `stop` removes. */
  readonly folder: string;
  readonly processes: Processes;
  audit(): Promise<readonly AuditedRequest[]>;
  /** Returns the last log lines of the components. */
  tails(): string;
  /** Kills the API server like a crash, waits `downMs`, and starts it again with the same port and data. */
  crashApiServer(downMs?: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Builds missing executables, starts the control plane, and returns when the API server is ready and its controllers
 * are running.
 * @throws Error with the last log lines of the components
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const executables = await binaries(options.progress);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(executables, options);
    } catch (error) {
      // Another process may bind the port before the component starts.
      const isPortTaken = String(error).includes('address already in use');
      if (!isPortTaken || attempt === TRIES) throw error;
    }
  }
}

async function startOnce(executables: Binaries, options: ControlPlaneOptions): Promise<ControlPlane> {
  const folder = await mkdtemp(join(tmpdir(), 'karpenter-cluster-'));
  const [freePort = 0, etcdPort = 0, peerPort = 0] = await freePorts(3);
  const port = options.host === undefined ? freePort : HTTPS_PORT;
  const files = await writeFiles(folder, port, options);
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  const start = (name: string, path: string, argv: readonly string[]): Promise<Process> =>
    startProcess({ name, path, argv, folder, detached: options.detached ?? false });
  const { featureGates = [] } = options;
  const gates =
    featureGates.length > 0 ? [`--feature-gates=${featureGates.map((name) => `${name}=true`).join(',')}`] : [];
  const startApiServer = (): Promise<Process> =>
    start('kube-apiserver', executables.apiServer, [
      ...apiServerFlags(files, port, etcdUrl, options),
      ...(options.apiServerFlags ?? []),
      ...gates,
    ]);
  const running: { -readonly [name in keyof Processes]?: Process } = {};
  const all = (): readonly Process[] => Object.values(running);
  const stopProcesses = async (): Promise<void> => {
    // At SIGTERM, the API server would first wait for its watches. The data is removed in any case.
    for (const one of all()) one.signal('SIGKILL');
    for (const one of all()) await one.stop();
  };

  try {
    running.etcd = await start('etcd', executables.etcd, etcdFlags(folder, etcdUrl, `http://127.0.0.1:${peerPort}`));
    running.apiServer = await startApiServer();
    const connection = await reachable(files, running.apiServer);
    const { client } = connection;
    await ready(client, running.apiServer);
    const { controllers = true } = options;
    if (controllers === true) {
      const { controllerManager } = executables;
      running.controllerManager = await start('kube-controller-manager', controllerManager, [
        ...controllerManagerFlags(files),
        ...gates,
      ]);
    }
    if (controllers !== false)
      running.scheduler = await start('kube-scheduler', executables.scheduler, [...schedulerFlags(files), ...gates]);
    if (controllers === true)
      await eventually(
        'the service account controller',
        () => client.raw('GET', '/api/v1/namespaces/default/serviceaccounts/default'),
        START_LIMIT_MS,
      );
    return {
      ...connection,
      etcdUrl,
      certificateAuthority: files.certificateAuthority,
      serviceAccountKey: files.serviceAccountKey,
      certificateKey: join(folder, 'certificates/apiserver.key'),
      kubeconfig: files.adminKubeconfig,
      userKubeconfigs: files.userKubeconfigs,
      binaries: executables,
      folder,
      // Both were started above.
      processes: running as Processes,
      audit: () => readAudit(files.auditLog),
      tails: () => logTails(all()),
      async crashApiServer(downMs = 0) {
        // On SIGTERM, the API server would first wait for its watches.
        running.apiServer?.signal('SIGKILL');
        await running.apiServer?.stop();
        await new Promise((resolve) => setTimeout(resolve, downMs));
        running.apiServer = await startApiServer();
        await ready(client, running.apiServer);
      },
      async stop() {
        client.close();
        await stopProcesses();
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    const tails = logTails(all());
    await stopProcesses();
    await rm(folder, { recursive: true, force: true });
    throw new Error(`Cannot start the control plane: ${String(error)}\n${tails}`, { cause: error });
  }
}

interface Files {
  readonly folder: string;
  readonly url: string;
  readonly adminToken: string;
  readonly certificateAuthority: string;
  readonly adminKubeconfig: string;
  readonly schedulerKubeconfig: string;
  readonly controllerManagerKubeconfig: string;
  readonly userKubeconfigs: Readonly<Record<string, string>>;
  readonly tokens: string;
  readonly serviceAccountKey: string;
  readonly auditPolicy: string;
  readonly auditLog: string;
}

async function writeFiles(folder: string, port: number, options: ControlPlaneOptions): Promise<Files> {
  const { audited = [], host = '127.0.0.1', users = {} } = options;
  const url = `https://${host}:${port}`;
  const inFolder = (name: string): string => join(folder, name);
  // The API server signs its own certificate at the first start, and stores the authority in the same file.
  const certificateAuthority = inFolder('certificates/apiserver.crt');
  await mkdir(inFolder('certificates'));
  const tokens = { admin: newToken(), scheduler: newToken(), controllerManager: newToken() };
  const files: Files = {
    folder,
    url,
    adminToken: tokens.admin,
    certificateAuthority,
    adminKubeconfig: inFolder('admin.kubeconfig'),
    schedulerKubeconfig: inFolder('scheduler.kubeconfig'),
    controllerManagerKubeconfig: inFolder('controllermanager.kubeconfig'),
    userKubeconfigs: Object.fromEntries(
      Object.keys(users).map((name) => [name, inFolder(`${name.replaceAll(':', '-')}.kubeconfig`)]),
    ),
    tokens: inFolder('tokens.csv'),
    serviceAccountKey: inFolder('serviceaccount.key'),
    auditPolicy: inFolder('auditpolicy.json'),
    auditLog: inFolder('audit.log'),
  };
  const ofUsers = Object.entries(users).map(([name, group]) => ({ name, group, token: newToken() }));
  const rows = [
    ...ofUsers.map(({ name, group, token }) => `${token},${name},${name},${group}`),
    `${tokens.admin},admin,admin,system:masters`,
    `${tokens.scheduler},system:kube-scheduler,scheduler`,
    `${tokens.controllerManager},system:kube-controller-manager,controllermanager`,
  ];
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [...(audited.length > 0 ? [{ level: 'Metadata', users: audited }] : []), { level: 'None' }],
  };
  const access = (token: string) => ({ url, certificateAuthority, token });
  await Promise.all([
    writeFile(files.tokens, `${rows.join('\n')}\n`, { mode: 0o600 }),
    writeFile(files.serviceAccountKey, privateKey, { mode: 0o600 }),
    writeFile(files.auditPolicy, JSON.stringify(policy)),
    writeFile(files.auditLog, ''),
    ...ofUsers.map(({ name, token }) => writeKubeconfig(files.userKubeconfigs[name] ?? '', access(token))),
    writeKubeconfig(files.adminKubeconfig, access(tokens.admin)),
    writeKubeconfig(files.schedulerKubeconfig, access(tokens.scheduler)),
    writeKubeconfig(files.controllerManagerKubeconfig, access(tokens.controllerManager)),
  ]);
  return files;
}

const newToken = (): string => randomBytes(24).toString('hex');

const etcdFlags = (folder: string, clientUrl: string, peerUrl: string): readonly string[] => [
  `--data-dir=${join(folder, 'etcd')}`,
  `--listen-client-urls=${clientUrl}`,
  `--advertise-client-urls=${clientUrl}`,
  `--listen-peer-urls=${peerUrl}`,
  `--initial-advertise-peer-urls=${peerUrl}`,
  `--initial-cluster=default=${peerUrl}`,
  '--log-level=warn',
  // No data needs to survive a crash of the machine.
  '--unsafe-no-fsync',
];

const apiServerFlags = (
  files: Files,
  port: number,
  etcdUrl: string,
  { controllers = true, host }: ControlPlaneOptions,
): readonly string[] => [
  `--etcd-servers=${etcdUrl}`,
  `--bind-address=${host === undefined ? '127.0.0.1' : '0.0.0.0'}`,
  `--advertise-address=${host ?? '127.0.0.1'}`,
  // A loopback address must not be an endpoint of a service.
  ...(host === undefined ? ['--endpoint-reconciler-type=none'] : []),
  `--secure-port=${port}`,
  `--cert-dir=${join(files.folder, 'certificates')}`,
  `--token-auth-file=${files.tokens}`,
  '--authorization-mode=RBAC,Node',
  '--service-account-issuer=https://kubernetes.default.svc',
  `--service-account-key-file=${files.serviceAccountKey}`,
  `--service-account-signing-key-file=${files.serviceAccountKey}`,
  // No controller creates service accounts or tokens in new namespaces.
  ...(controllers === true ? [] : ['--disable-admission-plugins=ServiceAccount']),
  '--service-cluster-ip-range=172.20.0.0/16',
  '--allow-privileged=true',
  `--audit-policy-file=${files.auditPolicy}`,
  `--audit-log-path=${files.auditLog}`,
];

const controllerManagerFlags = (files: Files): readonly string[] => [
  `--kubeconfig=${files.controllerManagerKubeconfig}`,
  '--use-service-account-credentials=true',
  `--service-account-private-key-file=${files.serviceAccountKey}`,
  `--root-ca-file=${files.certificateAuthority}`,
  `--controllers=*,${NO_CONTROLLERS.map((name) => `-${name}`).join(',')}`,
  '--leader-elect=false',
  '--secure-port=0',
  '--kube-api-qps=300',
  '--kube-api-burst=500',
];

const schedulerFlags = (files: Files): readonly string[] => [
  `--kubeconfig=${files.schedulerKubeconfig}`,
  '--leader-elect=false',
  '--secure-port=0',
  '--kube-api-qps=300',
  '--kube-api-burst=500',
];

type Connected = Pick<ControlPlane, 'url' | 'credentials' | 'client'>;

/** Waits until the API server has written its certificate and accepts connections. */
async function reachable({ certificateAuthority, url, adminToken }: Files, apiServer: Process): Promise<Connected> {
  const pem = await eventually(
    "the API server's certificate",
    async () => {
      requireRunning(apiServer);
      return (await readFile(certificateAuthority, 'utf8')) || undefined;
    },
    START_LIMIT_MS,
  );
  const credentials = { token: adminToken, certificateAuthority: pem };
  return { url, credentials, client: connect(url, credentials) };
}

async function ready(client: KubeApi, apiServer: Process): Promise<void> {
  await eventually(
    'the API server to be ready',
    async () => {
      requireRunning(apiServer);
      // The API server bootstraps roles, priority classes and namespaces last.
      await client.raw('GET', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:kube-scheduler');
      return client.raw('GET', '/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical');
    },
    START_LIMIT_MS,
  );
  await eventually('its namespaces', () => client.raw('GET', '/api/v1/namespaces/kube-system'), START_LIMIT_MS);
}

async function readAudit(file: string): Promise<readonly AuditedRequest[]> {
  const text = await readFile(file, 'utf8');
  // The last line may be incomplete.
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as AuditedRequest);
}
