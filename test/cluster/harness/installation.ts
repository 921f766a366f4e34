/** A real control plane with kubectl, and with helm for the charts. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import {
  CAPACITY_BUFFER,
  EC2_NODE_CLASS,
  type Kind,
  type KubeObject,
  NODE_CLAIM,
  NODE_OVERLAY,
  NODE_POOL,
  SERVICE,
} from '#api/objects';
import type { KubeApi } from '../../support/kube-api.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './controlplane.ts';
import { kubeconfigText } from './kubeconfig.ts';
import { eventually } from './processes.ts';
import { newToken, shortToken } from './tokens.ts';

const run = promisify(execFile);

export const ROOT = resolve(import.meta.dirname, '../../..');
export const NAMESPACE = 'kube-system';
export const CLUSTER_NAME = 'test';
/** User of the operator's requests. */
export const OPERATOR_USER = `system:serviceaccount:${NAMESPACE}:karpenter`;

const HELM_LIMIT_MS = 120_000;

export type Values = Readonly<Record<string, unknown>>;

export interface Tools {
  /** Runs helm as administrator and returns its standard output. @throws Error with the output of helm */
  helm(...argv: readonly string[]): Promise<string>;
  /** Runs `helm upgrade --install` for one of the charts with these values. */
  install(chart: 'karpenter' | 'karpenter-crd', values: Values, ...argv: readonly string[]): Promise<string>;
  /** Writes values to a file for helm and returns the path. */
  valuesFile(values: Values): Promise<string>;
  kubectl(...argv: readonly string[]): Promise<string>;
}

export interface Installation extends Tools {
  readonly plane: ControlPlane;
  /** Client of an administrator. */
  readonly kube: KubeApi;
  /** Kubeconfig of the chart's ServiceAccount. */
  readonly kubeconfig: string;
  /** Replaces the operators' token by a new token of the chart's ServiceAccount, which is valid for at least 600 s. */
  renewToken(seconds?: number): Promise<void>;
  /** Does the same with a token whose lifetime is shorter than the TokenRequest API allows. Returns the token. */
  shortenToken(seconds: number): Promise<string>;
}

/** Starts a control plane without charts. */
export async function startInstallation(
  options: Pick<ControlPlaneOptions, 'controllers' | 'apiServerFlags' | 'featureGates' | 'host' | 'users'> = {},
): Promise<Installation> {
  const plane = await startControlPlane({ audited: [OPERATOR_USER], ...options });
  const { client: kube, folder, url, certificateAuthority } = plane;
  const tokenFile = join(folder, 'operator.token');
  try {
    await kube.create(SERVICE, KUBE_DNS);
    return {
      plane,
      kube,
      kubeconfig: kubeconfigText({ url, certificateAuthority, tokenFile }),
      ...(await startTools(plane)),
      renewToken: async (seconds = 3_600) => {
        await writeFile(tokenFile, await newToken(kube, seconds), { mode: 0o600 });
      },
      shortenToken: async (seconds) => {
        const token = await shortToken(plane, seconds);
        await writeFile(tokenFile, token, { mode: 0o600 });
        return token;
      },
    };
  } catch (error) {
    await plane.stop();
    throw error;
  }
}

/** Installs both charts, and creates a token for operators outside the cluster. */
export async function installCharts({ kube, install, renewToken }: Installation, values: Values): Promise<void> {
  await install('karpenter-crd', { provisioningRequests: true });
  // The server rejects requests for a custom kind while it sets the kind up on the first request.
  const kinds: readonly Kind[] = [NODE_POOL, NODE_CLAIM, NODE_OVERLAY, EC2_NODE_CLASS, CAPACITY_BUFFER];
  for (const kind of kinds) await eventually(`${kind.plural} to be served`, () => kube.list(kind), 60_000);
  await install('karpenter', values, '--skip-crds');
  await renewToken();
}

/** The operator reads the DNS address of the cluster from this Service. */
const KUBE_DNS = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'kube-dns', namespace: NAMESPACE },
  spec: { clusterIP: '172.20.0.10', ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] },
} as KubeObject;

/** helm and kubectl with separate folders, so that settings of the user do not apply. */
async function startTools(plane: ControlPlane): Promise<Tools> {
  const home = join(plane.folder, 'home');
  await mkdir(home);
  const env = {
    ...process.env,
    HOME: home,
    KUBECONFIG: plane.kubeconfig,
    HELM_CONFIG_HOME: home,
    HELM_CACHE_HOME: home,
    HELM_DATA_HOME: home,
  };
  const call = async (path: string, argv: readonly string[]): Promise<string> => {
    try {
      const { stdout } = await run(path, argv, { env, timeout: HELM_LIMIT_MS, maxBuffer: 64 * 1024 * 1024 });
      return stdout;
    } catch (error) {
      const { stderr = '', stdout = '' } = error as { readonly stderr?: string; readonly stdout?: string };
      throw new Error(`${path} ${argv.join(' ')}: ${stderr || stdout || String(error)}`, { cause: error });
    }
  };
  let files = 0;
  const valuesFile = async (values: Values): Promise<string> => {
    files += 1;
    const file = join(home, `values-${files}.json`);
    await writeFile(file, JSON.stringify(values));
    return file;
  };
  return {
    helm: (...argv) => call(plane.binaries.helm, argv),
    kubectl: (...argv) => call(plane.binaries.kubectl, argv),
    valuesFile,
    install: async (chart, values, ...argv) =>
      call(plane.binaries.helm, [
        'upgrade',
        '--install',
        chart,
        join(ROOT, 'charts', chart),
        '--namespace',
        NAMESPACE,
        '--values',
        await valuesFile(values),
        ...argv,
      ]),
  };
}
