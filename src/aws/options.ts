/** Options and interface of the AWS provider. */

import type { PackingMode } from '#api/values';
import type { Interrupted, Provider, ProviderPorts } from '#cloud';
import type { Controller } from '#kube/reconcilers';
import type { PoolOfferings } from './offerings/report.ts';
import type { AwsStart } from './start/aws-start.ts';

/** Settings of the provider, which the process's settings satisfy. */
interface AwsSettings {
  readonly clusterName: string;
  /** If it is empty, the endpoint is read from EKS. */
  readonly clusterEndpoint: string;
  /** Base64. If it is empty, the CA of the operator's API connection is used. */
  readonly clusterCaBundle: string;
  readonly isolatedVpc: boolean;
  readonly eksControlPlane: boolean;
  /** Fraction of an instance's memory that is subtracted: 0.075 means 7.5 %. */
  readonly vmMemoryOverheadPercent: number;
  /** Name of the queue. If it is empty, interruptions are not handled. */
  readonly interruptionQueue: string;
  /** With drift, scheduled events of EC2 are planned maintenance until shortly before their start. */
  readonly scheduledEvents: 'drift' | 'interruption';
  readonly reservedEnis: number;
  readonly disableDryRun: boolean;
  readonly amiRefreshIntervalMs: number;
  readonly subnetRefreshIntervalMs: number;
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
  /** Avoid zones with an active zonal shift of the cluster. */
  readonly enableZonalShift: boolean;
  /** Path of the price book. If it is empty, there is no price book. */
  readonly priceBook: string;
  /** Weight of the expected cost of spot interruptions. If it is 0, interruptions are not recorded. */
  readonly spotRisk: number;
  /** Expected fraction of the requested CPU that pods use. If it is 0, surplus CPU credits are ignored. */
  readonly expectedCpuUtilization: number;
  /** With observe, no controller runs that writes to Kubernetes or AWS. */
  readonly mode: 'act' | 'observe';
  readonly packing: PackingMode;
  readonly featureGates: { readonly reservedCapacity: boolean; readonly nodeOverlay: boolean };
  readonly awsFeatureGates: {
    readonly nodeClassCel: boolean;
    readonly draNvidiaGpu?: boolean;
    readonly draEfa?: boolean;
    readonly draNeuron?: boolean;
  };
}

export interface AwsOptions extends Omit<ProviderPorts, 'fence'> {
  readonly settings: AwsSettings;
  /** If it is undefined, calls during the start have the usual timeouts and retries. */
  readonly start?: AwsStart | undefined;
}

export interface AwsProvider extends Provider {
  readonly controllers: (interrupted?: Interrupted) => readonly Controller[];
  /** Returns the unavailable offerings of each NodePool, with reason and end. */
  readonly offerings: () => Promise<readonly PoolOfferings[]>;
}
