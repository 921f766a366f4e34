/** Kubeconfig files of one user for one cluster. */
import { writeFile } from 'node:fs/promises';

export interface Access {
  readonly url: string;
  /** Path of a PEM file. */
  readonly certificateAuthority: string;
  readonly token?: string;
  /** Path of a token file, whose content may change. */
  readonly tokenFile?: string;
  readonly namespace?: string;
}

/** JSON is valid YAML and needs no quoting rules. */
export function kubeconfigText({ url, certificateAuthority, token, tokenFile, namespace }: Access): string {
  const name = 'cluster';
  return `${JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster: { server: url, 'certificate-authority': certificateAuthority } }],
      users: [{ name, user: { ...(token ? { token } : {}), ...(tokenFile ? { tokenFile } : {}) } }],
      contexts: [{ name, context: { cluster: name, user: name, ...(namespace ? { namespace } : {}) } }],
      'current-context': name,
    },
    undefined,
    2,
  )}\n`;
}

export const writeKubeconfig = (file: string, access: Access): Promise<void> =>
  writeFile(file, kubeconfigText(access), { mode: 0o600 });
