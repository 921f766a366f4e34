/** The Kubernetes version of the cluster, which determines the images of aliases. */
import { DescribeClusterCommand, type EKSClient } from '@aws-sdk/client-eks';
import { after, type Singleton } from '#kube/reconcilers';
import { messageOf, quoted } from '#lib';
import type { Logger } from '#observe/logger';

const PERIOD_MS = 5 * 60_000;
const OLDEST_MINOR = 26;
const NEWEST_MINOR = 36;

interface VersionOptions {
  readonly eks: EKSClient;
  readonly clusterName: string;
  /** If true, the version is requested from EKS instead of the API server. */
  readonly eksControlPlane: boolean;
  readonly apiServerVersion: () => Promise<string>;
  readonly log: Logger;
}

export class ClusterVersion {
  readonly #options: VersionOptions;
  #version = '';

  constructor(options: VersionOptions) {
    this.#options = options;
  }

  /** `major.minor` */
  get current(): string {
    return this.#version;
  }

  async refresh(): Promise<void> {
    const version = await this.#read();
    if (version === this.#version) return;
    // Images and drift depend on this version, so an invalid text must not replace it.
    if (!/^\d+\.\d+$/.test(version))
      throw new Error(`reading the version of the cluster: ${quoted(version)} is not a version`);
    this.#version = version;
    this.#options.log.debug('discovered kubernetes version', { version });
    const [major, minor] = version.split('.').map(Number);
    if (major !== 1 || minor === undefined || minor < OLDEST_MINOR || minor > NEWEST_MINOR)
      this.#options.log.error(`karpenter is not compatible with kubernetes version (version=${version})`, { version });
  }

  async #read(): Promise<string> {
    const { eks, clusterName, eksControlPlane, apiServerVersion } = this.#options;
    if (eksControlPlane) {
      const answer = await eks.send(new DescribeClusterCommand({ name: clusterName }));
      if (answer.cluster?.version === undefined)
        throw new Error(`EKS returned no version for cluster "${clusterName}"`);
      return answer.cluster.version;
    }
    try {
      return (await apiServerVersion()).replace(/\+$/, '');
    } catch (error) {
      throw new Error(`getting kubernetes version from the kubernetes API, ${messageOf(error)}`, {
        cause: error,
      });
    }
  }
}

export const versionController = (version: ClusterVersion): Singleton => ({
  name: 'providers.version',
  singleton: true,
  async reconcile() {
    await version.refresh();
    return after(PERIOD_MS);
  },
});
